"""What a slice holds, and what to do with a delivery of it: `run` acts on the decision, `plan` prints it."""

from collections.abc import Iterable
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
    files: tuple[str, ...] | None = None  # of plain files; None where they are not known


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to a delivery, and why, in words for the user."""

    action: Action
    reason: str
    replaces: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Consent:
    """What the user has said yes to beforehand.

    `reload` loads again what is loaded already, `replace` takes other plain files in place of the loaded ones, and
    `accept_shrink` takes a closed month that has lost much of its rows or of its cost.
    """

    reload: bool = False
    replace: bool = False
    accept_shrink: bool = False


NO_CONSENT = Consent()


def decide(
    delivery: Delivery, current: CurrentDelivery | None, *, strict: bool = False, consent: Consent = NO_CONSENT
) -> Decision:
    """A newer delivery replaces its slice; the same one, or an older one, changes nothing.

    An incomplete delivery loads what is there, but never takes the place of a complete one, and is refused when strict.
    Plain files never take the place of others unasked: nothing says that they are the whole month.
    """
    missing = f"{len(delivery.missing)} of {len(delivery.files) + len(delivery.missing)} files are missing"
    if strict and not delivery.complete:
        return Decision(
            "refuse", f"{missing} ({delivery.missing_names[0]}), and --strict refuses an incomplete delivery"
        )
    if delivery.missing and not delivery.files:
        return Decision("refuse", f"none of its {len(delivery.missing)} files is there ({delivery.missing_names[0]})")
    if current is None:
        return Decision("load", "new" if delivery.complete else f"new, but {missing}")
    same = current.id == delivery.id
    if same and not consent.reload:
        if current.complete or not delivery.complete:
            return Decision("skip", "already loaded")
        return Decision("replace", "its missing files have arrived", replaces=current.id)
    if delivery.kind == "plain" and not same and not consent.replace and (reason := _other_files(delivery, current)):
        return Decision("refuse", reason, remedy="--replace takes the new files in place of the loaded ones.")
    if _is_older(delivery, current) and not (consent.reload or (delivery.kind == "plain" and consent.replace)):
        return Decision("skip", f"the table holds the newer delivery {current.id}")
    if not delivery.complete and current.complete:
        return Decision(
            "refuse",
            f"{missing} ({delivery.missing_names[0]}), and the table holds the complete delivery {current.id}; "
            "an incomplete delivery never replaces a complete one",
        )
    if same:
        return Decision("replace", "loaded again, as --reload asks", replaces=current.id)
    return Decision("replace", f"newer than the loaded delivery {current.id}", replaces=current.id)


def _other_files(delivery: Delivery, current: CurrentDelivery) -> str | None:
    """Why plain files must not take the place of what is loaded: None where every loaded file is among them."""
    if current.files is None:
        return (
            f"the table holds delivery {current.id} for this report and period, of files that the ledger does not "
            f"know; the new ones are {_some(file.uri for file in delivery.files)}"
        )
    lost = set(current.files) - {file.uri for file in delivery.files}
    if not lost:
        return None
    return (
        "other files are loaded for this report and period, and these would take their place. "
        f"Loaded: {_some(current.files)}. New: {_some(file.uri for file in delivery.files)}"
    )


def _some(uris: Iterable[str]) -> str:
    listed = list(uris)
    return ", ".join(listed[:10]) + (f" and {len(listed) - 10} more" if len(listed) > 10 else "")


def _is_older(delivery: Delivery, current: CurrentDelivery) -> bool:
    if delivery.created_at is None or current.created_at is None:
        return False
    return delivery.created_at < current.created_at


def doubt_after_other_writers(target: Target, state: TableState, ledger: Ledger) -> None:
    """Has the ledger doubt what it remembers of a table that another writer has changed since we left it."""
    left = ledger.version_left(target.address)
    if state.exists and left is not None and left != state.seen:
        ledger.doubt_loads(target.address, state.seen)


def current_delivery(target: Target, state: TableState, slice_: Slice, ledger: Ledger) -> CurrentDelivery | None:
    """The delivery whose rows the slice holds, or None where it holds none.

    The table is the truth, the ledger its memory: a load that the ledger knows counts while the table has rows there,
    so that a table that was removed is loaded again. A table that the ledger has never seen is read itself.
    """
    if not state.exists:
        return None
    record = ledger.current_load(target.address, slice_)
    if record is not None:
        # A version that we did not leave, or a doubt that is left from such a time, means that it must be counted.
        may_be_gone = record.reconciled is None or ledger.version_left(target.address) != state.seen
        if record.rows > 0 and may_be_gone and target.totals(slice_, ()).rows == 0:
            return None
        seen = ledger.delivery(slice_, record.delivery)
        created = seen.created_at if seen is not None else parse_moment(record.delivery)
        files = seen.file_uris if seen is not None else None
        return CurrentDelivery(record.delivery, record.complete, created, files)
    if ledger.loads(target.address):
        return None
    for load in describe_table(target, state).loads:
        if load.slice == slice_:
            return CurrentDelivery(load.delivery, complete=True, created_at=parse_moment(load.delivery))
    return None
