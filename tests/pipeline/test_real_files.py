"""Billing files of other projects, real ones among them: each loads to the last digit or is refused by its fault."""

import csv
import gzip
import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from tests.support import SHARED

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.pipeline.reports import RunReport

SAMPLES = SHARED / "samples" / "cur"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"the samples of other projects are not at {SAMPLES}"),
]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(source: Path, work: Path, spark: Session, **settings: object) -> RunReport:
    return lakebed.run(str(source), f"duckdb:{work / 'costs'}#bill", spark=spark.spark, **settings)


def records(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


class Bill:
    """The loaded table, through a reader that is not ours."""

    def __init__(self, work: Path) -> None:
        with duckdb.connect(str(work / "costs"), read_only=True) as connection:
            self.columns = {
                name: (type_, comment)
                for name, type_, comment in connection.execute(
                    "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = 'bill'"
                ).fetchall()
            }
            found = connection.execute("SELECT * FROM bill")
            names = [column[0] for column in found.description or ()]
            self.rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    @property
    def decimals(self) -> Iterator[tuple[str, str]]:
        """Name and original of every decimal column."""
        for name, (type_, original) in self.columns.items():
            if type_ == "DECIMAL(38,18)":
                assert original is not None
                yield name, original

    def assert_adds_up(self, text: list[dict[str, str]]) -> None:
        """Every decimal column sums up to what Python's Decimal makes of the text, to the last digit."""
        assert len(self.rows) == len(text)
        for name, original in self.decimals:
            expected = sum((Decimal(row[original]) for row in text if row[original] not in ("", "NULL")), Decimal(0))
            assert sum((row[name] for row in self.rows if row[name] is not None), Decimal(0)) == expected, name

    def assert_holds(self, text: list[dict[str, str]]) -> None:
        """Value for value the text, whatever the order of rows."""
        by_original = {original: name for name, (_, original) in self.columns.items() if original}

        def plain(value: object) -> str:
            if isinstance(value, Decimal):
                return format(value.normalize(), "f")
            return "" if value is None else str(value)

        def as_table(original: str, value: str) -> str:
            type_ = self.columns[by_original[original]][0]
            if type_.startswith("DECIMAL") and value:
                return plain(Decimal(value))
            if type_ == "TIMESTAMP" and value:
                return str(datetime.fromisoformat(value).replace(tzinfo=None))
            return value

        found = sorted([plain(row[by_original[original]]) for original in text[0]] for row in self.rows)
        assert found == sorted([as_table(original, value) for original, value in row.items()] for row in text)


def test_a_real_report_adds_up_in_every_decimal_column(work: Path, spark_local: Session) -> None:
    path = SAMPLES / "focus_converters_aws" / "sample-anonymous-aws-export-dataset.csv"
    report = load(path, work, spark_local, report="real", period="2023-11")
    [one] = report.deliveries
    assert (one.state, one.rows, one.reconciled) == ("loaded", 1281, True)
    bill, text = Bill(work), records(path)
    assert len(list(bill.decimals)) >= 5
    bill.assert_adds_up(text)
    assert sum(row["line_item_unblended_cost"] != 0 for row in bill.rows) == sum(
        Decimal(row["lineItem/UnblendedCost"]) != 0 for row in text
    )
    bill.assert_holds(text)


def test_a_real_focus_export_adds_up(work: Path, spark_local: Session) -> None:
    path = SAMPLES / "focus_sample" / "focus_sample.csv"
    [one] = load(path, work, spark_local, report="focus", period="2024-09").deliveries
    assert (one.state, one.rows, one.reconciled) == ("loaded", 1000, True)
    bill = Bill(work)
    assert {"billed_cost", "effective_cost", "list_cost"} <= {name for name, _ in bill.decimals}
    bill.assert_adds_up(records(path))
    # The export writes NULL for no value; a map without value is one of those, and that is said.
    without_tags = sum(row["Tags"] == "NULL" for row in records(path))
    assert sum(row["tags"] is None for row in bill.rows) == without_tags
    assert any(f"column Tags: the word NULL stands for no value ({without_tags} rows)" in said for said in one.warnings)


def test_a_cur_in_a_zip_with_a_manifest_equals_the_output_its_project_expects(work: Path, spark_local: Session) -> None:
    mock = SAMPLES / "keboola_mock" / "tests"
    source = mock / "mock_data" / "cur_1_0" / "s3_structure" / "mock-cur-bucket"
    [one] = load(source, work, spark_local).deliveries
    assert (one.state, one.reconciled, one.period, one.payer) == ("loaded", True, "2024-01", "123456789012")
    expected = records(mock / "functional_tests" / "cur_1_0" / "expected_output.csv")
    Bill(work).assert_holds([{name.replace("__", "/"): value for name, value in row.items()} for row in expected])


def test_a_cur_2_in_gzip_with_a_manifest_equals_the_output_its_project_expects(
    work: Path, spark_local: Session
) -> None:
    mock = SAMPLES / "keboola_mock" / "tests"
    source = mock / "mock_data" / "cur_2_0" / "s3_structure" / "mock-cur-v2-bucket"
    [one] = load(source, work, spark_local).deliveries
    assert (one.state, one.reconciled, one.period) == ("loaded", True, "2024-09")
    Bill(work).assert_holds(records(mock / "functional_tests" / "cur_2_0" / "expected_output.csv"))


def test_a_cur_2_csv_without_a_manifest_is_typed_by_the_dictionary(work: Path, spark_local: Session) -> None:
    path = SAMPLES / "fivetran_seed" / "aws_cost_report.csv"
    [one] = load(path, work, spark_local, report="seed", period="2024-01").deliveries
    assert (one.state, one.rows, one.reconciled) == ("loaded", len(records(path)), True)
    bill = Bill(work)
    assert bill.columns["line_item_unblended_cost"][0] == "DECIMAL(38,18)"
    bill.assert_adds_up(records(path))


def test_a_report_that_changes_its_format_keeps_its_columns(work: Path, spark_local: Session) -> None:
    mock = SAMPLES / "anonymize_mock"
    legacy = load(mock / "sample-legacy-csv.csv", work, spark_local, report="report", period="2025-01")
    before = Bill(work)
    later = load(mock / "sample-cur20.csv", work, spark_local, report="report", period="2025-02")
    assert [one.state for one in (*legacy.deliveries, *later.deliveries)] == ["loaded", "loaded"]
    assert later.deliveries[0].added_columns == ()
    after = Bill(work)
    assert after.columns == before.columns
    assert len(after.rows) == legacy.rows + len(records(mock / "sample-cur20.csv"))
    for text, period in (("sample-legacy-csv.csv", "2025-01"), ("sample-cur20.csv", "2025-02")):
        name = "lineItem/UnblendedCost" if "legacy" in text else "line_item_unblended_cost"
        costs = [row["line_item_unblended_cost"] for row in after.rows if row["lakebed_period"] == period]
        assert sum(costs) == sum(Decimal(row[name]) for row in records(mock / text))


@pytest.mark.parametrize("name", ["test_cur.csv", "test_cur.csv.gz"])
def test_a_header_with_a_lost_comma_is_refused_by_name(work: Path, spark_local: Session, name: str) -> None:
    [one] = load(SAMPLES / "koku_testdata" / name, work, spark_local, report="koku", period="2020-01").deliveries
    assert one.state == "failed"
    assert one.error is not None
    assert "the header names" in one.error
    assert "looks like two names" in one.error
    assert name in one.error
    assert not (work / "costs").exists()


def test_a_manifest_of_2017_without_types_takes_them_from_the_dictionary(work: Path, spark_local: Session) -> None:
    content = json.loads((SAMPLES / "metering_operator_manifest" / "manifest.json").read_text())
    header = [f"{column['category']}/{column['name']}" for column in content["columns"]]
    extra = ["lineItem/UnblendedCost", "lineItem/UsageStartDate", "product/oddity"]
    header += [name for name in extra if name not in header]
    values = {"lineItem/UnblendedCost": "4.0E-7", "lineItem/UsageStartDate": "2017-10-01T00:00:00Z"}
    for number, key in enumerate(content["reportKeys"]):
        path = work / "bucket" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        text = io.StringIO(newline="")
        csv.writer(text).writerows([header, [values.get(name, f"{number}") for name in header]])
        write(path, text.getvalue())
        shutil.copy(SAMPLES / "metering_operator_manifest" / "manifest.json", path.parent / "report-Manifest.json")
    [one] = load(work / "bucket", work, spark_local).deliveries
    assert (one.state, one.files, one.rows, one.reconciled) == ("loaded", 2, 2, True), one.error
    bill = Bill(work)
    assert bill.columns["line_item_unblended_cost"] == ("DECIMAL(38,18)", "lineItem/UnblendedCost")
    assert bill.columns["line_item_usage_start_date"][0] == "TIMESTAMP"
    assert bill.columns["product_oddity"][0] == "VARCHAR"
    assert {row["line_item_unblended_cost"] for row in bill.rows} == {Decimal("0.0000004")}


def write(path: Path, text: str) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(path.stem, text)
    else:
        path.write_bytes(gzip.compress(text.encode()))
