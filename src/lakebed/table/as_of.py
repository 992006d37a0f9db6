"""What a table held at a moment: its log of loads says which delivery of each slice, and where its rows are now."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias

from lakebed.errors import ConfigError, NotFound, TargetError
from lakebed.model import DELIVERY, AnySlice, ColumnSlice, Slice
from lakebed.state.rebuild import describe_table
from lakebed.state.records import RebuiltLoad
from lakebed.targets.base import TableState, Target
from lakebed.targets.load_log import LoadLog, LoggedLoad, with_known
from lakebed.targets.shared.refusals import no_such_table

if TYPE_CHECKING:
    from lakebed.state.ledger import Ledger

Moment: TypeAlias = str | date | datetime
"""A day, which means its end, or a moment: `2026-10-05`, `2026-10-05T12:00`; in UTC unless it says otherwise."""


@dataclass(frozen=True)
class HeldRows:
    """The rows of one load that a table held: which, and where they are to be read now."""

    load: LoggedLoad
    target: Target
    slice: AnySlice
    current: bool

    @property
    def where(self) -> str:
        """The place, as users write it."""
        return self.target.address

    def require_rows(self, rows: int) -> None:
        """Raises where nothing is left of what was loaded."""
        if rows == 0 and self.load.rows > 0:
            raise TargetError(
                f"delivery {self.load.delivery} of {self.load.slice} brought {self.load.rows} rows, and none of them "
                f"is in {self.where} any more",
                remedy="Another program has removed them. Load that delivery again into a table of its own.",
            )


def parse_moment(text: Moment) -> datetime:
    """The moment that is meant; of a day its end.

    >>> parse_moment("2026-10-05").isoformat()
    '2026-10-05T23:59:59.999999+00:00'
    """
    given: Moment = text
    if isinstance(given, str):
        try:
            given = date.fromisoformat(given) if len(given) <= len("2026-10-05") else datetime.fromisoformat(given)
        except ValueError:
            raise ConfigError(
                f"{text!r} is neither a day nor a moment", remedy="Write 2026-10-05 or 2026-10-05T12:00."
            ) from None
    if not isinstance(given, datetime):
        return datetime.combine(given, time(), UTC) + timedelta(days=1) - timedelta(microseconds=1)
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def remembered_loads(target: Target, state: TableState, ledger: "Ledger") -> tuple[LoggedLoad, ...]:
    """The loads that a ledger remembers of slices that the table's log does not know, the oldest first.

    A ledger that was rebuilt from the table does not know since when.
    """
    known = [
        record
        for record in ledger.loads(target.address)
        if record.state in ("loaded", "superseded") and record.slice not in state.log.current
    ]
    return tuple(
        LoggedLoad(
            found_id(record.slice, record.delivery),
            record.slice,
            record.delivery,
            record.finished_at if record.plan_hash is not None else None,
            record.rows,
        )
        for record in sorted(known, key=lambda one: (one.state == "loaded", one.finished_at or one.started_at))
    )


def found_id(slice_: Slice, delivery: str) -> str:
    """The name of a load that was made before tables kept a log."""
    text = "\0".join((slice_.payer, slice_.report, slice_.period, delivery))
    return f"found-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


@dataclass(frozen=True)
class TableLoads:
    """What is known of a table's loads: its log, and the deliveries that its rows name."""

    target: Target
    log: LoadLog
    found: tuple[RebuiltLoad, ...]

    @classmethod
    def of(cls, target: Target, ledger: "Ledger") -> "TableLoads":
        """Reads the table. Raises NotFound where there is none."""
        state = target.state()
        if not state.exists:
            raise no_such_table(target.address)
        found = describe_table(target, state).loads
        log = with_known(state.log, remembered_loads(target, state, ledger))
        unknown = (
            LoggedLoad(found_id(one.slice, one.delivery), one.slice, one.delivery, None, one.rows)
            for one in found
            if one.slice not in log.current
        )
        return cls(target, with_known(log, unknown), found)

    def now(self) -> tuple[HeldRows, ...]:
        """What the table holds, by the rows alone."""
        current = self.log.current
        return tuple(self._in_table(_same_or_found(current.get(one.slice), one)) for one in self.found)

    def at(self, moment: datetime) -> tuple[HeldRows, ...]:
        """What it held at a moment. Raises TargetError where that cannot be said, naming the delivery."""
        if moment >= datetime.now(UTC):
            return self.now()
        held = self.log.held_at(moment)
        return tuple(self.rows_of(held[slice_], moment) for slice_ in sorted(held) if held[slice_].delivery is not None)

    def rows_of(self, load: LoggedLoad, moment: datetime | None = None) -> HeldRows:
        """Where the rows of a load are now."""
        after = self.log.successor(load)
        if load.at is None and moment is not None:
            raise TargetError(
                f"nothing says since when delivery {load.delivery} of {load.slice} is in {self.target.address}",
                remedy="It was loaded before tables kept a log, and its ledger is lost. Ask for a day after the next "
                "load of that month, or for the table as it is.",
            )
        if after is None:
            return self._current(load)
        if not load.kept:
            until = "" if after.at is None else f" until {after.at:%Y-%m-%d %H:%M} UTC"
            since = "" if load.at is None else f" from {load.at:%Y-%m-%d %H:%M}"
            raise TargetError(
                f"delivery {load.delivery} of {load.slice} was in {self.target.address}{since}{until}, and its rows "
                "were not retained",
                remedy='From now on --retain all (or retain = "12 months" in lakebed.toml) keeps what newer deliveries '
                "replace. That delivery itself can be loaded into a table of its own while its files are there.",
            )
        kept = self.target.kept_rows(load)
        return HeldRows(load, kept.target, kept.slice, current=False)

    def _current(self, load: LoggedLoad) -> HeldRows:
        others = [one.delivery for one in self.found if one.slice == load.slice and one.delivery != load.delivery]
        if others:
            raise TargetError(
                f"{self.target.address} holds rows of delivery {others[0]} of {load.slice}, though {load.delivery} was "
                "the last that was loaded",
                remedy="Another program has written them. `lakebed reconcile` says what is wrong, `lakebed run "
                "--reload` loads the month again.",
            )
        return self._in_table(load)

    def _in_table(self, load: LoggedLoad) -> HeldRows:
        return HeldRows(load, self.target, ColumnSlice({**load.slice.values, DELIVERY: load.delivery}), current=True)


def _same_or_found(load: LoggedLoad | None, found: RebuiltLoad) -> LoggedLoad:
    if load is not None and load.delivery == found.delivery:
        return load
    return LoggedLoad(found_id(found.slice, found.delivery), found.slice, found.delivery, None, found.rows)


def count_rows(held: Iterable[HeldRows]) -> int:
    """How many rows that is; nothing of a load may be gone."""
    total = 0
    for one in held:
        try:
            rows = one.target.totals(one.slice, ()).rows
        except NotFound as gone:
            raise gone_error(one, gone) from gone
        one.require_rows(rows)
        total += rows
    return total


def gone_error(held: HeldRows, gone: NotFound) -> TargetError:
    """The place in which the rows of a load were kept is not there any more."""
    return TargetError(
        f"the rows of delivery {held.load.delivery} of {held.load.slice} were kept in {held.where}, and are gone: "
        f"{gone.message}",
        remedy="Another program has removed them. Load that delivery again into a table of its own.",
    )
