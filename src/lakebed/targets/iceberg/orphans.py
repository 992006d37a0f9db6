"""What crashed writers of ours left in a table's folders: data files, manifests, metadata that no catalog ever named.

Everything that one staging writes carries its id: the folder of its data files, and the names of its manifests and
manifest lists. A metadata file says in its newest snapshot which staging wrote it; one that brought no snapshot, as a
rollback's or an expiry's, says by its name that it is ours. What other writers left is theirs.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table

from lakebed.storage import Entry
from lakebed.targets.iceberg.files import plain_path
from lakebed.targets.iceberg.maintenance import live_files
from lakebed.targets.iceberg.staging import MARK, SHARED_DIGITS, STAGING_ID, STAGING_PREFIX, is_locked, local_stagings

_DATA = re.compile(rf"/{STAGING_PREFIX}(?P<id>[0-9a-f]{{32}})/")
_MANIFEST = re.compile(r"/(?:snap-\d+-\d+-)?(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-m\d+)?\.avro")
_METADATA = re.compile(r"/\d{5}-(?P<uuid>[0-9a-f-]{36})\.(?:gz\.)?metadata\.json")
# Between a metadata file and the catalog's word for it: nothing else tells that somebody is about to name it.
COMMIT_TAKES = timedelta(hours=1)


def running_stagings(places: Iterable[str]) -> set[str]:
    """The shared part of the ids of local stagings whose writers run."""
    folders = [folder for place in places for folder in local_stagings(place)]
    return {_staging_id(folder) for folder in folders if is_locked(folder)}


def orphaned_files(
    listed: Iterable[Entry],
    table: Table | None,
    *,
    before: datetime,
    running: Collection[str],
    read: Callable[[str], bytes],
) -> tuple[str, ...]:
    """The listed files that a writer of ours left, all of whose files are older than this; none that is in use.

    The table must have been loaded after the listing, so that what was committed in between is known. A staging whose
    writer is known to run is left alone, whatever its age.
    """
    used = set() if table is None else used_files(table)
    known = set() if table is None else {snapshot.snapshot_id for snapshot in table.snapshots()}
    by_staging: dict[str, list[Entry]] = {}
    alone: list[Entry] = []
    for entry in listed:
        path = plain_path(entry.uri)
        if path in used:
            continue
        if (id_ := _staging_of(path, known, read)) is not None:
            by_staging.setdefault(id_, []).append(entry)
        elif (found := _METADATA.search(path)) and found["uuid"].startswith(MARK):
            alone.append(entry)
    return (
        *(
            entry.uri
            for id_, entries in by_staging.items()
            if id_ not in running and all(_is_older(one, before) for one in entries)
            for entry in entries
        ),
        *(entry.uri for entry in alone if _is_older(entry, min(before, datetime.now(UTC) - COMMIT_TAKES))),
    )


def _is_older(entry: Entry, than: datetime) -> bool:
    return entry.modified is not None and entry.modified < than


def _staging_id(folder: str) -> str:
    return folder.rpartition(STAGING_PREFIX)[2][:SHARED_DIGITS]


def used_files(table: Table) -> set[str]:
    """Every file that a snapshot, and so every branch and tag, or the metadata itself names."""
    metadata = table.metadata
    named: Iterator[str] = iter(
        [
            table.metadata_location,
            *(entry.metadata_file for entry in metadata.metadata_log),
            *(file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics)),
            *live_files(table),
        ]
    )
    return {plain_path(uri) for uri in named}


def _staging_of(path: str, known: set[int], read: Callable[[str], bytes]) -> str | None:
    """The shared part of the id of the staging that wrote a file; None where that was none of ours."""
    if found := _DATA.search(path):
        return found["id"][:SHARED_DIGITS]
    if found := _MANIFEST.search(path):
        id_ = found["uuid"].replace("-", "")
        return id_[:SHARED_DIGITS] if id_.startswith(MARK) else None
    return _staging_of_metadata(path, known, read) if _METADATA.search(path) else None


def _staging_of_metadata(path: str, known: set[int], read: Callable[[str], bytes]) -> str | None:
    try:
        snapshots = json.loads(read(path)).get("snapshots") or []
        newest = max(snapshots, key=lambda one: one.get("sequence-number", 0))
        id_ = newest.get("summary", {}).get(STAGING_ID)
    except (ValueError, AttributeError):
        # Compressed, cut short, or not a table's: it is not known whose it is.
        return None
    if id_ is None or newest.get("snapshot-id") in known:
        return None
    return str(id_)[:SHARED_DIGITS]
