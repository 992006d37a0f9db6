"""`lakebed history` and `lakebed rollback`: who changed which column when, and going back to an earlier state."""

from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import ConfigError, LakebedError
from lakebed.state.rebuild import describe_table
from lakebed.state.records import SchemaChangeRecord
from lakebed.table.read import open_table
from lakebed.targets.snapshots import HasSnapshots, SnapshotRecord
from lakebed.workspace import Workspace


def rollback(target: str, snapshot: int, *, workdir: str | Path | None = None) -> SnapshotRecord:
    """Makes an earlier snapshot of an Iceberg table the current one. The schema stays as wide as it is.

    The ledger then knows which deliveries the table holds, so that the next run loads what is missing again.
    """
    table = table_with_snapshots(target, workdir)
    table.roll_back(snapshot)
    opened = open_table(target, workdir=workdir)
    with open_workspace(workdir).ledger() as ledger:
        ledger.rebuild([describe_table(opened, opened.state())])
    return next(record for record in table.snapshots() if record.id == snapshot)


@dataclass(frozen=True)
class History:
    """Who changed which column when, from the ledger, and the snapshots of a table that has them."""

    table: str
    changes: tuple[SchemaChangeRecord, ...]
    snapshots: tuple[SnapshotRecord, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "table": self.table,
            "changes": [
                {
                    "at": record.at.isoformat(),
                    "kind": record.change.kind,
                    "column": record.change.column,
                    "type": record.change.type_after,
                    "typeBefore": record.change.type_before,
                    "original": record.change.original,
                    "delivery": record.delivery,
                    "period": record.slice.period if record.slice else None,
                    "payer": record.slice.payer if record.slice else None,
                    "report": record.slice.report if record.slice else None,
                    "version": record.version,
                }
                for record in self.changes
            ],
            "snapshots": [record.to_dict() for record in self.snapshots],
        }


def history(target: str, *, workdir: str | Path | None = None) -> History:
    """What happened to a table. Touches nothing."""
    opened = open_table(target, workdir=workdir)
    with open_workspace(workdir).ledger_for_reading() as ledger:
        changes = ledger.schema_history(opened.address)
    found = opened.snapshots() if isinstance(opened, HasSnapshots) else ()
    if not changes and not found and not opened.state().exists:
        raise LakebedError(f"nothing is known of {opened.address}, and there is no such table")
    return History(opened.address, changes, found)


def table_with_snapshots(target: str | None, workdir: str | Path | None) -> HasSnapshots:
    remedy = "Name an Iceberg table: iceberg:NAMESPACE.TABLE."
    if target is None:
        raise ConfigError("snapshots belong to one table", remedy=remedy)
    opened = open_table(target, workdir=workdir)
    if isinstance(opened, HasSnapshots):
        return opened
    raise ConfigError(f"{target} has no snapshots", remedy=remedy)


def open_workspace(workdir: str | Path | None) -> Workspace:
    return Workspace.open({"workdir": None if workdir is None else str(workdir)})
