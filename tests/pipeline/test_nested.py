"""Structs, lists and maps of Parquet deliveries arrive as they are; `discount` is a map of numbers everywhere."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.pipeline.conftest import Bills

import lakebed
from lakebed.pipeline.reports import DeliveryReport

COST = pa.array([1.5, 2.5])
NUMBERS = pa.map_(pa.string(), pa.float64())
TEXTS = pa.map_(pa.string(), pa.string())


def load(bills: Bills, period: str, name: str, data: pa.Table | str, *, kind: str = "duckdb") -> DeliveryReport:
    folder = bills.folder / f"{period}-{name}"
    folder.mkdir()
    if isinstance(data, str):
        (folder / name).write_text(data)
    else:
        pq.write_table(data, folder / name)
    target = place(bills.folder, kind)
    [report] = lakebed.run(
        folder, target, table="bill" if kind != "parquet" else None, report="r", period=period
    ).deliveries
    return report


def place(folder: Path, kind: str) -> str:
    return "iceberg:billing" if kind == "iceberg" else f"{kind}:{folder / 'costs'}"


def read(bills: Bills, kind: str = "duckdb") -> pa.Table:
    found = lakebed.read(
        {"duckdb": f"{place(bills.folder, kind)}#bill", "iceberg": "iceberg:billing.bill"}.get(
            kind, place(bills.folder, kind)
        )
    )
    table = found if isinstance(found, pa.Table) else found.to_table()
    return table.sort_by("line_item_unblended_cost")


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "iceberg"])
def test_nested_types_arrive_as_they_are(bills: Bills, kind: str) -> None:
    nested = {
        "tags": pa.array([{"a": "x", "b": 1}, None], pa.struct([("a", pa.string()), ("b", pa.int64())])),
        "amounts": pa.array([[("k", 0.1)], []], NUMBERS),
        "parts": pa.array([["x", None], []], pa.list_(pa.string())),
        "deep": pa.array([[{"x": {"y": 1.5}}], None], pa.list_(pa.struct([("x", pa.struct([("y", pa.float64())]))]))),
        "discount": pa.array([[("edp", 0.25)], None], NUMBERS),
        "product": pa.array([[("sku", "s")], None], TEXTS),
    }
    report = load(bills, "2026-09", "a.parquet", pa.table({"line_item_unblended_cost": COST, **nested}), kind=kind)
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    found = read(bills, kind)
    for name, values in nested.items():
        assert found.column(name).to_pylist() == values.to_pylist(), name


def test_a_struct_that_grows_keeps_what_it_had(bills: Bills) -> None:
    small = pa.array([{"a": "x"}, None], pa.struct([("a", pa.string())]))
    large = pa.array([{"a": "y", "b": 2}, None], pa.struct([("a", pa.string()), ("b", pa.int64())]))
    for period, tags in (("2026-08", small), ("2026-09", large), ("2026-10", small)):
        report = load(bills, period, "a.parquet", pa.table({"line_item_unblended_cost": COST, "tags": tags}))
        assert report.state == "loaded", report.error
    values = [value for value in read(bills).column("tags").to_pylist() if value is not None]
    assert sorted(values, key=str) == [{"a": "x", "b": None}, {"a": "x", "b": None}, {"a": "y", "b": 2}]


CSV = 'line_item_unblended_cost,discount,product\n1,"{""edp"": 0.25, ""none"": null}","{""sku"": ""s""}"\n'


def test_discount_is_a_map_of_numbers_from_csv_too(bills: Bills) -> None:
    assert load(bills, "2026-09", "a.csv", CSV).reconciled
    found = read(bills)
    assert found.schema.field("discount").type.item_type == pa.float64()
    assert found.column("discount").to_pylist() == [[("edp", 0.25), ("none", None)]]
    parquet = pa.table({"line_item_unblended_cost": COST, "discount": pa.array([[("edp", "0.5")], None], TEXTS)})
    assert load(bills, "2026-10", "a.parquet", parquet).state == "loaded"
    bad = load(bills, "2026-08", "a.csv", CSV.replace("0.25", '""much""'))
    assert "a JSON object of numbers" in str(bad.error)
    assert "column discount" in str(bad.error)


def test_a_table_that_has_it_as_text_keeps_it_as_text(bills: Bills) -> None:
    bills.execute(
        "CREATE TABLE bill (line_item_unblended_cost DECIMAL(38,18), discount MAP(VARCHAR, VARCHAR), tags MAP(VARCHAR,"
        " VARCHAR), lakebed_payer VARCHAR, lakebed_report VARCHAR, lakebed_period VARCHAR, lakebed_delivery VARCHAR)"
    )
    assert load(bills, "2026-09", "a.csv", CSV).state == "loaded"
    parquet = pa.table(
        {
            "line_item_unblended_cost": COST,
            "discount": pa.array([[("edp", 0.5)], None], NUMBERS),
            "tags": pa.array(
                [{"team": "blue", "size": 2}, None], pa.struct([("team", TEXTS.key_type), ("size", pa.int64())])
            ),
        }
    )
    report = load(bills, "2026-10", "a.parquet", parquet)
    assert report.state == "loaded", report.error
    found = read(bills)
    assert found.schema.field("discount").type.item_type == pa.string()
    assert [("edp", "0.5")] in found.column("discount").to_pylist()
    assert [("team", "blue"), ("size", "2")] in found.column("tags").to_pylist()
