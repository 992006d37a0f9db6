"""`lakebed sweep`: removes what crashed runs left, and old snapshots."""

import logging
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf

from lakebed.config import WORK_FOLDER
from lakebed.engines.registry import local_engine
from lakebed.state.ledger import Ledger
from lakebed.state.records import StagingFolder
from lakebed.storage import Entry, Storage, absolute, is_local, join
from lakebed.table.history import require_snapshots
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import TableLike, open_table, open_workspace
from lakebed.table.retention import forget_outdated
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.load_log import HISTORY, Retention
from lakebed.targets.shared.containment import LinkGuard, require_no_link
from lakebed.targets.snapshots import Expired, HasSnapshots
from lakebed.workspace import Workspace

log = logging.getLogger(__name__)

# A writer on another machine, of which nothing tells that it runs, is given so long.
SAFE_AGE_DAYS = 3.0


@dataclass(frozen=True)
class Swept:
    """What a sweep removed, or would remove."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    kept: tuple[str, ...]  # committed after all, though their run never said so
    expired: Expired
    dry_run: bool
    forgotten: tuple[str, ...] = ()  # replaced deliveries that `retain` keeps no longer

    def to_dict(self) -> dict[str, object]:
        return {
            "folders": list(self.folders),
            "files": list(self.files),
            "kept": list(self.kept),
            "expiredSnapshots": list(self.expired.snapshots),
            "expiredFiles": list(self.expired.files),
            "forgottenDeliveries": list(self.forgotten),
            "dryRun": self.dry_run,
        }


def sweep(
    target: TableLike | None = None,
    *,
    expire_days: float | None = None,
    older_than_days: float | None = None,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
) -> Swept:
    """Removes what crashed runs left, and with `expire_days` snapshots of an Iceberg table older than that.

    Three kinds are found: folders that the ledger recorded before a load wrote into them, once no run that could still
    commit them is alive; data files, manifests and metadata of any writer of ours, by their names, once they are
    older than `older_than_days`, three days if it is None; and as old ones the work folders of merges on a cluster and
    of `df.write.format("lakebed")`, whose driver died. Files that a table, a snapshot, a branch or a tag names stay,
    and so do those of a local writer that runs, whatever their age. Without a target it is every table of the ledger,
    and the work folders, which belong to none. Replaced deliveries that the setting `retain` keeps no longer are let go
    first, so that what held their rows can expire.

    >>> lakebed.sweep(dry_run=True).files
    ()
    """
    workspace = open_workspace(workdir)
    only = None if target is None else open_table(target, workdir=workdir, read_only=dry_run)
    with workspace.ledger_for_reading() if dry_run else workspace.ledger() as ledger:
        left = [
            sweep_orphan(
                orphan,
                only or _open(workspace, orphan, read_only=dry_run),
                ledger,
                workspace.storage,
                dry_run=dry_run,
            )
            for orphan in ledger.orphans()
            if only is None or orphan.table == only.address
        ]
        places = [only] if only is not None else _known_tables(workspace, ledger, read_only=dry_run)
    limit = datetime.now(UTC) - timedelta(days=SAFE_AGE_DAYS if older_than_days is None else older_than_days)
    loose = tuple(uri for place in places for uri in _sweep_table(place, limit, dry_run=dry_run))
    if only is None:
        loose += _sweep_work_folders(workspace, limit, dry_run=dry_run)
    forgotten = tuple(text for place in places for text in _forget(workspace, place, dry_run=dry_run))
    expired = Expired((), ())
    if expire_days is not None:
        before = datetime.now(UTC) - timedelta(days=expire_days)
        expired = require_snapshots(only).expire(before, dry_run=dry_run)
    return Swept(
        folders=tuple(one.folder for one in left),
        files=tuple(dict.fromkeys((*(uri for one in left for uri in one.loose), *loose))),
        kept=tuple(uri for one in left for uri in one.committed),
        expired=expired,
        dry_run=dry_run,
        forgotten=forgotten,
    )


def _forget(workspace: Workspace, target: Target, *, dry_run: bool) -> tuple[str, ...]:
    """The replaced deliveries of one table that are kept no longer, let go."""
    if not (log := target.state().log):
        return ()
    reports = {load.slice.report for load in log.loads}
    rules = {workspace.settings.retain_of(report) for report in reports}
    # Reports of one table that are to be kept for different times are kept as long as the longest of them.
    chosen = max(rules, key=lambda rule: _months(rule)) if len(rules) > 1 else rules.pop()
    history = workspace.target(Address.parse(target.address).beside(HISTORY), read_only=dry_run)
    now, engine = datetime.now(UTC), local_engine(storage_of(target, workspace.storage).settings)
    gone = forget_outdated(target, history, engine, chosen, now, dry_run=dry_run)
    return tuple(f"{load.slice}: {load.delivery}" for load in gone)


def _months(rule: str | None) -> float:
    if rule is None:
        return inf
    months = Retention.parse(rule).months
    return inf if months is None else months


def _known_tables(workspace: Workspace, ledger: Ledger, *, read_only: bool) -> list[Target]:
    """The tables that the ledger knows: those that were loaded, and those whose schema was changed here."""
    names = (*(load.table for load in ledger.loads()), *(change.table for change in ledger.schema_history()))
    return [workspace.target(name, read_only=read_only) for name in dict.fromkeys(names)]


def _sweep_table(target: Target, before: datetime, *, dry_run: bool) -> tuple[str, ...]:
    """What crashed writers left of one table, listed before anything is removed."""
    found = target.orphans(before)
    if not dry_run:
        # Without files too: a crash may leave nothing but an empty folder.
        target.remove_orphans(found)
    return found


def _sweep_work_folders(workspace: Workspace, before: datetime, *, dry_run: bool) -> tuple[str, ...]:
    """What merges and writes left between two steps: folders in which everything is old."""
    place, storage = absolute(workspace.settings.staging_location), workspace.storage
    by_folder: dict[str, list[Entry]] = {}
    for entry in storage.list(place):
        name = entry.uri.removeprefix(f"{place}/").partition("/")[0]
        if WORK_FOLDER.fullmatch(name):
            by_folder.setdefault(name, []).append(entry)
    old = {
        name: [entry.uri for entry in entries]
        for name, entries in by_folder.items()
        if all(entry.modified is not None and entry.modified < before for entry in entries)
    }
    if not dry_run:
        for name, uris in old.items():
            if is_local(place):
                require_no_link(join(place, name))
                shutil.rmtree(join(place, name))
            else:
                storage.delete(uris)
    return tuple(uri for uris in old.values() for uri in uris)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What lay in the folder of a run that is over."""

    folder: str
    loose: tuple[str, ...]
    committed: tuple[str, ...]


def sweep_orphan(
    orphan: StagingFolder, target: Target, ledger: Ledger, storage: Storage, *, dry_run: bool = False
) -> Leftovers:
    """Removes from the folder of a crashed run what the table does not name, and closes it in the ledger.

    A folder that the table's stagings cannot have been, whoever wrote it into the ledger, is left as it is.
    """
    if not target.owns_staging(orphan.folder):
        log.warning(
            "the ledger says that a run left files in %s, which is no staging of %s: nothing there was touched",
            orphan.folder,
            target.address,
        )
        return Leftovers(orphan.folder, (), ())
    storage = storage_of(target, storage)
    # Asked first: a target that finishes a crashed commit when it is opened moves files out of the folder.
    named = {_plain(uri) for uri in _named(target)}
    inside = [entry.uri for entry in storage.list(orphan.folder)]
    if is_local(orphan.folder):
        guard = LinkGuard(orphan.folder)
        for uri in inside:
            guard.require_no_link(os.path.relpath(_plain(uri), _plain(orphan.folder)))
    loose = tuple(uri for uri in inside if _plain(uri) not in named)
    if not dry_run:
        storage.delete(loose)
        ledger.close_staging(orphan.folder)
    return Leftovers(orphan.folder, loose, tuple(uri for uri in inside if _plain(uri) in named))


def _open(workspace: Workspace, orphan: StagingFolder, *, read_only: bool) -> Target:
    """The table of an orphan, with the staging that a cluster's workers write into where the orphan lies there."""
    shared = workspace.settings.commit_staging
    return workspace.target(
        orphan.table, staging=shared if orphan.folder.startswith(shared + "/") else None, read_only=read_only
    )


def _named(target: Target) -> Iterable[str]:
    if isinstance(target, HasSnapshots):
        return target.named_files()
    return [file.uri for file in target.state().files]


def _plain(uri: str) -> str:
    return uri.removeprefix("file://")
