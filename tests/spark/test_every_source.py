"""Every kind of source, made and real, through the whole pipeline: what is loaded is what the files say."""

import csv
import shutil
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.sample import SampleSpec, make_sample

pytestmark = pytest.mark.spark

SHARED = Path(__file__).parents[3] / "shared" / "samples" / "cur"
needs_samples = pytest.mark.skipif(not SHARED.exists(), reason="the shared samples are not here")


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def column_names(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Original name -> name in the table, as the table's own comments tell it."""
    rows = connection.execute(
        "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?", [table]
    ).fetchall()
    return {original or name: name for name, original in rows}


@pytest.mark.parametrize(
    "spec",
    [
        SampleSpec(packing="zip", typed=False),
        SampleSpec(packing="parquet"),
        SampleSpec(layout="overwrite", ids="uuid", prefix=""),
        SampleSpec(kind="cur2"),
        SampleSpec(kind="cur2", packing="parquet", layout="overwrite"),
        SampleSpec(kind="focus", typed=False),
        SampleSpec(kind="focus", packing="parquet"),
    ],
    ids=lambda spec: f"{spec.kind}-{spec.packing}-{spec.layout}{'' if spec.typed else '-untyped'}",
)
def test_made_deliveries(tmp_path: Path, spark_local: Session, spec: SampleSpec) -> None:
    truth = make_sample(tmp_path / "bucket", months=2, rows=150, columns=80, spec=spec)
    report = lakebed.run(str(tmp_path / "bucket"), f"duckdb:{tmp_path / 'bill.duckdb'}", spark=spark_local.spark)
    assert [(one.period, one.delivery) for one in report.deliveries] == [
        (made.period, made.delivery) for made in reversed(truth.current)
    ]
    assert all(one.state == "loaded" and one.reconciled and one.complete for one in report.deliveries)
    with duckdb.connect(tmp_path / "bill.duckdb", read_only=True) as connection:
        names = column_names(connection, "sample_report")
        for made in truth.current:
            # Without types only what the dictionary knows is a number; text is compared as text elsewhere.
            known = {name: total for name, total in made.totals.sums.items() if spec.typed or "Edp" not in name}
            sums = ", ".join(f'coalesce(sum("{names[original]}"), 0)' for original in known)
            found = connection.execute(
                f"SELECT count(*), {sums} FROM sample_report WHERE lakebed_period = ?", [made.period]
            ).fetchone()
            assert found == (made.totals.rows, *known.values())


def text_sum(path: Path, column: str) -> Decimal:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return sum(
            (Decimal(row[column]) for row in csv.DictReader(file) if row[column] not in ("", "NULL")), Decimal(0)
        )


@needs_samples
@pytest.mark.parametrize(
    ("sample", "original", "rows"),
    [
        ("focus_converters_aws/sample-anonymous-aws-export-dataset.csv", "lineItem/UnblendedCost", 1_281),
        ("anonymize_mock/sample-cur20.csv", "line_item_unblended_cost", 4),
        ("anonymize_mock/sample-legacy-csv.csv", "lineItem/UnblendedCost", 4),
        ("fivetran_seed/aws_cost_report.csv", "line_item_unblended_cost", 20),
    ],
)
def test_real_files(tmp_path: Path, spark_local: Session, sample: str, original: str, rows: int) -> None:
    target = f"duckdb:{tmp_path / 'bill.duckdb'}#real"
    report = lakebed.run(str(SHARED / sample), target, spark=spark_local.spark, report="real", period="2023-11")
    (loaded,) = report.deliveries
    assert (loaded.state, loaded.reconciled, loaded.rows) == ("loaded", True, rows)
    with duckdb.connect(tmp_path / "bill.duckdb", read_only=True) as connection:
        name = column_names(connection, "real")[original]
        found = connection.execute(f'SELECT coalesce(sum("{name}"), 0) FROM real').fetchone()
    assert found == (text_sum(SHARED / sample, original),)


@needs_samples
def test_buckets_of_another_project(tmp_path: Path, spark_local: Session) -> None:
    shutil.copytree(SHARED / "keboola_mock/tests/mock_data/cur_1_0/s3_structure", tmp_path / "one")
    shutil.copytree(SHARED / "keboola_mock/tests/mock_data/cur_2_0/s3_structure", tmp_path / "two")
    for folder, expected in (("one", "cur_1_0/sample_billing_data.csv"), ("two", "cur_2_0/sample_billing_data_v2.csv")):
        original = "lineItem/UnblendedCost" if folder == "one" else "line_item_unblended_cost"
        target = f"duckdb:{tmp_path / folder}.duckdb#bill"
        report = lakebed.run(str(tmp_path / folder), target, spark=spark_local.spark, workdir=str(tmp_path / "work"))
        (loaded,) = report.deliveries
        assert loaded.reconciled
        with duckdb.connect(f"{tmp_path / folder}.duckdb", read_only=True) as connection:
            name = column_names(connection, "bill")[original]
            found = connection.execute(f'SELECT sum("{name}") FROM bill').fetchone()
        assert found == (text_sum(SHARED / "keboola_mock/tests/mock_data" / expected, original),)


@needs_samples
def test_a_real_file_with_a_broken_header_is_refused(tmp_path: Path, spark_local: Session) -> None:
    broken = SHARED / "koku_testdata/test_cur.csv.gz"
    target = f"duckdb:{tmp_path / 'bill.duckdb'}#real"
    report = lakebed.run(str(broken), target, spark=spark_local.spark, report="real", period="2023-11")
    (refused,) = report.deliveries
    assert refused.state == "failed"
    assert "test_cur.csv.gz, line 1" in str(refused.error)
    assert "looks like two names" in str(refused.error)
