"""What happens to a delivery, given what its slice holds."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Delivery, Slice, SourceFile
from lakebed.pipeline.decide import CurrentDelivery, Decision, current_delivery, decide
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import NOVEMBER, OCTOBER, Loader, rows

FILE = SourceFile("/x/a.csv", "a.csv", "csv", "none", 10)
WHOLE = Delivery(
    Slice("1", "cur", "2026-09"), "new", "cur", "m.json", (), (FILE,), created_at=datetime(2026, 10, 5, tzinfo=UTC)
)
TORN = replace(WHOLE, missing=("b.csv",))
EARLIER = datetime(2026, 10, 1, tzinfo=UTC)
LATER = datetime(2026, 10, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("delivery", "current", "strict", "action"),
    [
        (WHOLE, None, False, "load"),
        (TORN, None, False, "load"),
        (TORN, None, True, "refuse"),
        (WHOLE, CurrentDelivery("new", True), False, "skip"),
        (WHOLE, CurrentDelivery("new", False), False, "replace"),
        (TORN, CurrentDelivery("new", False), False, "skip"),
        (WHOLE, CurrentDelivery("old", True, EARLIER), False, "replace"),
        (WHOLE, CurrentDelivery("old", True, None), False, "replace"),
        (WHOLE, CurrentDelivery("newest", True, LATER), False, "skip"),
        (TORN, CurrentDelivery("old", True, EARLIER), False, "refuse"),
        (TORN, CurrentDelivery("old", False, EARLIER), False, "replace"),
    ],
)
def test_decisions(delivery: Delivery, current: CurrentDelivery | None, strict: bool, action: str) -> None:
    assert decide(delivery, current, strict=strict).action == action


def test_a_refusal_names_the_missing_file_and_the_delivery_that_stays() -> None:
    reason = decide(TORN, CurrentDelivery("old", True, EARLIER)).reason
    assert "1 of 2 files are missing (b.csv)" in reason
    assert "complete delivery old" in reason


@pytest.mark.parametrize(
    ("delivery", "current", "strict", "expected"),
    [
        (WHOLE, None, True, Decision("load", "new")),
        (TORN, None, False, Decision("load", "new, but 1 of 2 files are missing")),
        (
            TORN,
            None,
            True,
            Decision("refuse", "1 of 2 files are missing (b.csv), and --strict refuses an incomplete delivery"),
        ),
        (replace(TORN, files=()), None, False, Decision("refuse", "none of its 1 files is there (b.csv)")),
        (replace(WHOLE, files=()), None, False, Decision("load", "new")),
        (WHOLE, CurrentDelivery("new", True), True, Decision("skip", "already loaded")),
        (TORN, CurrentDelivery("new", True), False, Decision("skip", "already loaded")),
        (WHOLE, CurrentDelivery("new", False), False, Decision("replace", "its missing files have arrived", "new")),
        (
            WHOLE,
            CurrentDelivery("newest", True, LATER),
            False,
            Decision("skip", "the table holds the newer delivery newest"),
        ),
        (
            TORN,
            CurrentDelivery("newest", True, LATER),
            False,
            Decision("skip", "the table holds the newer delivery newest"),
        ),
        (
            WHOLE,
            CurrentDelivery("old", True, EARLIER),
            False,
            Decision("replace", "newer than the loaded delivery old", "old"),
        ),
        # Two deliveries of the same moment: the one that was found now counts as the newer.
        (
            WHOLE,
            CurrentDelivery("old", True, WHOLE.created_at),
            False,
            Decision("replace", "newer than the loaded delivery old", "old"),
        ),
        (
            replace(WHOLE, created_at=None),
            CurrentDelivery("old", True, LATER),
            False,
            Decision("replace", "newer than the loaded delivery old", "old"),
        ),
    ],
)
def test_a_decision_says_why(
    delivery: Delivery, current: CurrentDelivery | None, strict: bool, expected: Decision
) -> None:
    assert decide(delivery, current, strict=strict) == expected


# What a slice holds: a real table, and a real ledger that knows of it or does not.


@pytest.fixture
def table(tmp_path: Path) -> ParquetTarget:
    return ParquetTarget(str(tmp_path / "t"))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.db") as opened:
        yield opened


def load(table: ParquetTarget, slice_: Slice, id_: str, *, count: int = 1, replacing: Slice | None = None) -> str:
    loader = Loader(table, StorageSettings(), ("lakebed_period",))
    return loader.load(rows(slice_, range(count), delivery=id_), replacing=replacing).version


def remember(ledger: Ledger, table: ParquetTarget, slice_: Slice, id_: str, **outcome: object) -> None:
    facts = {"rows": 1, "files": 1, "seconds": 0.0, "version": table.state().version, **outcome}
    with ledger.claim_load(table.address, slice_) as claim:
        ledger.begin_load(claim, table.address, slice_, id_)
        ledger.finish_load(claim, table.address, slice_, id_, LoadOutcome(**facts))  # type: ignore[arg-type]


def held(table: ParquetTarget, ledger: Ledger, slice_: Slice = OCTOBER) -> CurrentDelivery | None:
    return current_delivery(table, table.state(), slice_, ledger)


def test_a_table_that_is_not_there_holds_nothing_whatever_the_ledger_says(table: ParquetTarget, ledger: Ledger) -> None:
    remember(ledger, table, OCTOBER, "20261101T000000Z")
    assert held(table, ledger) is None


def test_the_ledger_remembers_when_a_delivery_was_made(table: ParquetTarget, ledger: Ledger) -> None:
    load(table, OCTOBER, "d1")
    remember(ledger, table, OCTOBER, "d1", complete=False)
    assert held(table, ledger) == CurrentDelivery("d1", False, None)
    ledger.record_discovered([replace(WHOLE, slice=OCTOBER, id="d1")], source="s")
    assert held(table, ledger) == CurrentDelivery("d1", False, WHOLE.created_at)
    remember(ledger, table, OCTOBER, "20261101T000000Z")
    assert held(table, ledger) == CurrentDelivery("20261101T000000Z", True, datetime(2026, 11, 1, tzinfo=UTC))


def test_rows_that_another_writer_removed_are_loaded_again(table: ParquetTarget, ledger: Ledger) -> None:
    load(table, OCTOBER, "d1")
    remember(ledger, table, OCTOBER, "d1")
    load(table, NOVEMBER, "d2", replacing=OCTOBER)
    assert held(table, ledger) is None
    # Another month that is loaded in between does not make the doubt go away.
    remember(ledger, table, NOVEMBER, "d2")
    assert held(table, ledger) is None


def test_a_delivery_without_rows_stays_loaded(table: ParquetTarget, ledger: Ledger) -> None:
    load(table, NOVEMBER, "d2")
    remember(ledger, table, OCTOBER, "d1", rows=0, version="another")
    assert held(table, ledger) == CurrentDelivery("d1", True)


def test_another_writer_s_rows_elsewhere_change_nothing(table: ParquetTarget, ledger: Ledger) -> None:
    load(table, OCTOBER, "d1")
    remember(ledger, table, OCTOBER, "d1")
    load(table, NOVEMBER, "d2")
    assert held(table, ledger) == CurrentDelivery("d1", True)


def test_a_table_that_the_ledger_never_saw_says_itself_what_it_holds(table: ParquetTarget, ledger: Ledger) -> None:
    load(table, OCTOBER, "20261101T000000Z")
    assert held(table, ledger) == CurrentDelivery("20261101T000000Z", True, datetime(2026, 11, 1, tzinfo=UTC))
    assert held(table, ledger, NOVEMBER) is None
    # A ledger that knows the table knows all of its slices.
    remember(ledger, table, NOVEMBER, "d2")
    assert held(table, ledger) is None
