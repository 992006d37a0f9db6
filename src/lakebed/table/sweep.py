"""`lakebed sweep`: removes what crashed runs left, and old snapshots."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakebed.state.ledger import Ledger
from lakebed.state.records import StagingFolder
from lakebed.storage import Storage
from lakebed.table.history import require_snapshots
from lakebed.table.read import TableLike, open_table, open_workspace
from lakebed.targets.base import Target
from lakebed.targets.snapshots import Expired, HasSnapshots


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
    target: TableLike | None = None,
    *,
    expire_days: float | None = None,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
) -> Swept:
    """Removes what crashed runs left, and with `expire_days` snapshots of an Iceberg table older than that.

    Only folders that the ledger recorded before a job wrote into them are looked at, and only once no run that could
    still commit them is alive; files that a table names stay. Without a target it is every table of the ledger.

    >>> lakebed.sweep(dry_run=True).files
    ()
    """
    workspace = open_workspace(workdir)
    only = None if target is None else open_table(target, workdir=workdir)
    with workspace.ledger() as ledger:
        left = [
            sweep_orphan(orphan, only or workspace.target(orphan.table), ledger, workspace.storage, dry_run=dry_run)
            for orphan in ledger.orphans()
            if only is None or orphan.table == only.address
        ]
    expired = Expired((), ())
    if expire_days is not None:
        before = datetime.now(UTC) - timedelta(days=expire_days)
        expired = require_snapshots(only).expire(before, dry_run=dry_run)
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
