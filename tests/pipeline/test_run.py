"""The pipeline as a whole, on real Spark: months that drift, restatements, refusals, quarantine, resuming."""

import csv
import gzip
import io
import json
import shutil
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError, SourceError
from lakebed.pipeline.reconcile import reconcile
from lakebed.pipeline.reports import RunReport
from lakebed.samples import SampleSpec, make_sample
from lakebed.samples.truth import DeliveryTruth, SampleTruth

pytestmark = pytest.mark.spark

SMALL = SampleSpec(months=3, rows=120, columns=70, files=2)


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> SampleTruth:
    return sample(tmp_path_factory.mktemp("bills"), SMALL)


def sample(folder: Path, spec: SampleSpec) -> SampleTruth:
    return make_sample(folder, months=spec.months, rows=spec.rows, columns=spec.columns, spec=spec)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(source: Path, target: str, spark: Session, **settings: object) -> RunReport:
    return lakebed.run(str(source), target, spark=spark.spark, **settings)


def read(target: str, where: str = "true") -> pa.Table:
    """All rows, by a reader that is not ours."""
    kind, _, place = target.partition(":")
    with duckdb.connect(place if kind == "duckdb" else ":memory:", read_only=kind == "duckdb") as connection:
        source = (
            "sample_report"
            if kind == "duckdb"
            else f"read_parquet('{place}/**/*.parquet', union_by_name=true, hive_partitioning=true)"
        )
        return connection.execute(f"SELECT * FROM {source} WHERE {where}").to_arrow_table()


def total(table: pa.Table, column: str) -> Decimal:
    return sum((value for value in table.column(column).to_pylist() if value is not None), Decimal(0))


def assert_equals_truth(target: str, deliveries: tuple[DeliveryTruth, ...]) -> None:
    rows = read(target)
    assert rows.num_rows == sum(truth.totals.rows for truth in deliveries)
    for truth in deliveries:
        part = read(target, f"lakebed_period = '{truth.period}'")
        assert set(part.column("lakebed_delivery").to_pylist()) == {truth.delivery}
        assert total(part, "line_item_unblended_cost") == truth.totals.sums["lineItem/UnblendedCost"]
        assert total(part, "pricing_public_on_demand_cost") == truth.totals.sums["pricing/publicOnDemandCost"]


@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
def test_drifting_months_load_reconcile_and_load_again_as_nothing(
    bills: SampleTruth, work: Path, spark_local: Session, kind: str
) -> None:
    target = f"{kind}:{work / 'costs'}"
    first = load(bills.folder, target, spark_local)
    assert [one.period for one in first.deliveries] == ["2026-10", "2026-09", "2026-08"]
    assert all(one.state == "loaded" and one.reconciled and one.complete for one in first.deliveries)
    assert_equals_truth(target, bills.current)
    again = load(bills.folder, target, spark_local)
    assert all(one.skipped and one.rows == SMALL.rows for one in again.deliveries)
    assert again.rows == first.rows
    assert_equals_truth(target, bills.current)
    assert reconcile(target, period="2026-09").holds


@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
def test_a_restated_month_replaces_the_old_one_and_nothing_else(work: Path, spark_local: Session, kind: str) -> None:
    target, folder = f"{kind}:{work / 'costs'}", work / "bills"
    before = sample(folder, SampleSpec(**{**vars(SMALL), "restate": False}))
    load(folder, target, spark_local)
    assert_equals_truth(target, before.current)
    after = sample(folder, SMALL)
    report = load(folder, target, spark_local)
    assert [one.period for one in report.deliveries if not one.skipped] == ["2026-09"]
    assert_equals_truth(target, after.current)


def test_a_new_ledger_loads_nothing_again_and_names_columns_the_same(
    bills: SampleTruth, work: Path, spark_local: Session
) -> None:
    target = f"duckdb:{work / 'costs'}"
    load(bills.folder, target, spark_local)
    names = read(target).column_names
    again = load(bills.folder, target, spark_local, workdir=str(work / "another"))
    assert all(one.skipped for one in again.deliveries)
    assert read(target).column_names == names


def test_a_table_that_was_removed_is_loaded_again(bills: SampleTruth, work: Path, spark_local: Session) -> None:
    target = f"duckdb:{work / 'costs'}"
    load(bills.folder, target, spark_local, period="2026-10")
    (work / "costs").unlink()
    report = load(bills.folder, target, spark_local, period="2026-10")
    assert not report.deliveries[0].skipped
    assert report.rows == SMALL.rows


def test_a_month_that_somebody_deleted_is_loaded_again(bills: SampleTruth, work: Path, spark_local: Session) -> None:
    target = f"duckdb:{work / 'costs'}"
    load(bills.folder, target, spark_local)
    with duckdb.connect(str(work / "costs")) as connection:
        connection.execute("DELETE FROM sample_report WHERE lakebed_period = '2026-09'")
    report = load(bills.folder, target, spark_local)
    assert [one.period for one in report.deliveries if not one.skipped] == ["2026-09"]
    assert_equals_truth(target, bills.current)


def test_the_specification_s_decimals_say_what_they_cost(bills: SampleTruth, work: Path, spark_local: Session) -> None:
    target = f"duckdb:{work / 'costs'}"
    report = load(bills.folder, target, spark_local, period="2026-10", decimals="18,2")
    [one] = report.deliveries
    assert one.reconciled
    assert one.rounded["line_item_unblended_cost"] > 0
    column = read(target).schema.field("line_item_unblended_cost")
    assert column.type == pa.decimal128(18, 2)


def spoil(folder: Path, period: str, column: str, value: str, *, record: int = 7) -> str:
    """Changes one value in the first data file of a period's current delivery; returns the file's key."""
    [path] = folder.glob(f"billing/*/{period.replace('-', '')}01-*/*-Manifest.json")
    key = str(json.loads(path.read_text())["reportKeys"][0])
    rows = list(csv.reader(io.StringIO(gzip.decompress((folder / key).read_bytes()).decode(), newline="")))
    rows[record][rows[0].index(column)] = value
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    (folder / key).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    return key


def test_a_bad_value_is_refused_with_file_line_and_column_and_the_table_is_as_it_was(
    bills: SampleTruth, work: Path, spark_local: Session
) -> None:
    target, folder = f"duckdb:{work / 'costs'}", work / "bills"
    shutil.copytree(bills.folder, folder)
    key = spoil(folder, "2026-10", "lineItem/UnblendedCost", "abc")
    report = load(folder, target, spark_local)
    failed = {one.period: one for one in report.deliveries}["2026-10"]
    assert failed.state == "failed"
    assert failed.error is not None
    assert key in failed.error
    assert "line " in failed.error
    assert "lineItem/UnblendedCost" in failed.error
    assert "'abc'" in failed.error
    assert {one.state for one in report.deliveries if one.period != "2026-10"} == {"loaded"}
    assert read(target, "lakebed_period = '2026-10'").num_rows == 0


def test_quarantine_keeps_the_row_aside_and_counts_it(bills: SampleTruth, work: Path, spark_local: Session) -> None:
    database, folder = work / "costs", work / "bills"
    shutil.copytree(bills.folder, folder)
    spoil(folder, "2026-10", "lineItem/UnblendedCost", "abc")
    report = load(folder, f"duckdb:{database}", spark_local, period="2026-10", on_bad_value="quarantine")
    [one] = report.deliveries
    assert (one.state, one.rows, one.rejected_rows, one.reconciled) == ("loaded", SMALL.rows - 1, 1, True)
    with duckdb.connect(str(database), read_only=True) as connection:
        [(column, period, value)] = connection.execute(
            "SELECT lakebed_column, lakebed_period, lakebed_value FROM sample_report_rejected"
        ).fetchall()
    assert (column, period, value) == ("lineItem/UnblendedCost", "2026-10", "abc")


def test_a_missing_file_loads_the_rest_is_never_silent_and_never_replaces_a_complete_month(
    work: Path, spark_local: Session
) -> None:
    target, folder = f"duckdb:{work / 'costs'}", work / "bills"
    before = sample(folder, SampleSpec(**{**vars(SMALL), "restate": False}))
    load(folder, target, spark_local, period="2026-09")
    after = sample(folder, SMALL)
    restated = next(truth for truth in after.current if truth.period == "2026-09")
    (folder / restated.files[0]).unlink()
    report = load(folder, target, spark_local, period="2026-09")
    assert report.deliveries[0].state == "failed"
    assert "never replaces a complete one" in (report.deliveries[0].error or "")
    assert_equals_truth(target, tuple(truth for truth in before.current if truth.period == "2026-09"))
    # Into an empty table it loads what is there, and says so.
    other = f"duckdb:{work / 'other'}"
    partial = load(folder, other, spark_local, period="2026-09").deliveries[0]
    assert (partial.state, partial.complete, partial.reconciled) == ("loaded", False, False)
    assert 0 < partial.rows < SMALL.rows
    assert not reconcile(other).holds
    strict = load(folder, f"duckdb:{work / 'third'}", spark_local, period="2026-09", strict=True)
    assert strict.deliveries[0].state == "failed"


def test_two_reports_never_delete_each_other_s_rows(bills: SampleTruth, work: Path, spark_local: Session) -> None:
    folder = work / "bills"
    shutil.copytree(bills.folder, folder)
    sample(folder, SampleSpec(**{**vars(SMALL), "report": "daily", "seed": 7}))
    target = f"duckdb:{work / 'costs'}"
    with pytest.raises(ConfigError, match=r"daily, sample-report(.|\n)*--report"):
        load(folder, target, spark_local, table="all")
    report = load(folder, target, spark_local, period="2026-10")
    assert sorted(table.table for table in report.tables) == ["daily", "sample_report"]
    for name in ("daily", "sample-report"):
        load(folder, f"parquet:{work / 'one'}", spark_local, period="2026-10", report=name)
    loaded = pads.dataset(work / "one", partitioning="hive").to_table(columns=["lakebed_report"])
    assert sorted(set(loaded.column(0).to_pylist())) == ["daily", "sample-report"]
    assert loaded.num_rows == 2 * SMALL.rows


def test_a_source_without_deliveries_is_refused_in_plain_words(work: Path, spark_local: Session) -> None:
    (work / "empty").mkdir()
    with pytest.raises(SourceError, match="no delivery found"):
        load(work / "empty", f"duckdb:{work / 'costs'}", spark_local)


def test_plan_touches_nothing_and_says_what_run_does(bills: SampleTruth, work: Path, spark_local: Session) -> None:
    for kind in ("duckdb", "parquet"):
        target = f"{kind}:{work / kind}"
        planned = lakebed.plan(str(bills.folder), target)
        assert [one.action for one in planned.deliveries] == ["load", "load", "load"]
    assert list(work.rglob("*")) == []
    load(bills.folder, f"duckdb:{work / 'duckdb'}", spark_local, period="2026-08")
    planned = lakebed.plan(str(bills.folder), f"duckdb:{work / 'duckdb'}")
    assert [one.action for one in planned.deliveries] == ["load", "load", "skip"]
    evolution = planned.deliveries[0].evolution
    assert evolution is not None
    report = load(bills.folder, f"duckdb:{work / 'duckdb'}", spark_local, period="2026-10")
    assert report.deliveries[0].added_columns == evolution.added_columns
