"""Reconciliation holds only when every number is the same to the last digit."""

from dataclasses import replace
from decimal import Decimal

from lakebed.model import Totals
from lakebed.pipeline.reports import Reconciliation

SOURCE = Totals(3, {"cost": Decimal("0.00000000001")}, {"USD": {"cost": Decimal("0.00000000001")}})


def test_equal_numbers_hold() -> None:
    assert Reconciliation(SOURCE, SOURCE).holds


def test_the_last_digit_counts() -> None:
    table = replace(SOURCE, sums={"cost": Decimal("0.00000000002")})
    [difference] = Reconciliation(SOURCE, table).differences
    assert (difference.what, difference.source, difference.table) == ("cost", Decimal("1E-11"), Decimal("2E-11"))


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
