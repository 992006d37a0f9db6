"""Which deliveries of a source are wanted."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from lakebed.errors import ConfigError
from lakebed.model import Slice
from lakebed.source.deliveries import is_period


@dataclass(frozen=True, slots=True)
class DiscoverFilters:
    """Which deliveries are wanted. `since` is the first period that is, `until` the last; None wants all.

    A month is written as 2026-10, or as -3m for three months before this one. For files without a manifest, `report`,
    `period` and `payer` say what they are.
    """

    report: str | None = None
    payer: str | None = None
    period: str | None = None
    since: str | None = None
    until: str | None = None

    def __post_init__(self) -> None:
        today = datetime.now(UTC).date()
        for name in ("period", "since", "until"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _month(name, value, today))
        if self.since is not None and self.until is not None and self.since > self.until:
            raise ConfigError(f"--since {self.since} is later than --until {self.until}", remedy="Exchange the two.")

    def wants_period(self, period: str) -> bool:
        return (
            (self.period is None or period == self.period)
            and (self.since is None or period >= self.since)
            and (self.until is None or period <= self.until)
        )

    def wants(self, wanted: Slice) -> bool:
        return (
            self.wants_period(wanted.period)
            and (self.report is None or wanted.report == self.report)
            and (self.payer is None or wanted.payer == self.payer)
        )


def _month(name: str, value: str, today: date) -> str:
    if (months := months_ago(value, today)) is not None:
        return months
    if not is_period(value):
        remedy = "Write it as 2026-10, or as -3m for three months before this one."
        raise ConfigError(f"--{name} {value} is not a month", remedy=remedy)
    return value


def months_ago(text: str, today: date) -> str | None:
    """The month that -3m means on a day; None where the text is not of this form.

    >>> months_ago("-3m", date(2026, 2, 28))
    '2025-11'
    """
    if (found := re.fullmatch(r"-([0-9]{1,3})m", text, re.ASCII)) is None:
        return None
    year, month = divmod(today.year * 12 + today.month - 1 - int(found[1]), 12)
    return f"{year:04}-{month + 1:02}"
