"""`lakebed sweep`, `rollback` and `history`: what crashed runs left, older states, and who changed what."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lakebed.errors import ConfigError, LakebedError
from lakebed.holding import what_it_says
from lakebed.reading import open_table
from lakebed.state.ledger import Ledger
from lakebed.state.records import SchemaChangeRecord, StagingFolder
from lakebed.storage import Storage
from lakebed.targets.base import Target
from lakebed.targets.snapshots import Expired, HasSnapshots, SnapshotRecord
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
    only = None if target is None else open_table(target, workdir=workdir)
    with workspace.ledger() as ledger:
        left = [
            sweep_orphan(orphan, only or workspace.target(orphan.table), ledger, workspace.storage, dry_run=dry_run)
            for orphan in ledger.orphans()
            if only is None or orphan.table == only.address
        ]
    expired = Expired((), ())
    if expire_before is not None:
        expired = _with_snapshots(target, workdir).expire(datetime.now(UTC) - expire_before, dry_run=dry_run)
    return Swept(
        folders=tuple(one.folder for one in left),
        files=tuple(uri for one in left for uri in one.loose),
        kept=tuple(uri for one in left for uri in one.committed),
        expired=expired,
        dry_run=dry_run,
    )


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What lay in the folder of a run that is over."""

    folder: str
    loose: tuple[str, ...]
    committed: tuple[str, ...]


def sweep_orphan(
    orphan: StagingFolder, target: Target, ledger: Ledger, storage: Storage, *, dry_run: bool = False
) -> Leftovers:
    """Removes from the folder of a crashed run what the table does not name, and closes it in the ledger."""
    # Asked first: a target that finishes a crashed commit when it is opened moves files out of the folder.
    named = {_plain(uri) for uri in _named(target)}
    inside = [entry.uri for entry in storage.list(orphan.folder)]
    loose = tuple(uri for uri in inside if _plain(uri) not in named)
    if not dry_run:
        storage.delete(loose)
        ledger.close_staging(orphan.folder)
    return Leftovers(orphan.folder, loose, tuple(uri for uri in inside if _plain(uri) in named))


def _named(target: Target) -> Iterable[str]:
    if isinstance(target, HasSnapshots):
        return target.named_files()
    return [file.uri for file in target.state().files]


def _plain(uri: str) -> str:
    return uri.removeprefix("file://")


def rollback(target: str, snapshot: int, *, workdir: str | Path | None = None) -> SnapshotRecord:
    """Makes an earlier snapshot of an Iceberg table the current one. The schema stays as wide as it is.

    The ledger then knows which deliveries the table holds, so that the next run loads what is missing again.
    """
    table = _with_snapshots(target, workdir)
    table.roll_back(snapshot)
    opened = open_table(target, workdir=workdir)
    with _workspace(workdir).ledger() as ledger:
        ledger.rebuild([what_it_says(opened, opened.state())])
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
    with _workspace(workdir).ledger_for_reading() as ledger:
        changes = ledger.schema_history(opened.address)
    found = opened.snapshots() if isinstance(opened, HasSnapshots) else ()
    if not changes and not found and not opened.state().exists:
        raise LakebedError(f"nothing is known of {opened.address}, and there is no such table")
    return History(opened.address, changes, found)


def _with_snapshots(target: str | None, workdir: str | Path | None) -> HasSnapshots:
    remedy = "Name an Iceberg table: iceberg:NAMESPACE.TABLE."
    if target is None:
        raise ConfigError("snapshots belong to one table", remedy=remedy)
    opened = open_table(target, workdir=workdir)
    if isinstance(opened, HasSnapshots):
        return opened
    raise ConfigError(f"{target} has no snapshots", remedy=remedy)


def _workspace(workdir: str | Path | None) -> Workspace:
    return Workspace.open({"workdir": None if workdir is None else str(workdir)})
