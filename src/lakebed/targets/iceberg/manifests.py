"""Manifests, read once: they never change, and one merge looks into the same ones several times."""

from collections import OrderedDict
from threading import Lock

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import FileScanTask, Table

from lakebed.targets.iceberg.deletes import RowDeletes, is_by_value

# As they lie on disk; in memory they take some twenty times as much.
REMEMBERED_BYTES = 16 * 1024 * 1024

_remembered: OrderedDict[str, tuple[int, tuple[ManifestEntry, ...]]] = OrderedDict()
_lock = Lock()


def live_entries(manifest: ManifestFile, io: FileIO) -> tuple[ManifestEntry, ...]:
    """The entries of a manifest whose files are part of the table; nobody may change them."""
    with _lock:
        if (known := _remembered.get(manifest.manifest_path)) is not None:
            _remembered.move_to_end(manifest.manifest_path)
            return known[1]
    entries = tuple(manifest.fetch_manifest_entry(io, discard_deleted=True))
    with _lock:
        _remembered[manifest.manifest_path] = (manifest.manifest_length, entries)
        while len(_remembered) > 1 and sum(size for size, _ in _remembered.values()) > REMEMBERED_BYTES:
            _remembered.popitem(last=False)
    return entries


def has_live_files(manifest: ManifestFile) -> bool:
    """Whether a manifest names files of the table, and not only files that are gone."""
    return manifest.has_added_files() or manifest.has_existing_files()


def current_manifests(table: Table) -> list[ManifestFile]:
    """Those of the current snapshot that name files."""
    snapshot = table.current_snapshot()
    return [] if snapshot is None else [one for one in snapshot.manifests(table.io) if has_live_files(one)]


def has_equality_deletes(table: Table) -> bool:
    """Whether the current snapshot names files in which rows are deleted by their values."""
    return any(
        is_by_value(entry.data_file)
        for manifest in current_manifests(table)
        if manifest.content == ManifestContent.DELETES
        for entry in live_entries(manifest, table.io)
    )


def plan_all_files(table: Table) -> list[FileScanTask]:
    """Every data file of the current snapshot, each with the delete files that may hold rows of it."""
    manifests = current_manifests(table)
    by_content: dict[ManifestContent, list[ManifestEntry]] = {ManifestContent.DATA: [], ManifestContent.DELETES: []}
    for manifest in manifests:
        by_content[manifest.content].extend(live_entries(manifest, table.io))
    marking = by_content[ManifestContent.DELETES]
    deletes = RowDeletes(table, marking) if marking else None
    return [
        FileScanTask(entry.data_file, set() if deletes is None else deletes.of(entry), AlwaysTrue())
        for entry in by_content[ManifestContent.DATA]
    ]
