"""What to do with a delivery, given what its slice holds already: `run` acts on the decision, `plan` prints it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from lakebed.model import Delivery

Action: TypeAlias = Literal["load", "replace", "skip", "refuse"]


@dataclass(frozen=True, slots=True)
class Held:
    """What a slice of the table holds now."""

    delivery: str
    rows: int
    complete: bool
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to a delivery, and why, in words for the user."""

    action: Action
    reason: str
    replaces: str | None = None


def decide(delivery: Delivery, held: Held | None, *, strict: bool = False) -> Decision:
    """A newer delivery replaces its slice; the same one, or an older one, changes nothing.

    An incomplete delivery loads what is there, but never takes the place of a complete one, and is refused when strict.
    """
    missing = f"{len(delivery.missing)} of {len(delivery.files) + len(delivery.missing)} files are missing"
    if strict and not delivery.complete:
        return Decision("refuse", f"{missing} ({delivery.missing[0]}), and --strict refuses an incomplete delivery")
    if delivery.missing and not delivery.files:
        return Decision("refuse", f"none of its {len(delivery.missing)} files is there ({delivery.missing[0]})")
    if held is None:
        return Decision("load", "new" if delivery.complete else f"new, but {missing}")
    if held.delivery == delivery.id:
        if held.complete or not delivery.complete:
            return Decision("skip", "already loaded")
        return Decision("replace", "its missing files have arrived", replaces=held.delivery)
    if _is_older(delivery, held):
        return Decision("skip", f"the table holds the newer delivery {held.delivery}")
    if not delivery.complete and held.complete:
        return Decision(
            "refuse",
            f"{missing} ({delivery.missing[0]}), and the table holds the complete delivery {held.delivery}; "
            "an incomplete delivery never replaces a complete one",
        )
    return Decision("replace", f"newer than the loaded delivery {held.delivery}", replaces=held.delivery)


def _is_older(delivery: Delivery, held: Held) -> bool:
    return delivery.created_at is not None and held.created_at is not None and delivery.created_at < held.created_at
