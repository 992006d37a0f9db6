"""That a month adds up is said of what was counted now, never remembered; and what does not is loaded again."""

import shutil
from typing import Any

import pytest
from tests.pipeline.conftest import TYPES, Bills, csv_text

import lakebed
from lakebed.errors import StateError
from lakebed.model import Delivery, Totals
from lakebed.pipeline.progress import Observer
from lakebed.targets.duckdb.target import DuckDBTarget

COST = "line_item_unblended_cost"


@pytest.fixture
def loaded(bills: Bills) -> Bills:
    for number, period in enumerate(("2026-08", "2026-09")):
        text = csv_text(*(f"{row},{number + 1}.5,USD,prod" for row in range(10)))
        bills.deliver(text, period=period, assembly=f"2026100{number + 3}T000000Z")
    assert all(one.reconciled for one in bills.run().deliveries)
    return bills


def verdicts(bills: Bills, **settings: object) -> dict[str, bool | None]:
    return {one.period: one.reconciled for one in bills.run(**settings).deliveries}


def test_nothing_is_counted_again_while_nobody_else_writes(loaded: Bills, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    totals = DuckDBTarget.totals

    def counting(self: DuckDBTarget, *asked: Any, **how: Any) -> Totals:
        counted.append(asked[0].period)
        return totals(self, *asked, **how)

    monkeypatch.setattr(DuckDBTarget, "totals", counting)
    for _ in range(2):
        report = loaded.run()
        assert all(one.skipped and one.reconciled and not one.warnings for one in report.deliveries)
        assert report.failed == ()
    assert counted == []
    # Reading is no change, another month of ours neither.
    assert len(loaded.rows()) == 20
    loaded.deliver(csv_text("1,1,USD,prod"), period="2026-10", assembly="20261105T000000Z")
    assert loaded.run(period="2026-10").deliveries[0].reconciled
    assert set(counted) == {"2026-10"}
    counted.clear()
    loaded.run()
    assert counted == []
    # Whatever another writes into the file may have been a change of these rows; one count is enough to know.
    loaded.execute("CREATE TABLE theirs (n INT)")
    for expected in ({"2026-08", "2026-09", "2026-10"}, set()):
        assert set(verdicts(loaded).values()) == {True}
        assert set(counted) == expected
        counted.clear()


@pytest.mark.parametrize(
    "statement", [f"UPDATE bill SET {COST} = 9 WHERE lakebed_period = '2026-08'", "CREATE TABLE theirs (n INT)"]
)
def test_what_is_changed_while_another_month_is_loaded_is_counted_again(loaded: Bills, statement: str) -> None:
    class Overtaken(Observer):
        def committing(self, delivery: Delivery) -> None:
            loaded.execute(statement)

    loaded.deliver(csv_text("1,1,USD,prod"), period="2026-10", assembly="20261105T000000Z")
    assert loaded.run(period="2026-10", observer=Overtaken()).deliveries[0].reconciled
    expected = "UPDATE" not in statement
    for _ in range(2):
        assert verdicts(loaded) == {"2026-10": True, "2026-09": True, "2026-08": expected}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM bill WHERE lakebed_period = '2026-08' AND identity_line_item_id = '3'",
        "INSERT INTO bill SELECT * FROM bill WHERE lakebed_period = '2026-08' LIMIT 1",
        f"UPDATE bill SET {COST} = 9 WHERE lakebed_period = '2026-08' AND identity_line_item_id = '3'",
        "UPDATE bill SET line_item_currency_code = 'EUR' WHERE lakebed_period = '2026-08'",
    ],
    ids=["deleted", "doubled", "changed", "another currency"],
)
def test_what_another_writer_changed_no_longer_adds_up_until_it_is_loaded_again(loaded: Bills, statement: str) -> None:
    loaded.execute(statement)
    for _ in range(2):
        report = loaded.run()
        assert {one.period: one.reconciled for one in report.deliveries} == {"2026-09": True, "2026-08": False}
        [failed] = report.failed
        assert "lakebed run --reload --period 2026-08" in " ".join(failed.warnings)
    assert not lakebed.reconcile(loaded.target).holds
    again = loaded.run(reload=True, period="2026-08")
    assert [(one.state, one.rows, one.reconciled, one.skipped) for one in again.deliveries] == [
        ("loaded", 10, True, False)
    ]
    assert verdicts(loaded) == {"2026-09": True, "2026-08": True}
    assert lakebed.reconcile(loaded.target).holds


@pytest.mark.parametrize("period", ["2026-10", None])
def test_a_load_of_another_month_does_not_cover_up_what_was_changed_before_it(
    loaded: Bills, period: str | None
) -> None:
    loaded.execute("DELETE FROM bill WHERE lakebed_period = '2026-08' AND identity_line_item_id = '3'")
    loaded.deliver(csv_text("a,1,USD,prod"), period="2026-10", assembly="20261104T000000Z")
    first = verdicts(loaded, period=period)
    assert first["2026-10"]
    assert first.get("2026-08") is not True
    assert verdicts(loaded) == {"2026-10": True, "2026-09": True, "2026-08": False}


def test_a_column_that_another_writer_dropped_is_found(loaded: Bills) -> None:
    loaded.execute("ALTER TABLE bill DROP COLUMN resource_tags_user_environment")
    report = lakebed.reconcile(loaded.target, period="2026-09")
    assert not report.holds
    [load] = report.to_dict()["loads"]  # type: ignore[misc]
    assert load["lostColumns"] == ["resource_tags_user_environment"]
    assert load["differences"] == []
    assert verdicts(loaded) == {"2026-09": False, "2026-08": False}
    assert not lakebed.reconcile(loaded.target, source=loaded.folder / "bucket").holds
    assert all(one.reconciled for one in loaded.run(reload=True).deliveries)
    assert lakebed.reconcile(loaded.target).holds


def test_a_dropped_column_of_money_is_a_difference_and_no_crash(loaded: Bills) -> None:
    loaded.execute(f"ALTER TABLE bill DROP COLUMN {COST}")
    report = lakebed.reconcile(loaded.target)
    assert [one.reconciliation.lost_columns for one in report.loads if one.reconciliation] == [(COST,), (COST,)]
    assert verdicts(loaded) == {"2026-09": False, "2026-08": False}


def test_a_column_that_was_renamed_is_not_lost(loaded: Bills) -> None:
    loaded.execute("ALTER TABLE bill RENAME COLUMN resource_tags_user_environment TO stage")
    assert lakebed.reconcile(loaded.target).holds


def test_without_a_ledger_the_source_files_are_read_again(loaded: Bills) -> None:
    shutil.rmtree(loaded.folder / ".lakebed")
    with pytest.raises(StateError, match="--source"):
        lakebed.reconcile(loaded.target)
    bucket = loaded.folder / "bucket"
    report = lakebed.reconcile(loaded.target, source=bucket)
    assert report.holds
    assert [(one.slice.period, one.delivery) for one in report.loads] == [
        ("2026-09", "20261004T000000Z"),
        ("2026-08", "20261003T000000Z"),
    ]
    loaded.execute(f"UPDATE bill SET {COST} = 9 WHERE lakebed_period = '2026-08' AND identity_line_item_id = '3'")
    changed = lakebed.reconcile(loaded.target, source=bucket)
    assert [one.holds for one in changed.loads] == [True, False]
    assert not (loaded.folder / ".lakebed").exists()
    # What the source no longer has cannot be compared, and that is no tick.
    shutil.rmtree(next((bucket / "billing" / "bill").glob("20260801-*")))
    assert [one.reconciliation is None for one in lakebed.reconcile(loaded.target, source=bucket).loads] == [
        False,
        True,
    ]


def test_a_rebuilt_ledger_says_that_it_does_not_know(loaded: Bills) -> None:
    shutil.rmtree(loaded.folder / ".lakebed")
    assert verdicts(loaded) == {"2026-09": None, "2026-08": None}
    assert [one.reconciled for one in loaded.run(reload=True).deliveries] == [True, True]
    assert verdicts(loaded) == {"2026-09": True, "2026-08": True}


def test_reload_takes_what_the_source_has_and_never_less_than_a_whole_delivery(loaded: Bills) -> None:
    [path] = (loaded.folder / "bucket").rglob("20261004T000000Z/*.csv.gz")
    path.write_bytes(b"")
    report = next(one for one in loaded.run(reload=True).deliveries if one.period == "2026-09")
    assert report.state == "failed"
    assert loaded.rows("count(*)") == [(20,)]
    assert [one.action for one in lakebed.plan(loaded.folder / "bucket", loaded.target, reload=True).deliveries] == [
        "refuse",
        "replace",
    ]


def test_a_reload_that_fails_leaves_the_month_loaded_and_known(loaded: Bills) -> None:
    [path] = (loaded.folder / "bucket").rglob("20261004T000000Z/*.csv.gz")
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    [failed] = loaded.run(reload=True, period="2026-09").deliveries
    assert failed.state == "failed"
    assert lakebed.reconcile(loaded.target).holds
    assert len(lakebed.reconcile(loaded.target).loads) == 2
    # An incomplete delivery still meets a complete one.
    [_, second] = loaded.deliver("", "", period="2026-09", assembly="20261009T000000Z")
    second.unlink()
    [incomplete] = loaded.run(period="2026-09").deliveries
    assert "never replaces a complete one" in str(incomplete.error)
    assert loaded.rows("count(*)") == [(20,)]


def test_other_files_of_a_report_and_period_are_refused_with_both_lists(bills: Bills) -> None:
    for name, rows in (("first", 4), ("second", 1)):
        (bills.folder / name).mkdir()
        text = csv_text(*(f"{row},1,USD,prod" for row in range(rows)), header=tuple(TYPES))
        (bills.folder / name / "bill.csv").write_text(text)

    def load(folder: str, **settings: object) -> lakebed.DeliveryReport:
        source = bills.folder / folder
        report = lakebed.run(source, f"{bills.target}#bill", report="bill", period="2026-10", **settings)  # type: ignore[arg-type]
        return report.deliveries[0]

    assert load("first").rows == 4
    refused = load("second", accept_shrink=True)
    assert refused.state == "failed"
    for text in ("first/bill.csv", "second/bill.csv", "--replace"):
        assert text in str(refused.error)
    assert bills.rows("count(*)") == [(4,)]
    [planned] = lakebed.plan(
        bills.folder / "second", f"{bills.target}#bill", report="bill", period="2026-10"
    ).deliveries
    assert planned.action == "refuse"
    # A new ledger does not know the files, and says that.
    unknown = load("second", accept_shrink=True, workdir=str(bills.folder / "another"))
    assert "does not know" in str(unknown.error)
    assert load("second", replace=True, accept_shrink=True).rows == 1
    # The files that were loaded first are others now, whatever their age.
    assert load("first").state == "failed"
    assert load("first", replace=True).rows == 4
    # A file that was corrected, or one more beside it, is the same folder in a newer state.
    (bills.folder / "first" / "more.csv").write_text(csv_text("x,1,USD,prod"))
    assert load("first").rows == 5


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "iceberg"])
def test_a_ledger_rebuilt_from_the_table_knows_every_name_of_a_column(bills: Bills, kind: str) -> None:
    """Seeds 5 and 13 of `test_a_new_ledger_names_alike`, through the whole pipeline."""
    target = "iceberg:billing.costs" if kind == "iceberg" else f"{kind}:{bills.folder / kind}"
    spellings = ("line_item_cost", "lineItem/Cost", "line item cost")

    def load(number: int, spelling: str) -> None:
        folder = bills.folder / f"month-{number}"
        folder.mkdir()
        (folder / "bill.csv").write_text(csv_text(f"{number},a", header=(spelling, "id")))
        [report] = lakebed.run(
            folder, target, table=None if kind != "duckdb" else "costs", report="costs", period=f"2026-0{number}"
        ).deliveries
        assert (report.state, report.reconciled) == ("loaded", True), report.error

    for number, spelling in enumerate(spellings, start=1):
        load(number, spelling)
    names = lakebed.read(target if kind != "duckdb" else f"{target}#costs").schema.names
    for ledger in (bills.folder / ".lakebed").glob("ledger.db*"):
        ledger.unlink()
    for number, spelling in enumerate(reversed(spellings), start=4):
        load(number, spelling)
    assert lakebed.read(target if kind != "duckdb" else f"{target}#costs").schema.names == names
