"""`lakebed sweep`, `rollback` and `history`: what crashed runs left, older states, and who changed what."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lakebed.errors import ConfigError, LakebedError
from lakebed.orphans import Orphan, clear_orphans
from lakebed.reading import open_table
from lakebed.state.rebuild import describe_table
from lakebed.state.records import SchemaChangeRecord
from lakebed.targets.iceberg import IcebergTarget
from lakebed.targets.iceberg_maintenance import Expired, SnapshotRecord, expire, roll_back, snapshots
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class Swept:
    """What a sweep removed, or would remove."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    kept: tuple[str, ...]  # committed after all, though their run never said so
    expired: Expired
    dry_run: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "folders": list(self.folders),
            "files": list(self.files),
            "kept": list(self.kept),
            "expiredSnapshots": list(self.expired.snapshots),
            "expiredFiles": list(self.expired.files),
            "dryRun": self.dry_run,
        }


def sweep(
    target: str | None = None,
    *,
    workdir: str | Path | None = None,
    expire_before: timedelta | None = None,
    dry_run: bool = False,
) -> Swept:
    """Removes what crashed runs left, and with `expire_before` snapshots of an Iceberg table older than that.

    Only folders that the ledger recorded before a job wrote into them are looked at, and only once no run that could
    still commit them is alive; files that a table names stay.
    """
    workspace = _workspace(workdir)
    orphans: list[Orphan] = []
    with workspace.ledger() as ledger:
        for address in dict.fromkeys(orphan.table for orphan in ledger.orphans()):
            if target is None or address == open_table(target, workdir=workdir).address:
                opened = open_table(address, workdir=workdir)
                orphans += clear_orphans(opened, ledger, workspace.storage, dry_run=dry_run)
    expired = Expired((), ())
    if expire_before is not None:
        expired = expire(_iceberg(target, workdir).existing_table(), datetime.now(UTC) - expire_before, dry_run=dry_run)
    return Swept(
        folders=tuple(orphan.folder for orphan in orphans),
        files=tuple(uri for orphan in orphans for uri in orphan.loose),
        kept=tuple(uri for orphan in orphans for uri in orphan.committed),
        expired=expired,
        dry_run=dry_run,
    )


def rollback(target: str, snapshot: int, *, workdir: str | Path | None = None) -> SnapshotRecord:
    """Makes an earlier snapshot of an Iceberg table the current one. The schema stays as wide as it is.

    The ledger then knows which deliveries the table holds, so that the next run loads what is missing again.
    """
    opened = _iceberg(target, workdir)
    roll_back(opened.existing_table(), snapshot)
    state = opened.state()
    with _workspace(workdir).ledger() as ledger:
        ledger.rebuild([describe_table(opened.address, schema=state.schema, version=state.version, data=opened.read())])
    return next(record for record in snapshots(opened.existing_table()) if record.id == snapshot)


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
    with _workspace(workdir).ledger_for_reading() as ledger:
        changes = ledger.schema_history(opened.address)
    found: tuple[SnapshotRecord, ...] = ()
    if isinstance(opened, IcebergTarget) and (table := opened.table()) is not None:
        found = snapshots(table)
    if not changes and not found and not opened.state().exists:
        raise LakebedError(f"nothing is known of {opened.address}, and there is no such table")
    return History(opened.address, changes, found)


def _iceberg(target: str | None, workdir: str | Path | None) -> IcebergTarget:
    remedy = "Name an Iceberg table: iceberg:NAMESPACE.TABLE."
    if target is None:
        raise ConfigError("snapshots belong to one table", remedy=remedy)
    opened = open_table(target, workdir=workdir)
    if isinstance(opened, IcebergTarget):
        return opened
    raise ConfigError(f"{target} has no snapshots", remedy=remedy)


def _workspace(workdir: str | Path | None) -> Workspace:
    return Workspace.open({"workdir": None if workdir is None else str(workdir)})
