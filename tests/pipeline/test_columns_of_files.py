"""Every file has the columns that its manifest lists, or the delivery is refused with the table as it was."""

import gzip
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.pipeline.conftest import TYPES, Bills, csv_text

import lakebed
from lakebed.pipeline.reports import DeliveryReport

COST = "lineItem/UnblendedCost"
WITHOUT_COST = tuple(name for name in TYPES if name != COST)
GOOD = csv_text("a,1.5,USD,prod", "b,2,USD,test")
COSTS = [(Decimal("1.5"),), (Decimal(2),)]


def refused(report: DeliveryReport) -> str:
    assert (report.state, report.reconciled) == ("failed", None)
    assert report.error is not None
    return report.error


@pytest.fixture
def loaded(bills: Bills) -> Bills:
    bills.deliver(GOOD)
    assert bills.load().reconciled
    return bills


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (csv_text("a;9;USD;prod", separator=";"), "one column that holds 3 semicolons"),
        (csv_text("a\t9\tUSD\tprod", separator="\t"), "separated by tabs?"),
        (csv_text("a|9|USD|prod", separator="|"), "separated by bars?"),
        (csv_text("a,9,USD,prod", "b,9,USD,prod", end="\r"), "carriage return alone"),
        (csv_text("a,USD,prod", header=WITHOUT_COST), COST),
        (csv_text("a,9,USD,prod", header=(*WITHOUT_COST, "lineitem/unblendedcost")), COST),
        ("", "the file is empty"),
    ],
    ids=["semicolons", "tabs", "bars", "carriage returns", "without cost", "another spelling", "empty"],
)
@pytest.mark.parametrize("position", [0, 1], ids=["first file", "second file"])
def test_a_file_that_is_not_what_its_manifest_says_is_refused_by_name(
    loaded: Bills, bad: str, said: str, position: int
) -> None:
    texts = [GOOD, GOOD]
    texts[position] = bad
    loaded.deliver(*texts, assembly="20261004T000000Z")
    error = refused(loaded.load(strict=bool(position)))
    assert said in error
    assert f"bill-0000{position + 1}.csv.gz" in error
    assert loaded.rows("line_item_unblended_cost") == COSTS
    assert "lineitem_unblendedcost" not in str(loaded.rows("column_name", "information_schema.columns"))


def test_a_plan_says_so_too(loaded: Bills) -> None:
    loaded.deliver(csv_text("a,USD,prod", header=WITHOUT_COST), assembly="20261004T000000Z")
    [planned] = lakebed.plan(loaded.folder / "bucket", loaded.target).deliveries
    assert (planned.action, planned.evolution) == ("refuse", None)
    assert COST in planned.decision.reason
    [allowed] = lakebed.plan(loaded.folder / "bucket", loaded.target, allow_missing=[COST]).deliveries
    assert allowed.action == "replace"


@pytest.mark.parametrize("name", [COST, "line_item_unblended_cost"])
@pytest.mark.parametrize("position", [0, 1], ids=["first file", "second file"])
def test_a_column_that_may_be_missing_is_null_in_that_file(bills: Bills, name: str, position: int) -> None:
    texts = [GOOD, GOOD]
    texts[position] = csv_text("c,USD,prod", header=WITHOUT_COST)
    bills.deliver(*texts)
    report = bills.load(allow_missing=[name])
    assert (report.state, report.rows, report.reconciled) == ("loaded", 3, True), report.error
    assert COST in " ".join(report.warnings) or position == 0
    assert bills.rows("line_item_unblended_cost") == [*COSTS, (None,)]


def test_a_column_that_only_a_later_file_has_keeps_the_type_that_its_manifest_gives_it(bills: Bills) -> None:
    types = {**TYPES, "product/odd": "BigDecimal"}
    more = csv_text("c,1,USD,prod,2.50", header=(*TYPES, "product/odd"))
    bills.deliver(GOOD, more, types=types)
    assert "product/odd" in refused(bills.load())
    assert bills.load(allow_missing=["product/odd"]).reconciled
    assert (Decimal("2.5"),) in bills.rows("product_odd")


def test_more_columns_than_listed_in_any_order_are_columns_of_the_delivery(bills: Bills) -> None:
    header = ("product/new", *reversed(TYPES), "product/new")
    bills.deliver(GOOD, csv_text("x,prod,USD,3,c,y", header=header))
    report = bills.load()
    assert (report.state, report.rows, report.reconciled) == ("loaded", 3, True), report.error
    assert bills.rows("product_new, product_new_1") == [("x", "y"), (None, None), (None, None)]


def test_of_two_equal_columns_in_the_manifest_both_must_be_there(bills: Bills) -> None:
    names = [*TYPES, "product/memory", "product/memory"]
    [path] = bills.deliver(csv_text("a,1,USD,prod,8", header=names[:-1]), types={**TYPES, "product/memory": "String"})
    manifest = path.parent / "bill-Manifest.json"
    listed = '{"category": "product", "name": "memory", "type": "String"}'
    manifest.write_text(manifest.read_text().replace(listed, f"{listed}, {listed}"))
    assert "product/memory#2" in refused(bills.load())
    path.write_bytes(gzip.compress(csv_text("a,1,USD,prod,8,16", header=names).encode()))
    assert bills.load().reconciled


def test_a_cur_in_parquet_has_the_columns_of_its_manifest_under_finished_names(bills: Bills) -> None:
    [path] = bills.deliver(GOOD, types={**TYPES, "reservation/ReservationARN": "String"})
    whole = pa.table(
        {
            "identity_line_item_id": ["a"],
            "line_item_unblended_cost": [1.5],
            "line_item_currency_code": ["USD"],
            "resource_tags_user_environment": ["prod"],
            "reservation_reservation_a_r_n": ["arn"],
        }
    )
    manifest = path.parent / "bill-Manifest.json"
    manifest.write_text(manifest.read_text().replace("bill-00001.csv.gz", "bill-00001.parquet"))
    pq.write_table(whole.drop_columns(["line_item_unblended_cost"]), path.parent / "bill-00001.parquet")
    assert COST in refused(bills.load())
    pq.write_table(whole, path.parent / "bill-00001.parquet")
    report = bills.load()
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    assert bills.rows("line_item_unblended_cost") == [(Decimal("1.5"),)]


def plain(folder: Path, *texts: str) -> Path:
    place = folder / "plain"
    place.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (place / f"part-{number}.csv").write_text(text)
    return place


@pytest.mark.parametrize("position", [0, 1])
def test_files_without_a_manifest_all_have_the_numbers_or_none_has(bills: Bills, position: int) -> None:
    texts = [GOOD, GOOD]
    texts[position] = csv_text("c,USD,prod", header=WITHOUT_COST)
    source = plain(bills.folder, *texts)
    [report] = lakebed.run(source, bills.target, report="bill", period="2026-09").deliveries
    error = refused(report)
    assert f"part-{position}.csv" in error
    assert COST in error
    [taken] = lakebed.run(source, bills.target, report="bill", period="2026-09", allow_missing=[COST]).deliveries
    assert (taken.state, taken.rows) == ("loaded", 3), taken.error


def test_files_without_a_manifest_may_differ_in_what_is_no_number(bills: Bills) -> None:
    source = plain(bills.folder, GOOD, csv_text("3,USD,c", header=(COST, "lineItem/CurrencyCode", "product/x")))
    [report] = lakebed.run(source, bills.target, report="bill", period="2026-09").deliveries
    assert (report.state, report.rows, report.reconciled) == ("loaded", 3, True), report.error
    assert "columns are missing and loaded as NULL" in " ".join(report.warnings)


def test_a_plain_file_separated_otherwise_is_refused(bills: Bills) -> None:
    source = plain(bills.folder, csv_text("a;1;USD;prod", separator=";"))
    [report] = lakebed.run(source, bills.target, report="bill", period="2026-09").deliveries
    assert "separated by semicolons?" in refused(report)
