"""What a slice holds, and what to do with a delivery of it: `run` acts on the decision, `plan` prints it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from lakebed.model import Delivery, Slice
from lakebed.source.deliveries import parse_moment
from lakebed.state.ledger import Ledger
from lakebed.state.rebuild import describe_table
from lakebed.targets.base import TableState, Target

Action: TypeAlias = Literal["load", "replace", "skip", "refuse"]


@dataclass(frozen=True, slots=True)
class CurrentDelivery:
    """The delivery whose rows a slice of the table holds now."""

    id: str
    complete: bool
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to a delivery, and why, in words for the user."""

    action: Action
    reason: str
    replaces: str | None = None


def decide(delivery: Delivery, current: CurrentDelivery | None, *, strict: bool = False) -> Decision:
    """A newer delivery replaces its slice; the same one, or an older one, changes nothing.

    An incomplete delivery loads what is there, but never takes the place of a complete one, and is refused when strict.
    """
    missing = f"{len(delivery.missing)} of {len(delivery.files) + len(delivery.missing)} files are missing"
    if strict and not delivery.complete:
        return Decision("refuse", f"{missing} ({delivery.missing[0]}), and --strict refuses an incomplete delivery")
    if delivery.missing and not delivery.files:
        return Decision("refuse", f"none of its {len(delivery.missing)} files is there ({delivery.missing[0]})")
    if current is None:
        return Decision("load", "new" if delivery.complete else f"new, but {missing}")
    if current.id == delivery.id:
        if current.complete or not delivery.complete:
            return Decision("skip", "already loaded")
        return Decision("replace", "its missing files have arrived", replaces=current.id)
    if _is_older(delivery, current):
        return Decision("skip", f"the table holds the newer delivery {current.id}")
    if not delivery.complete and current.complete:
        return Decision(
            "refuse",
            f"{missing} ({delivery.missing[0]}), and the table holds the complete delivery {current.id}; "
            "an incomplete delivery never replaces a complete one",
        )
    return Decision("replace", f"newer than the loaded delivery {current.id}", replaces=current.id)


def _is_older(delivery: Delivery, current: CurrentDelivery) -> bool:
    if delivery.created_at is None or current.created_at is None:
        return False
    return delivery.created_at < current.created_at


def current_delivery(target: Target, state: TableState, slice_: Slice, ledger: Ledger) -> CurrentDelivery | None:
    """The delivery whose rows the slice holds, or None where it holds none.

    The table is the truth, the ledger its memory: a load that the ledger knows counts while the table has rows there,
    so that a table that was removed is loaded again. A table that the ledger has never seen is read itself.
    """
    if not state.exists:
        return None
    record = ledger.current_load(target.address, slice_)
    if record is not None:
        may_be_gone = record.rows > 0 and not _is_as_last_loaded(target, state, ledger)
        if may_be_gone and target.totals(slice_, ()).rows == 0:
            return None
        seen = ledger.delivery(slice_, record.delivery)
        created = seen.created_at if seen is not None else parse_moment(record.delivery)
        return CurrentDelivery(record.delivery, record.complete, created)
    if ledger.loads(target.address):
        return None
    for load in describe_table(target, state).loads:
        if load.slice == slice_:
            return CurrentDelivery(load.delivery, complete=True, created_at=parse_moment(load.delivery))
    return None


def _is_as_last_loaded(target: Target, state: TableState, ledger: Ledger) -> bool:
    """No other writer has changed the table since its last load, so that the slices need not be counted one by one."""
    finished = [load for load in ledger.loads(target.address) if load.state == "loaded" and load.finished_at]
    last = max(finished, key=lambda load: load.finished_at or load.started_at, default=None)
    return last is not None and last.version == state.version
