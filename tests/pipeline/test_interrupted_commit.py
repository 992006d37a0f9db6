"""A load that died in its commit, seen by those who come before the next writer: `reconcile`, `status`, `history`.

The table is what its journal says it is. Nothing is moved or removed by a command that only looks.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pipeline.conftest import Bills, csv_text
from tests.support.file_trees import everything

import lakebed
from lakebed import checkpoints

OLD = csv_text("1,10,USD,prod", "2,20,USD,prod")
NEW = csv_text("1,11,USD,prod", "2,22,USD,prod", "3,33,USD,test")
# From the moment that the record is written until it says that all is done.
PENDING = ["recorded", "put", "replaced", "deleted"]
KILLED_IN_COMMIT = {"parquet": PENDING, "duckdb": ["committed"], "iceberg": ["committed"]}


class Died(BaseException):
    """Nobody expects it, so nobody clears up."""


def die_at(step: str, act: Callable[[], object]) -> None:
    def watch(passed: str) -> None:
        if passed == step or passed.startswith(f"{step} "):
            raise Died

    checkpoints.watch_checkpoints(watch)
    try:
        with pytest.raises(Died):
            act()
    finally:
        checkpoints._WATCHERS.remove(watch)


def address(bills: Bills, kind: str) -> str:
    places = {"parquet": f"parquet:{bills.folder / 'costs'}", "iceberg": "iceberg:billing.bill"}
    return places.get(kind, f"{bills.target}#bill")


def interrupted(bills: Bills, kind: str, step: str) -> str:
    """A table with a month, whose newer delivery died at this step of its commit."""
    table = address(bills, kind)
    bills.deliver(OLD, assembly="20261003T000000Z")
    lakebed.run(bills.folder / "bucket", table)
    bills.deliver(NEW, assembly="20261004T000000Z")
    die_at(step, lambda: lakebed.run(bills.folder / "bucket", table))
    return table


CELLS = [(kind, step) for kind, steps in KILLED_IN_COMMIT.items() for step in steps]


@pytest.mark.parametrize(("kind", "step"), CELLS)
def test_reconcile_with_the_source_adds_up_what_was_committed(bills: Bills, kind: str, step: str) -> None:
    table = interrupted(bills, kind, step)
    before = everything(bills.folder)
    [load] = lakebed.reconcile(table, source=bills.folder / "bucket").loads
    assert (load.holds, load.delivery) == (True, "20261004T000000Z")
    assert load.reconciliation is not None
    assert load.reconciliation.table.rows == 3
    assert everything(bills.folder) == before


@pytest.mark.parametrize(("kind", "step"), CELLS)
def test_reconcile_with_the_ledger_says_which_delivery_the_table_holds(bills: Bills, kind: str, step: str) -> None:
    table = interrupted(bills, kind, step)
    before = everything(bills.folder)
    [load] = lakebed.reconcile(table).loads
    assert (load.holds, load.delivery, load.held) == (False, "20261003T000000Z", "20261004T000000Z")
    assert load.to_dict()["held_delivery"] == "20261004T000000Z"
    assert everything(bills.folder) == before
    assert lakebed.run(bills.folder / "bucket", table).deliveries[0].reconciled
    [load] = lakebed.reconcile(table).loads
    assert (load.holds, load.delivery, load.held) == (True, "20261004T000000Z", "20261004T000000Z")


@pytest.mark.parametrize(("kind", "step"), CELLS)
def test_a_ledger_rebuilt_from_it_knows_what_was_committed(bills: Bills, kind: str, step: str, tmp_path: Path) -> None:
    table = interrupted(bills, kind, step)
    catalog = everything(bills.folder / "costs"), everything(bills.folder / ".costs.txn")
    known = lakebed.status(rebuild=table)
    loaded = [(one.delivery, one.rows) for one in known.loads if one.state == "loaded"]
    assert loaded == [("20261004T000000Z", 3)]
    assert (everything(bills.folder / "costs"), everything(bills.folder / ".costs.txn")) == catalog
    report = lakebed.run(bills.folder / "bucket", table)
    assert report.rows == 3
    assert [one.state for one in report.deliveries] == ["loaded"]
    assert [load.delivery for load in lakebed.reconcile(table, source=bills.folder / "bucket").loads if load.holds] == [
        "20261004T000000Z"
    ]


@pytest.mark.parametrize("kind", KILLED_IN_COMMIT)
def test_the_history_of_a_load_that_died_is_in_the_table(bills: Bills, kind: str) -> None:
    table = address(bills, kind)
    bills.deliver(OLD)
    step = {"parquet": "retired", "duckdb": "committed", "iceberg": "created"}[kind]
    die_at(step, lambda: lakebed.run(bills.folder / "bucket", table))
    before = everything(bills.folder)
    seen = lakebed.history(table).changes
    assert [(one.change.kind, one.change.column) for one in seen][:2] == [
        ("created", "identity_line_item_id"),
        ("created", "line_item_unblended_cost"),
    ]
    assert {(one.delivery, one.slice.period if one.slice else None) for one in seen} == {
        ("20261003T000000Z", "2026-09")
    }
    assert everything(bills.folder) == before
    lakebed.run(bills.folder / "bucket", table)
    again = lakebed.history(table).changes
    assert [one.change for one in again] == [one.change for one in seen]
