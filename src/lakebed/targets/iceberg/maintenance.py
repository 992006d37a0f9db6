"""Looking back and tidying up: snapshots and what they say, rollback, expiry."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from lakebed.errors import NotFound
from lakebed.targets.iceberg.branches import at_snapshot, set_branch
from lakebed.targets.iceberg.commit import ADDED_COLUMNS, PREFIX, WIDENED_COLUMNS
from lakebed.targets.iceberg.staging import STAGING_ID
from lakebed.targets.iceberg.state import current_files
from lakebed.targets.load_log import LoadStep
from lakebed.targets.snapshots import Expired, SnapshotRecord

# Properties of ours that a record has under names of its own, or the ledger has.
_SHOWN_APART = ("added-columns", "widened-columns", "schema-changes", "ledger")


def snapshots(table: Table) -> tuple[SnapshotRecord, ...]:
    """Every snapshot that is not expired, the oldest first."""
    current = table.metadata.current_snapshot_id
    named = table.metadata.refs
    schemas = {schema.schema_id: set(schema.column_names) for schema in table.metadata.schemas}
    known: set[str] = set()
    records: list[SnapshotRecord] = []
    for snapshot in sorted(table.snapshots(), key=lambda one: (one.sequence_number or 0, one.timestamp_ms)):
        columns = schemas.get(snapshot.schema_id if snapshot.schema_id is not None else -1, known)
        # Other writers do not say which columns they added; the schemas do.
        new = tuple(sorted(columns - known)) if records else ()
        refs = tuple(sorted(name for name, ref in named.items() if ref.snapshot_id == snapshot.snapshot_id))
        records.append(_record(snapshot, current, new, refs))
        known |= columns
    return tuple(records)


def _record(
    snapshot: Snapshot, current: int | None, new_columns: tuple[str, ...], refs: tuple[str, ...]
) -> SnapshotRecord:
    summary = snapshot.summary
    facts = dict(summary.additional_properties) if summary is not None else {}
    ours = {key.removeprefix(PREFIX): value for key, value in facts.items() if key.startswith(PREFIX)}
    added = json.loads(facts[ADDED_COLUMNS]) if ADDED_COLUMNS in facts else new_columns
    total = facts.get("total-records")
    return SnapshotRecord(
        id=snapshot.snapshot_id,
        parent=snapshot.parent_snapshot_id,
        at=datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC),
        operation=summary.operation.value if summary is not None else "unknown",
        current=snapshot.snapshot_id == current,
        rows=None if total is None else int(total),
        added_rows=int(facts.get("added-records", 0)),
        removed_rows=int(facts.get("deleted-records", 0)),
        added_columns=tuple(added),
        widened_columns=tuple(json.loads(facts.get(WIDENED_COLUMNS, "[]"))),
        schema_id=snapshot.schema_id,
        properties={key: value for key, value in ours.items() if key not in _SHOWN_APART},
        refs=refs,
    )


def require_snapshot(table: Table, snapshot_id: int) -> None:
    """Raises NotFound where the table has no such snapshot."""
    if table.snapshot_by_id(snapshot_id) is None:
        known = ", ".join(str(snapshot.snapshot_id) for snapshot in table.snapshots())
        raise NotFound(f"{'.'.join(table.name())} has no snapshot {snapshot_id}", remedy=f"It has: {known or 'none'}.")


def is_behind(table: Table, snapshot_id: int, staging_id: str) -> bool:
    """Whether the commit of a staging is this snapshot or an ancestor of it."""
    found = table.snapshot_by_id(snapshot_id)
    return found is not None and any(
        one.summary is not None and one.summary.additional_properties.get(STAGING_ID) == staging_id
        for one in ancestors_of(found, table.metadata)
    )


def roll_back(table: Table, snapshot_id: int, loads: LoadStep | None = None, *, branch: str | None = None) -> None:
    """The rows of an earlier snapshot under the schema of today: no column goes, later ones are NULL."""
    require_snapshot(table, snapshot_id)
    # Before any work: what cannot be read here is not what a table is rolled back to.
    current_files(at_snapshot(table, snapshot_id))
    set_branch(table, branch, snapshot_id, loads)


def expire(table: Table, before: datetime, *, dry_run: bool = False) -> Expired:
    """Forgets snapshots older than this, and removes the files that only they held.

    The current snapshot, and those that a branch or a tag names, stay. Nothing is guessed from a listing: what goes is
    what the forgotten snapshots name and no remaining one does.
    """
    kept = {ref.snapshot_id for ref in table.metadata.refs.values()} | {table.metadata.current_snapshot_id}
    limit = int(before.timestamp() * 1000)
    old = [one for one in table.snapshots() if one.timestamp_ms < limit and one.snapshot_id not in kept]
    if not old:
        return Expired((), ())
    ids = tuple(one.snapshot_id for one in old)
    seen: dict[str, frozenset[str]] = {}
    held = _files_of(table, old, seen)
    if not dry_run:
        table.maintenance.expire_snapshots().by_ids(list(ids)).commit()
        table.refresh()
    # After the commit, so that a snapshot that came in the meantime keeps its files too.
    remaining = _files_of(table, [one for one in table.snapshots() if one.snapshot_id not in ids], seen)
    loose = tuple(sorted(held - remaining))
    if not dry_run:
        for path in loose:
            with suppress(FileNotFoundError):
                table.io.delete(path)
    return Expired(ids, loose)


def _files_of(table: Table, some: Sequence[Snapshot], seen: dict[str, frozenset[str]]) -> set[str]:
    """Manifest lists, manifests, data and delete files that snapshots name; `seen` has the manifests read already."""
    found: set[str] = set()
    for snapshot in some:
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in seen:
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                seen[manifest.manifest_path] = frozenset(entry.data_file.file_path for entry in entries)
            found |= {manifest.manifest_path, *seen[manifest.manifest_path]}
    return found


def live_files(table: Table) -> set[str]:
    """Every file that some snapshot of the table names."""
    return _files_of(table, table.snapshots(), {})
