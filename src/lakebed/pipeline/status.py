"""`lakebed status`: what the ledger knows."""

import os
from dataclasses import asdict, dataclass
from typing import Unpack

from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.tables import parse_target
from lakebed.state.rebuild import describe_table
from lakebed.state.records import DeliveryRecord, LoadRecord


@dataclass(frozen=True)
class StatusReport:
    """Everything that was discovered, and everything that was loaded."""

    deliveries: tuple[DeliveryRecord, ...]
    loads: tuple[LoadRecord, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "deliveries": [_flat(delivery) for delivery in self.deliveries],
            "loads": [_flat(load) for load in self.loads],
        }


def _flat(record: DeliveryRecord | LoadRecord) -> dict[str, object]:
    """The record with payer, report and period beside its other fields."""
    fields = asdict(record)
    return {**fields.pop("slice"), **fields}


def status(
    *,
    rebuild: str | os.PathLike[str] | None = None,
    workdir: str | os.PathLike[str] | None = None,
    **settings: Unpack[RunSettings],
) -> StatusReport:
    """Deliveries and loads with their states. With `rebuild`, first takes over what a table says about itself.

    >>> _ = lakebed.sample("bills", months=2, rows=10, restate=False)
    >>> _ = lakebed.discover("bills", period="2026-10")
    >>> [(one.slice.period, one.state) for one in lakebed.status().deliveries]
    [('2026-10', 'discovered')]
    """
    workspace = open_workspace(workdir, settings)
    if rebuild is not None:
        target = workspace.target(parse_target(rebuild), read_only=True)
        with workspace.ledger() as ledger:
            ledger.rebuild([describe_table(target, target.state())])
    with workspace.ledger_for_reading() as ledger:
        return StatusReport(ledger.deliveries(), ledger.loads())
