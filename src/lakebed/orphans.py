"""Folders that killed runs left behind: what the table does not name is removed, what it names stays."""

from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.state.ledger import Ledger
from lakebed.state.records import StagingFolder
from lakebed.storage import Storage
from lakebed.targets.base import Target


@dataclass(frozen=True)
class Orphan:
    """A folder of a run that is over: its files that nobody needs, and those that were committed after all."""

    folder: str
    loose: tuple[str, ...]
    committed: tuple[str, ...]


def clear_orphans(target: Target, ledger: Ledger, storage: Storage, *, dry_run: bool = False) -> tuple[Orphan, ...]:
    """Removes what killed runs left of loads into this table.

    Only folders that the ledger recorded before a job wrote into them are looked at, and only once no run that could
    still commit them is alive.
    """
    found = [folder for folder in ledger.orphans() if folder.table == target.address]
    if not found:
        return ()
    named = {_plain(uri) for uri in _named(target)}
    orphans = tuple(_look(folder, named, storage) for folder in found)
    if not dry_run:
        for orphan in orphans:
            storage.delete(orphan.loose)
            ledger.close_staging(orphan.folder)
    return orphans


def _look(folder: StagingFolder, named: set[str], storage: Storage) -> Orphan:
    inside = [entry.uri for entry in storage.list(folder.folder)]
    return Orphan(
        folder.folder,
        loose=tuple(uri for uri in inside if _plain(uri) not in named),
        committed=tuple(uri for uri in inside if _plain(uri) in named),
    )


def _named(target: Target) -> Iterator[str]:
    """The files that any state of the table needs. A crashed commit is finished first, so that its files are named."""
    files = target.state().files
    if target.address.startswith("iceberg:"):
        # Older snapshots need their files too.
        from lakebed.targets.iceberg import IcebergTarget
        from lakebed.targets.iceberg_maintenance import live_files

        table = target.table() if isinstance(target, IcebergTarget) else None
        yield from live_files(table) if table is not None else ()
    yield from (file.uri for file in files)


def _plain(uri: str) -> str:
    return uri.removeprefix("file://")
