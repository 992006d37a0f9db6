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
    """What the table says of it, in the same commit."""
    return {f"{_PREFIX}{txn.app}": str(txn.version)}


def recorded_txns(metadata: TableMetadata) -> dict[str, int]:
    """The last version of each app that the current snapshot holds.

    Its ancestors say so; a snapshot that is none of them was rolled back. The table's own properties speak for the apps
    that no snapshot names any more, because those that did have expired.
    """
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    found: dict[str, int] = {}
    parent = metadata.current_snapshot_id
    while parent is not None and (snapshot := snapshots.pop(parent, None)) is not None:
        for app, version in _said(snapshot).items():
            found.setdefault(app, version)
        parent = snapshot.parent_snapshot_id
    rolled_back = {app for snapshot in snapshots.values() for app in _said(snapshot)}
    kept = {
        app: int(value)
        for name, value in metadata.properties.items()
        if name.startswith(_PREFIX) and value.isdigit() and (app := name.removeprefix(_PREFIX)) not in rolled_back
    }
    return kept | found


def _said(snapshot: Snapshot) -> dict[str, int]:
    facts = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return {facts[_APP]: int(facts[_VERSION])} if _APP in facts and facts.get(_VERSION, "").isdigit() else {}
