"""Converts several small deliveries in one job, before their turn comes: a job of its own for each leaves cores idle.

Each is claimed, planned on the table as it is now, and converted into a folder of its own. When its turn comes it is
planned again: where the plan is the same, what is converted is committed, else it is thrown away and converted again.
So nothing that is committed depends on what was done ahead, and a failure here is left to the delivery's own turn.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakebed.errors import ClaimHeld, LakebedError
from lakebed.model import Converted, Delivery, Slice, Staging
from lakebed.state.claims import Claim
from lakebed.targets.address import Address
from lakebed.targets.base import Target

if TYPE_CHECKING:
    from lakebed.pipeline.commit import Arrival, PlannedArrival
    from lakebed.pipeline.context import RunContext

log = logging.getLogger(__name__)

# Deliveries of more than this together keep all cores busy by themselves.
MOST_BYTES = 256 << 20


@dataclass
class Prepared:
    """A delivery whose files are staged, claimed for us, and converted or not."""

    delivery: Delivery
    target: Target
    claim: Claim
    steps: dict[str, float] = field(default_factory=dict)
    arrival: "Arrival | None" = None
    staging: Staging | None = None
    converted: Converted | None = None
    is_staged: bool = False  # its files are, and nobody has asked for them yet
    is_claimed: bool = True  # by us, and nobody else has to give it back
    is_used: bool = False  # what was converted is what is committed


@dataclass
class Ahead:
    """What is done before its turn. `prepare` stages a delivery and `plan` plans it, as in its own turn."""

    context: "RunContext"
    prepare: Callable[[Delivery, Address], Delivery | None]
    plan: Callable[[Delivery, Address], "PlannedArrival"]
    _held: dict[Slice, Prepared] = field(default_factory=dict)
    _seen: set[Slice] = field(default_factory=set)

    def look(self, waiting: Sequence[tuple[Delivery, Address]]) -> None:
        """Before the first of these deliveries is loaded: converts it with those that follow, if that saves jobs.

        Whatever fails here fails again in the turn of the delivery that it belongs to, and is reported there.
        """
        try:
            self._convert_ahead(waiting)
        except (LakebedError, OSError) as error:
            log.debug("nothing is converted ahead: %s", error)
            self._give_back([one for one in self._held.values() if one.converted is None])

    def _convert_ahead(self, waiting: Sequence[tuple[Delivery, Address]]) -> None:
        chosen = [] if waiting[0][0].slice in self._seen else self._choose(waiting)
        if len(chosen) < 2:
            return
        for delivery, address in chosen:
            self._seen.add(delivery.slice)
            if not self._prepare(delivery, address):
                break
        ready = [one for one in self._held.values() if one.staging is not None and one.converted is None]
        jobs = [one.arrival.job(one.staging) for one in ready if one.arrival is not None and one.staging is not None]
        if len(jobs) < 2:
            self._give_back(ready)
            return
        started = time.monotonic()
        results = self.context.engine.convert_all(jobs)
        each = round((time.monotonic() - started) / len(ready), 3)
        for one, result in zip(ready, results, strict=True):
            if isinstance(result, Converted):
                one.converted, one.steps["convert"] = result, each
            else:
                log.debug("%s is converted again in its own turn: %s", one.delivery.slice, result)
                self._give_back([one])

    @contextmanager
    def claim(self, target: Target, delivery: Delivery) -> Iterator[Claim]:
        """The right to load a delivery: the one that was taken ahead, or one of now."""
        held = self._held.get(delivery.slice)
        if held is None:
            with self.context.ledger.claim_load(target.address, delivery.slice) as claim:
                yield claim
            return
        try:
            yield held.claim
        finally:
            held.is_claimed = False
            held.claim.release()

    def staged(self, delivery: Delivery) -> Delivery | None:
        """The delivery with its files staged, once: where they have to be read again, they are staged again."""
        held = self._held.get(delivery.slice)
        if held is None or held.delivery.id != delivery.id or not held.is_staged:
            return None
        held.is_staged = False
        return held.delivery

    def take(self, arrival: "Arrival") -> tuple[Staging, Converted] | None:
        """What was converted by this very plan; anything else is thrown away."""
        slice_ = arrival.slice
        held = self._held.get(slice_) if isinstance(slice_, Slice) else None
        if held is None or held.arrival is None or held.staging is None or held.converted is None:
            return None
        staging, converted, before = held.staging, held.converted, held.arrival
        if arrival.evolution != before.evolution or arrival.job(staging) != before.job(staging):
            self._give_back([held])
            return None
        for name, seconds in held.steps.items():
            self.context.steps.credit(name, seconds)
        held.staging = held.converted = None
        held.is_used = True
        return staging, converted

    def spent(self, delivery: Delivery) -> float:
        """The seconds that a delivery took before its turn, where they were not in vain."""
        held = self._held.get(delivery.slice)
        return sum(held.steps.values()) if held is not None and held.is_used else 0.0

    def drop(self, delivery: Delivery) -> None:
        """Its turn is over."""
        held = self._held.get(delivery.slice)
        if held is not None:
            self._release(held)

    def close(self) -> None:
        """Throws away what is left, after a run that did not come to its end."""
        for held in list(self._held.values()):
            self._release(held)

    def _choose(self, waiting: Sequence[tuple[Delivery, Address]]) -> list[tuple[Delivery, Address]]:
        """Of the next ones those that are not loaded, as far as their tables are there and they are small together.

        No more are looked at than may be chosen: a run that finds everything loaded asks of each delivery once.
        """
        chosen: list[tuple[Delivery, Address]] = []
        exists: dict[Address, bool] = {}
        size = 0
        for place, (delivery, address) in enumerate(waiting[: self.context.settings.deliveries_at_once]):
            target = self.context.target(address)
            if not self.context.consent.reload and self._is_loaded(target, delivery):
                if place == 0:
                    break
                continue
            size += delivery.size_bytes
            if size > MOST_BYTES or not delivery.complete:
                break
            if address not in exists:
                exists[address] = target.state().exists
            if not exists[address]:
                break
            chosen.append((delivery, address))
        return chosen

    def _is_loaded(self, target: Target, delivery: Delivery) -> bool:
        loaded = self.context.ledger.current_load(target.address, delivery.slice)
        return loaded is not None and loaded.delivery == delivery.id

    def _prepare(self, delivery: Delivery, address: Address) -> bool:
        """Whether those that follow may be prepared too: not after one that changes the schema they are planned on."""
        context, started = self.context, time.monotonic()
        target = context.target(address)
        try:
            claim = context.ledger.claim_load(target.address, delivery.slice)
        except ClaimHeld:
            return True
        claim.__enter__()
        held = Prepared(delivery, target, claim)
        self._held[delivery.slice] = held
        try:
            staged = self.prepare(delivery, address)
            if staged is None:
                self._release(held)
                return True
            held.delivery, held.is_staged = staged, True
            held.steps["stage"] = round(time.monotonic() - started, 3)
            # Opened again: with a session it may be known that workers have disks of their own.
            held.target = target = context.target(address)
            planned = self.plan(staged, address)
            arrival = planned.arrival
            if arrival.evolution.changes_schema and len(self._held) > 1:
                self._release(held)
                return False
            held.staging = target.stage(planned.state, arrival.evolution, partition_by=arrival.partition_by)
            context.ledger.open_staging(claim, held.staging.folder, table=target.address)
            context.require_shared(held.staging.folder)
            held.arrival = arrival
            return True
        except (LakebedError, OSError) as error:
            log.debug("%s is left to its own turn: %s", delivery.slice, error)
            self._release(held)
            return True

    def _release(self, held: Prepared) -> None:
        del self._held[held.delivery.slice]
        self._give_back([held])
        if held.is_claimed:
            held.claim.release()

    def _give_back(self, prepared: Sequence[Prepared]) -> None:
        """Removes what was written and will not be committed; claims and staged files stay for the delivery's turn."""
        for one in prepared:
            if one.staging is not None:
                one.target.abandon(one.staging)
                self.context.ledger.close_staging(one.staging.folder)
            one.staging = one.arrival = one.converted = None
