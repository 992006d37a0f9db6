"""Numbered writes: which versions of which apps a table holds, said by its snapshots and by the table itself."""

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from lakebed.targets.base import Txn

_APP = "lakebed.txn-app"
_VERSION = "lakebed.txn-version"
# A property of the table, for each app: snapshots expire.
_PREFIX = "lakebed.txn."


def snapshot_facts(txn: Txn) -> dict[str, str]:
    """What the snapshot of a numbered write says of it."""
    return {_APP: txn.app, _VERSION: str(txn.version)}


def table_facts(txn: Txn) -> dict[str, str]:
    """What the table says of a write that is not a branch's alone, in the same commit."""
    return {f"{_PREFIX}{txn.app}": str(txn.version)}


def recorded_txns(metadata: TableMetadata) -> dict[str, int]:
    """The last version of each app that the current snapshot holds.

    Its ancestors say so; a snapshot that is none of them was rolled back, or is another branch's. The table's own
    properties speak for what no snapshot says any more, because those that did have expired.
    """
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    found: dict[str, int] = {}
    parent = metadata.current_snapshot_id
    while parent is not None and (snapshot := snapshots.pop(parent, None)) is not None:
        for app, version in _said(snapshot).items():
            found.setdefault(app, version)
        parent = snapshot.parent_snapshot_id
    elsewhere = {one for snapshot in snapshots.values() for one in _said(snapshot).items()}
    kept = {
        name.removeprefix(_PREFIX): int(value)
        for name, value in metadata.properties.items()
        if name.startswith(_PREFIX) and value.isdigit()
    }
    return {app: version for app, version in kept.items() if (app, version) not in elsewhere} | found


def _said(snapshot: Snapshot) -> dict[str, int]:
    facts = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return {facts[_APP]: int(facts[_VERSION])} if _APP in facts and facts.get(_VERSION, "").isdigit() else {}
