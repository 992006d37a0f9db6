"""The sample is deterministic, and its truth is what its files hold."""

import csv
import gzip
import hashlib
import io
import json
import re
import zipfile
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lakebed.cli import build
from lakebed.errors import ConfigError
from lakebed.samples import DeliveryTruth, SampleSpec, SampleTruth, make_sample


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_rows(path: Path) -> list[dict[str, str]]:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    if path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(archive.namelist()[0])
    lines = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    names = next(lines)
    return [dict(zip(names, line, strict=True)) for line in lines]


def delivered(truth: SampleTruth, delivery: DeliveryTruth) -> list[dict[str, str]]:
    return [row for file in delivery.files for row in read_rows(truth.folder / file)]


@pytest.mark.parametrize("packing", ["gzip", "zip", "csv"])
def test_truth_is_the_sum_over_the_text(tmp_path: Path, packing: str) -> None:
    truth = make_sample(tmp_path, months=3, rows=700, spec=SampleSpec(format=packing))  # type: ignore[arg-type]
    assert len(truth.deliveries) == 4
    for delivery in truth.deliveries:
        rows = delivered(truth, delivery)
        assert len(rows) == delivery.totals.rows == 700
        assert tuple(rows[0]) == delivery.columns
        for column, total in delivery.totals.sums.items():
            assert sum(Decimal(row[column] or 0) for row in rows) == total, column
        for code, sums in delivery.totals.by_currency.items():
            of_currency = [row for row in rows if row["lineItem/CurrencyCode"] == code]
            for column, total in sums.items():
                assert sum(Decimal(row[column] or 0) for row in of_currency) == total, (code, column)


@pytest.mark.parametrize("kind", ["cur2", "focus"])
def test_exports_tell_the_truth_in_csv_and_parquet(tmp_path: Path, kind: str) -> None:
    text = make_sample(tmp_path / "csv", months=1, rows=300, spec=SampleSpec(kind=kind))  # type: ignore[arg-type]
    spec = SampleSpec(kind=kind, format="parquet")  # type: ignore[arg-type]
    binary = make_sample(tmp_path / "parquet", months=1, rows=300, spec=spec)
    for one, other in zip(text.deliveries, binary.deliveries, strict=True):
        assert one.totals == other.totals
        rows = delivered(text, one)
        table = pq.read_table(tmp_path / "parquet" / other.files[0])
        assert tuple(table.column_names) == other.columns == tuple(rows[0])
        for column, total in one.totals.sums.items():
            assert sum(Decimal(row[column] or 0) for row in rows) == total
        assert json.loads(rows[0]["resource_tags" if kind == "cur2" else "Tags"]) is not None


def test_parquet_doubles_give_back_the_exact_sums(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=2, rows=500, spec=SampleSpec(format="parquet"))
    for delivery in truth.deliveries:
        for column, total in delivery.totals.sums.items():
            found = Decimal(0)
            for file in delivery.files:
                values = pq.ParquetFile(tmp_path / file).read([column]).column(column).to_pylist()
                found += sum((Decimal(repr(value)) for value in values if value is not None), Decimal(0))
            assert found == total, column


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    make_sample(tmp_path / "one", months=2, rows=200)
    make_sample(tmp_path / "two", months=2, rows=200)
    make_sample(tmp_path / "three", months=2, rows=200, seed=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert digests(tmp_path / "one") != digests(tmp_path / "three")


def test_columns_drift(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=5, rows=10)
    columns = [delivery.columns for delivery in truth.current]
    assert len(columns[0]) == 250
    environment = ("resourceTags/user:Environment", "resourceTags/user:environment")
    orders = {tuple(name for name in month if name in environment) for month in columns}
    assert orders == {environment, environment[::-1]}
    assert set(columns[-1]) - set(columns[0])
    assert set(columns[0]) - set(columns[-1])
    assert {"group", "order"} <= set(columns[0])


def test_values_have_the_traps_of_real_reports(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=1, rows=3_000)
    rows = delivered(truth, truth.deliveries[0])
    costs = [row["lineItem/UnblendedCost"] for row in rows]
    assert "4.0E-7" in {row["lineItem/UnblendedRate"] for row in rows}
    assert any(re.fullmatch(r"\d\.\d+E-\d+", cost) for cost in costs)
    assert any(re.search(r"\.\d{11}$", cost) for cost in costs)
    assert any(cost.startswith("-") for cost in costs)
    assert any(row["lineItem/UsageAccountId"].startswith("0") for row in rows)
    assert any("\n" in row["lineItem/LineItemDescription"] for row in rows)
    assert any("," in row["resourceTags/user:Name"] and '"' not in row["resourceTags/user:Name"] for row in rows)
    assert {row["lineItem/CurrencyCode"] for row in rows} == {"USD", "EUR"}
    assert len({row["lineItem/ProductCode"] for row in rows}) >= 10


def test_the_restated_month_is_delivered_twice_and_the_later_counts(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=3, rows=50)
    september = [delivery for delivery in truth.deliveries if delivery.period == "2026-09"]
    assert [delivery.current for delivery in september] == [False, True]
    assert september[0].delivery < september[1].delivery
    assert september[0].totals.sums != september[1].totals.sums
    date_folder = next(tmp_path.glob("billing/*/20260901-20261001"))
    newest = json.loads((date_folder / "sample-report-Manifest.json").read_text())
    assert newest["assemblyId"] == september[1].delivery
    for delivery in september:
        own = json.loads((date_folder / delivery.delivery / "sample-report-Manifest.json").read_text())
        assert own["assemblyId"] == delivery.delivery
        assert own["reportKeys"] == list(delivery.files)


def test_the_truth_file_holds_every_digit(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=1, rows=40)
    stored = json.loads((tmp_path / "truth.json").read_text())["deliveries"][0]["sums"]
    assert {name: Decimal(text) for name, text in stored.items()} == truth.deliveries[0].totals.sums


def test_an_empty_month_has_headers_only(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=1, rows=0)
    assert delivered(truth, truth.deliveries[0]) == []
    assert truth.deliveries[0].totals.sums["lineItem/UnblendedCost"] == 0


def test_too_narrow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too narrow"):
        make_sample(tmp_path, columns=10)


def test_the_command(tmp_path: Path) -> None:
    arguments = ["sample", str(tmp_path), "--months", "2", "--rows", "30", "--columns", "90", "--layout", "overwrite"]
    done = CliRunner().invoke(build(arguments), [*arguments, "--json"])
    assert done.exit_code == 0
    printed = json.loads(done.stdout)
    assert printed == json.loads((tmp_path / "truth.json").read_text())
    assert [delivery["rows"] for delivery in printed["deliveries"]] == [30, 30]
    refused = CliRunner().invoke(build(arguments), ["sample", str(tmp_path), "--columns", "3"])
    assert refused.exit_code == 2
