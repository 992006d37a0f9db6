"""The loads of a table in the order of their commits: which delivery each slice held on a day, and whose rows are kept.

The commit of a load writes its own line, so that the log is never ahead of the table nor behind it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from lakebed.model import Slice

FORMAT = 1
# What a table beside another is called that holds the rows which loads replaced.
HISTORY = "_history"


@dataclass(frozen=True, slots=True)
class LoggedLoad:
    """One load of a slice. `kept`: its rows were replaced by a later load and are still to be had.

    Without a delivery the slice held nothing from then on; without a time it is not known since when it was there.
    """

    id: str  # of the staging that its commit took
    slice: Slice
    delivery: str | None
    at: datetime | None
    rows: int
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """Which replaced deliveries are kept: all, those replaced in the last months, or none."""

    rule: str
    months: int | None  # None keeps all of them, 0 none

    @classmethod
    def parse(cls, text: str) -> "Retention":
        """Reads the setting, as `config` leaves it.

        >>> Retention.parse("12 months").months
        12
        """
        if text in ("all", "latest"):
            return cls(text, None if text == "all" else 0)
        number, _, unit = text.partition(" ")
        if not number.isdigit() or unit != "months":
            raise ValueError(f"{text!r:.80} does not say what to retain")
        return cls(text, int(number))

    @property
    def keeps(self) -> bool:
        return self.months != 0

    def limit(self, now: datetime) -> datetime | None:
        """What was replaced before this is not kept any longer; None where all of it is."""
        if self.months is None:
            return None
        if self.months == 0:
            return datetime.max.replace(tzinfo=UTC)
        number = now.year * 12 + now.month - 1 - self.months
        year, month = divmod(number, 12)
        if year < 1:
            return None
        first_of_next = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
        days = (first_of_next - datetime(year, month + 1, 1, tzinfo=UTC)).days
        return now.replace(year=year, month=month + 1, day=min(now.day, days))


@dataclass(frozen=True, slots=True)
class LoadStep:
    """What one commit does to the log.

    `loads` arrive in place of what their slices held, whose rows it keeps with `keep`. `known` are earlier loads of
    slices that the log does not know. The rows of the loads in `forget` are kept no longer.
    """

    loads: tuple[LoggedLoad, ...] = ()
    known: tuple[LoggedLoad, ...] = ()
    keep: bool = False
    forget: tuple[str, ...] = ()
    retain: str | None = None  # the rule that holds from now on; None leaves it


@dataclass(frozen=True, slots=True)
class LoadLog:
    """The log of one table, the oldest load first; `retain` is the rule that its last writer was given."""

    loads: tuple[LoggedLoad, ...] = ()
    retain: str | None = None

    def __bool__(self) -> bool:
        return bool(self.loads)

    @property
    def current(self) -> dict[Slice, LoggedLoad]:
        """The last load of each slice."""
        return {load.slice: load for load in self.loads}

    def held_at(self, moment: datetime) -> dict[Slice, LoggedLoad]:
        """The load of each slice that was the last one at a moment; one without a time may have been there or not."""
        return {load.slice: load for load in self.loads if load.at is None or load.at <= moment}

    def successor(self, load: LoggedLoad) -> LoggedLoad | None:
        """The load that took the place of another; None of one that is current."""
        later = self.loads[self.loads.index(load) + 1 :]
        return next((one for one in later if one.slice == load.slice), None)

    def replaced_before(self, limit: datetime | None) -> tuple[LoggedLoad, ...]:
        """The kept loads that were replaced before this."""
        if limit is None:
            return ()
        after = {load.id: self.successor(load) for load in self.loads if load.kept}
        return tuple(
            load
            for load in self.loads
            if load.kept and (next_ := after[load.id]) is not None and (next_.at is None or next_.at < limit)
        )

    def after(self, step: LoadStep) -> "LoadLog":
        """The log with what a commit did. Time does not run backwards in it, whatever the clocks of two writers say."""
        loads = [*(one for one in step.known if one.slice not in self.current), *self.loads]
        for new in step.loads:
            for place, old in reversed(list(enumerate(loads))):
                if old.slice == new.slice:
                    loads[place] = replace(old, kept=step.keep and old.delivery is not None)
                    if old.at is not None and new.at is not None and new.at < old.at:
                        new = replace(new, at=old.at)
                    break
            loads.append(new)
        gone = set(step.forget)
        return LoadLog(
            tuple(replace(one, kept=False) if one.id in gone else one for one in loads), step.retain or self.retain
        )

    def replaced_by(self, step: LoadStep) -> tuple[LoggedLoad, ...]:
        """The loads whose rows a commit removes, though they are to be kept."""
        if not step.keep:
            return ()
        held = LoadLog((*step.known, *self.loads)).current
        replaced = (held[one.slice] for one in step.loads if one.slice in held)
        return tuple(load for load in replaced if load.delivery is not None)

    def to_text(self) -> str:
        """The log as tables keep it."""
        rows = [
            [
                one.id,
                one.slice.payer,
                one.slice.report,
                one.slice.period,
                one.delivery,
                None if one.at is None else one.at.astimezone(UTC).isoformat(),
                one.rows,
                int(one.kept),
            ]
            for one in self.loads
        ]
        return json.dumps({"format": FORMAT, "retain": self.retain, "loads": rows}, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> "LoadLog":
        """The log that was written, or ValueError where it is none."""
        given = cast(object, json.loads(text))
        if not isinstance(given, Mapping) or given.get("format") != FORMAT or not isinstance(given.get("loads"), list):
            raise ValueError("it is no log of loads that this version knows")
        retain = given.get("retain")
        if retain is not None and not isinstance(retain, str):
            raise ValueError("its rule is no text")
        if retain is not None:
            Retention.parse(retain)
        return cls(tuple(_load(row) for row in given["loads"]), retain)


NO_LOADS = LoadLog()


def _load(row: object) -> LoggedLoad:
    if not isinstance(row, list) or len(row) != 8:
        raise ValueError("a line of it has not eight values")
    id_, payer, report, period, delivery, at, rows, kept = row
    if not all(isinstance(one, str) for one in (id_, payer, report, period)) or type(rows) is not int or rows < 0:
        raise ValueError("a line of it is not that of a load")
    if not isinstance(delivery, str | None) or not isinstance(at, str | None):
        raise ValueError("a line of it is not that of a load")
    moment = None if at is None else datetime.fromisoformat(at)
    if moment is not None and moment.tzinfo is None:
        raise ValueError("a time of it has no zone")
    return LoggedLoad(id_, Slice(payer, report, period), delivery, moment, rows, bool(kept))


def with_known(log: LoadLog, known: Iterable[LoggedLoad]) -> LoadLog:
    """The log with the loads that others remember of slices that it does not know."""
    return log.after(LoadStep(known=tuple(known)))
