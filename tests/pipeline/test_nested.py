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


def load_files(bills: Bills, kind: str, *tables: pa.Table) -> DeliveryReport:
    folder = bills.folder / "several"
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    table_name = "bill" if kind != "parquet" else None
    [report] = lakebed.run(folder, place(bills.folder, kind), table=table_name, report="r", period="2026-09").deliveries
    return report


def costs(*values: float) -> pa.Array:
    return pa.array(values, pa.float64())


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "iceberg"])
def test_nested_columns_that_only_a_later_file_has_arrive_as_they_are(bills: Bills, kind: str) -> None:
    later = {
        "labels": pa.array([{"a": "x", "b": 1}], pa.struct([("a", pa.string()), ("b", pa.int64())])),
        "amounts": pa.array([[("k", 0.1)]], NUMBERS),
        "parts": pa.array([["x", None]], pa.list_(pa.string())),
        "count": pa.array([7], pa.int32()),
        "sure": pa.array([True]),
    }
    report = load_files(
        bills,
        kind,
        pa.table({"line_item_unblended_cost": costs(1)}),
        pa.table({"line_item_unblended_cost": costs(2), **later}),
    )
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    found = read(bills, kind)
    for name, values in later.items():
        assert found.column(name).to_pylist() == [None, *values.to_pylist()], name


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_structs_have_the_fields_of_all_files_of_a_delivery(bills: Bills, order: tuple[int, ...]) -> None:
    rows: list[tuple[pa.DataType, object]] = [
        (pa.struct([("a", pa.string())]), {"a": "x"}),
        (pa.struct([("a", pa.string()), ("b", pa.int64())]), {"a": "y", "b": 2}),
        (pa.struct([("c", pa.list_(pa.struct([("d", pa.string())])))]), {"c": [{"d": "z"}]}),
    ]
    tables = [
        pa.table({"line_item_unblended_cost": costs(number), "labels": pa.array([value], type_)})
        for number, (type_, value) in enumerate(rows)
    ]
    report = load_files(bills, "duckdb", *(tables[number] for number in order))
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    empty = {"a": None, "b": None, "c": None}
    assert [{**empty, **value} for value in read(bills).column("labels").to_pylist()] == [
        {**empty, **value}
        for _, value in rows  # type: ignore[dict-item]
    ]


def test_a_column_without_any_value_in_the_first_file_has_the_type_of_a_later_one(bills: Bills) -> None:
    tables = [
        pa.table({"line_item_unblended_cost": costs(number), "labels": values, "never": pa.nulls(1)})
        for number, values in enumerate([pa.nulls(1), pa.nulls(1), pa.array([{"a": 1}])])
    ]
    report = load_files(bills, "duckdb", *tables)
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    assert read(bills).column("labels").to_pylist() == [None, None, {"a": 1}]
    assert "never" not in read(bills).column_names, "it waits for its type"


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "iceberg"])
def test_a_column_without_any_value_is_created_with_its_first_real_type(bills: Bills, kind: str) -> None:
    first = pa.table({"line_item_unblended_cost": [1.5], "later": pa.nulls(1)})
    report = load(bills, "2026-09", "a.parquet", first, kind=kind)
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    assert "later" not in read(bills, kind).column_names
    second = pa.table({"line_item_unblended_cost": [2.5], "later": [7]})
    report = load(bills, "2026-10", "b.parquet", second, kind=kind)
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    assert read(bills, kind).column("later").to_pylist() == [None, 7]
    assert read(bills, kind).schema.field("later").type == pa.int64()


def test_one_column_that_is_two_things_in_two_files_is_refused(bills: Bills) -> None:
    plain = pa.table({"line_item_unblended_cost": costs(1)})
    one = plain.append_column("labels", pa.array([{"a": 1}]))
    other = plain.append_column("labels", pa.array([[1]]))
    report = load_files(bills, "duckdb", plain, one, other)
    assert report.state == "failed"
    assert "column labels is struct<a: int64> in one file of the delivery and list" in str(report.error)


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
