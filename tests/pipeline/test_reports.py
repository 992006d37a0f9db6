"""Reconciliation holds only when every number is the same to the last digit."""

from dataclasses import replace
from decimal import Decimal

from lakebed.model import Delivery, Slice, SourceFile, Totals
from lakebed.pipeline.reports import DeliveryReport, Reconciliation, RunReport, TableReport

SOURCE = Totals(3, {"cost": Decimal("0.00000000001")}, {"USD": {"cost": Decimal("0.00000000001")}})


def test_equal_numbers_hold() -> None:
    assert Reconciliation(SOURCE, SOURCE).holds


def test_the_last_digit_counts() -> None:
    table = replace(SOURCE, sums={"cost": Decimal("0.00000000002")})
    [difference] = Reconciliation(SOURCE, table).differences
    assert (difference.what, difference.source, difference.table) == ("cost", Decimal("1E-11"), Decimal("2E-11"))


def test_sums_of_more_digits_than_python_keeps_are_compared_whole() -> None:
    large = Totals(1, {"cost": Decimal("12345678901234567890.123456789012345678")})
    assert Reconciliation(large, large).holds
    other = replace(large, sums={"cost": Decimal("12345678901234567890.123456789012345679")})
    assert not Reconciliation(large, other).holds


def test_a_row_too_few_is_seen() -> None:
    assert [one.what for one in Reconciliation(SOURCE, replace(SOURCE, rows=2)).differences] == ["rows"]


def test_sums_that_only_moved_between_currencies_are_seen() -> None:
    table = replace(SOURCE, by_currency={"EUR": {"cost": Decimal("0.00000000001")}})
    assert [one.what for one in Reconciliation(SOURCE, table).differences] == ["cost in USD", "cost in EUR"]


def test_what_rounding_took_is_accounted_for_exactly() -> None:
    table = Totals(3, {"cost": Decimal("0.00")}, {"USD": {"cost": Decimal("0.00")}})
    rounded = {"cost": Decimal("-0.00000000001")}
    assert Reconciliation(SOURCE, table, rounded, {"cost": 3}).holds
    assert not Reconciliation(SOURCE, table, {"cost": Decimal("-0.01")}, {"cost": 3}).holds


def test_each_currency_is_compared_by_itself_and_column_by_column() -> None:
    source = Totals(
        2, {"a": Decimal(3)}, {"USD": {"a": Decimal(1)}, "EUR": {"a": Decimal(2)}, "CHF": {"a": Decimal(0)}}
    )
    table = Totals(2, {"a": Decimal(3)}, {"USD": {"a": Decimal(2)}, "EUR": {"a": Decimal(1), "b": Decimal(5)}})
    found = [(one.what, one.source, one.table) for one in Reconciliation(source, table).differences]
    assert found == [("a in USD", 1, 2), ("a in EUR", 2, 1), ("b in EUR", 0, 5)]
    # What rounding took of each currency is not known, so that only the sum over all can be compared.
    rounded = Reconciliation(source, replace(table, sums={"a": Decimal("2.5")}), {"a": Decimal("-0.5")})
    assert rounded.holds


def test_a_sum_that_the_table_lacks_is_nothing() -> None:
    [difference] = Reconciliation(Totals(1, {"a": Decimal(1), "b": Decimal(0)}), Totals(1)).differences
    assert (difference.what, difference.source, difference.table) == ("a", 1, 0)


def test_numbers_are_written_out_in_full() -> None:
    table = replace(SOURCE, rows=2, by_currency={})
    said = Reconciliation(SOURCE, table, rejected_rows=1).to_dict()
    number = "0.00000000001"
    assert said == {
        "reconciled": False,
        "rows": {"source": 3, "table": 2, "rejected": 1},
        "sums": {"cost": {"source": number, "table": number}},
        "byCurrency": {"USD": {"cost": {"source": number, "table": "0"}}},
        "differences": [
            {"what": "rows", "source": "3", "table": "2"},
            {"what": "cost in USD", "source": number, "table": "0"},
        ],
        "lostColumns": [],
    }
    assert Reconciliation(SOURCE, SOURCE).to_dict()["differences"] == []


DELIVERY = Delivery(
    Slice("1", "cur", "2026-09"),
    "d1",
    "cur",
    "m.json",
    (),
    (SourceFile("/x/a.csv", "a.csv", "csv", "none", 1),),
    ("b",),
)


def test_a_delivery_that_is_not_loaded_yet_has_no_rows() -> None:
    report = DeliveryReport.of(DELIVERY, "duckdb:costs#cur", "failed")
    assert report == DeliveryReport(
        "1", "cur", "2026-09", "d1", "failed", complete=False, rows=0, files=1, table="duckdb:costs#cur", size_bytes=1
    )
    said = replace(report, added_columns=("x",), warnings=("w",)).to_dict()
    assert (said["added_columns"], said["warnings"], said["rows"], said["state"]) == (["x"], ["w"], 0, "failed")


def test_a_run_has_failed_where_a_delivery_did_or_does_not_add_up() -> None:
    one = DeliveryReport.of(DELIVERY, "t", "loaded")
    good, broken = replace(one, reconciled=True), replace(one, state="failed")
    differs, unknown = replace(one, reconciled=False), replace(one, reconciled=None)
    first, second = TableReport("a", "duckdb:c#a", 2), TableReport("b", "duckdb:c#b", 3)
    run = RunReport((first, second), (good, broken, differs, unknown), warnings=("w",), seconds=1.5)
    assert run.failed == (broken, differs)
    assert (run.table, run.rows) == (None, 5)
    assert (RunReport((first,), ()).table, RunReport((), ()).table) == ("a", None)
    assert run.to_dict() == {
        "table": None,
        "rows": 5,
        "tables": [
            {"table": "a", "address": "duckdb:c#a", "rows": 2},
            {"table": "b", "address": "duckdb:c#b", "rows": 3},
        ],
        "deliveries": [each.to_dict() for each in (good, broken, differs, unknown)],
        "warnings": ["w"],
        "seconds": 1.5,
    }
