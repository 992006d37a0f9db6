"""Which deliveries of a source are wanted."""

from dataclasses import dataclass

from lakebed.errors import ConfigError
from lakebed.model import Slice
from lakebed.source.deliveries import is_period


@dataclass(frozen=True, slots=True)
class DiscoverFilters:
    """Which deliveries are wanted. `since` is the first period that is; None wants all.

    For files without a manifest, `report`, `period` and `payer` say what they are.
    """

    report: str | None = None
    payer: str | None = None
    period: str | None = None
    since: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("period", self.period), ("since", self.since)):
            if value is not None and not is_period(value):
                raise ConfigError(f"--{name} {value} is not a month", remedy="Write it as 2026-10.")

    def wants_period(self, period: str) -> bool:
        return (self.period is None or period == self.period) and (self.since is None or period >= self.since)

    def wants(self, wanted: Slice) -> bool:
        return (
            self.wants_period(wanted.period)
            and (self.report is None or wanted.report == self.report)
            and (self.payer is None or wanted.payer == self.payer)
        )
