"""A closed month does not shrink unasked, and a file of no bytes is not an empty month."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from tests.pipeline.conftest import TYPES, Bills, csv_text

from lakebed.pipeline.context import RunContext
from lakebed.pipeline.reports import DeliveryReport
from lakebed.pipeline.shrink import MonthFigures, is_closed, shrinks

NEWER = "20261004T000000Z"


def month(rows: int, cost: str = "2", *, start: int = 0) -> str:
    return csv_text(*(f"{number},{cost},USD,prod" for number in range(start, start + rows)))


def refused(report: DeliveryReport) -> str:
    assert report.state == "failed"
    return str(report.error)


@pytest.fixture
def fifty(bills: Bills) -> Bills:
    bills.deliver(month(50))
    assert bills.load().rows == 50
    return bills


@pytest.mark.parametrize(
    ("before", "after", "limit", "shrunk"),
    [
        (MonthFigures(10), MonthFigures(5), 0.5, False),
        (MonthFigures(10), MonthFigures(4), 0.5, True),
        (MonthFigures(10), MonthFigures(9), 0.0, True),
        (MonthFigures(10), MonthFigures(10), 0.0, False),
        (MonthFigures(10), MonthFigures(2), 0.9, False),
        (MonthFigures(0), MonthFigures(0), 0.0, False),
        (MonthFigures(10, Decimal(100)), MonthFigures(10, Decimal(50)), 0.5, False),
        (MonthFigures(10, Decimal(100)), MonthFigures(10, Decimal("49.99")), 0.5, True),
        (MonthFigures(10, Decimal(100)), MonthFigures(20, Decimal(-3)), 0.5, True),
        (MonthFigures(10, Decimal(100)), MonthFigures(20, None), 0.5, True),
        # A month of credits has no cost that could fall.
        (MonthFigures(10, Decimal(-100)), MonthFigures(10, Decimal(-900)), 0.5, False),
        (MonthFigures(10, Decimal(0)), MonthFigures(10, Decimal(-900)), 0.5, False),
    ],
)
def test_what_shrinks(before: MonthFigures, after: MonthFigures, limit: float, shrunk: bool) -> None:
    assert shrinks(before, after, limit) is shrunk


@pytest.mark.parametrize(
    ("period", "closed"), [("2026-09", True), ("2026-10", False), ("2026-11", False), ("2025-12", True)]
)
def test_a_month_is_closed_when_it_is_over(period: str, closed: bool) -> None:
    assert is_closed(period, datetime(2026, 10, 31, 23, 59, tzinfo=UTC)) is closed


@pytest.mark.parametrize("text", [month(0), month(24)], ids=["header only", "less than half"])
def test_a_closed_month_that_loses_its_rows_is_refused_with_both_figures(fifty: Bills, text: str) -> None:
    fifty.deliver(text, assembly=NEWER)
    error = refused(fifty.load())
    assert "50 rows and a cost of 100" in error
    assert "24 rows and a cost of 48" in error or "0 rows and a cost of 0" in error
    assert "--accept-shrink" in error
    assert fifty.rows("count(*), sum(line_item_unblended_cost)") == [(50, Decimal(100))]
    taken = fifty.load(accept_shrink=True)
    assert (taken.state, taken.rows, taken.reconciled) == ("loaded", text.count("USD"), True), taken.error


def test_a_closed_month_whose_cost_falls_is_refused_though_its_rows_do_not(fifty: Bills) -> None:
    fifty.deliver(month(60, cost="0.5"), assembly=NEWER)
    assert "60 rows and a cost of 30" in refused(fifty.load())
    # Also where the costs are gone altogether, and the user allows just that.
    fifty.deliver(csv_text("a,USD,p", header=[name for name in TYPES if "Cost" not in name]), assembly=NEWER)
    assert "a cost of 0" in refused(fifty.load(allow_missing=["lineItem/UnblendedCost"]))


def test_half_is_what_a_month_may_lose_unless_the_settings_say_otherwise(fifty: Bills) -> None:
    fifty.deliver(month(40), assembly=NEWER)
    assert "more than 10 %" in refused(fifty.load(shrink_limit=0.1))
    assert "more than 5 %" in refused(fifty.load(shrink_limits={"bill": 0.05}))
    assert fifty.load(shrink_limit=0.1, shrink_limits={"bill": 0.3}).state == "loaded"


def test_a_ledger_that_knows_no_figures_leaves_them_to_the_table(fifty: Bills) -> None:
    fifty.deliver(month(1), assembly=NEWER)
    error = refused(fifty.load(workdir=str(fifty.folder / "another")))
    assert "50 rows and a cost of 100" in error


def test_a_month_that_is_not_over_may_shrink(fifty: Bills, monkeypatch: pytest.MonkeyPatch) -> None:
    fifty.deliver(month(1), assembly=NEWER)
    monkeypatch.setattr(RunContext, "now", datetime(2026, 9, 30, tzinfo=UTC))
    assert fifty.load().rows == 1


def test_a_listed_file_of_no_bytes_is_a_missing_file(bills: Bills) -> None:
    bills.deliver(month(50), month(5, start=50))
    assert bills.load().rows == 55
    [_, second] = bills.deliver(month(50), month(5, start=50), assembly=NEWER)
    second.write_bytes(b"")
    error = refused(bills.load())
    assert "bill-00002.csv.gz (0 bytes)" in error
    assert "never replaces a complete one" in error
    assert bills.rows("count(*)") == [(55,)]


def test_a_new_month_with_a_file_of_no_bytes_is_incomplete_and_never_ticked(bills: Bills) -> None:
    [_, second] = bills.deliver(month(50), month(5, start=50))
    whole = second.read_bytes()
    second.write_bytes(b"")
    assert "0 bytes" in refused(bills.load(strict=True))
    for _ in range(2):
        report = bills.load()
        assert (report.state, report.rows, report.complete, report.reconciled) == ("loaded", 50, False, False)
    second.write_bytes(whole)
    report = bills.load()
    assert (report.state, report.rows, report.complete, report.reconciled) == ("loaded", 55, True, True)


def test_figures_are_told_to_the_last_digit() -> None:
    assert str(MonthFigures(1, Decimal("12345678901234567890.123456789012345678"))) == (
        "1 row and a cost of 12345678901234567890.123456789012345678"
    )
    assert str(MonthFigures(1200, Decimal("2.50"))) == "1,200 rows and a cost of 2.5"
    assert str(MonthFigures(0)) == "0 rows"
