"""`lakebed status`: what the ledger knows."""

import os
from dataclasses import asdict, dataclass
from typing import Unpack

from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.tables import parse_target
from lakebed.state.records import ClaimRecord, DeliveryRecord, LoadRecord, load_resource, staging_resource


@dataclass(frozen=True)
class StatusReport:
    """Everything that was discovered, everything that was loaded, and which processes work on it."""

    deliveries: tuple[DeliveryRecord, ...]
    loads: tuple[LoadRecord, ...]
    claims: tuple[ClaimRecord, ...] = ()

    def describe_work(self, record: DeliveryRecord | LoadRecord) -> str | None:
        """Which process copies or loads this, or that it is gone; None where the state says that nobody does."""
        if record.state not in ("staging", "loading"):
            return None
        tables = [record.table] if isinstance(record, LoadRecord) else [load.table for load in self.loads]
        resources = {staging_resource(record.slice, record.delivery)}
        resources |= {load_resource(table, record.slice) for table in tables}
        held = [claim for claim in self.claims if claim.resource in resources]
        for claim in held:
            if claim.alive:
                return f"by process {claim.pid} on {claim.host}"
        return (
            f"process {held[0].pid} on {held[0].host} is gone: run again" if held else "its process is gone: run again"
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "deliveries": [{**_flat(one), "work": self.describe_work(one)} for one in self.deliveries],
            "loads": [{**_flat(one), "work": self.describe_work(one)} for one in self.loads],
            "claims": [asdict(claim) for claim in self.claims],
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
        from lakebed.state.rebuild import describe_table

        target = workspace.target(parse_target(rebuild), read_only=True)
        with workspace.ledger() as ledger:
            ledger.rebuild([describe_table(target, target.state())])
    if workspace.is_new:
        return StatusReport((), (), ())
    with workspace.ledger_for_reading() as ledger:
        return StatusReport(ledger.deliveries(), ledger.loads(), ledger.claims())
