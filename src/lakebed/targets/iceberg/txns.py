"""Numbered writes: which versions of which apps a table holds, said by its snapshots and by the table itself."""

from pyiceberg.table.metadata import TableMetadata

from lakebed.targets.base import Txn

_APP = "lakebed.txn-app"
_VERSION = "lakebed.txn-version"
# A property of the table, for each app: snapshots expire.
_PREFIX = "lakebed.txn."


def snapshot_facts(txn: Txn) -> dict[str, str]:
    """What the snapshot of a numbered write says of it."""
    return {_APP: txn.app, _VERSION: str(txn.version)}


def table_facts(txn: Txn) -> dict[str, str]:
    """What the table says of it, in the same commit."""
    return {f"{_PREFIX}{txn.app}": str(txn.version)}


def recorded_txns(metadata: TableMetadata) -> dict[str, int]:
    """The last version of each app that the current snapshot holds.

    Its ancestors say so, and what was rolled back is none of them. Where some of them have expired, the table's own
    properties speak for the apps that the others do not name.
    """
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    found: dict[str, int] = {}
    parent = metadata.current_snapshot_id
    while parent is not None and (snapshot := snapshots.get(parent)) is not None:
        said = {} if snapshot.summary is None else snapshot.summary.additional_properties
        if _APP in said and said.get(_VERSION, "").isdigit():
            found.setdefault(said[_APP], int(said[_VERSION]))
        parent = snapshot.parent_snapshot_id
    if parent is None:
        return found
    kept = {
        name.removeprefix(_PREFIX): int(value)
        for name, value in metadata.properties.items()
        if name.startswith(_PREFIX) and value.isdigit()
    }
    return kept | found
