"""The log of loads in an Iceberg table: a property of the table, one for each branch, and tags on kept snapshots."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pyiceberg.table import Transaction
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update.snapshot import ManageSnapshots

from lakebed.targets.load_log import NO_LOADS, LoadLog, LoadStep, LoggedLoad
from lakebed.targets.shared.refusals import unreadable_log

_PROPERTY = "lakebed.loads"
_TAG = "lakebed-load-"


def tag_of(load: LoggedLoad) -> str:
    """The tag that holds the last snapshot with the rows of a load."""
    return f"{_TAG}{load.id}"


def property_of(branch: str | None) -> str:
    """Where the log of a branch is, or of the table itself."""
    return _PROPERTY if branch in (None, MAIN_BRANCH) else f"{_PROPERTY}@{branch}"


def read_log(properties: Mapping[str, str], branch: str | None, *, name: str) -> LoadLog:
    """The loads of a branch; one that has none of its own shows those of the table."""
    place = next((one for one in (property_of(branch), _PROPERTY) if one in properties), None)
    if place is None:
        return NO_LOADS
    try:
        return LoadLog.from_text(properties[place])
    except ValueError as error:
        raise unreadable_log(name, f"the property {place}", error) from error


def write_step(transaction: Transaction, step: LoadStep, *, branch: str | None, replaced: int | None) -> None:
    """Puts the step into the transaction; `replaced` is the snapshot that the branch showed before it."""
    metadata = transaction.table_metadata
    log = read_log(metadata.properties, branch, name=".".join(transaction._table.name()))
    tags = ManageSnapshots(transaction)
    if replaced is not None:
        for load in log.replaced_by(step):
            tags.create_tag(replaced, tag_of(load))
    for load in log.loads:
        if load.id in step.forget and tag_of(load) in metadata.refs:
            tags.remove_tag(tag_of(load))
    tags.commit()
    # Without a snapshot of its own nothing else would notice that another writer was faster.
    head = metadata.refs.get(branch or MAIN_BRANCH)
    if not step.loads and head is not None:
        _, unmoved = transaction._set_ref_snapshot(head.snapshot_id, branch or MAIN_BRANCH, SnapshotRefType.BRANCH)
        transaction._stage((), unmoved)
    transaction.set_properties({property_of(branch): log.after(step).to_text()})


def publish_log(transaction: Transaction, branch: str) -> None:
    """What was loaded into a branch counts for the table from now on."""
    properties = transaction.table_metadata.properties
    if property_of(branch) not in properties:
        return
    name, now = ".".join(transaction._table.name()), datetime.now(UTC)
    before = {load.id for load in read_log(properties, None, name=name).loads}
    there = read_log(properties, branch, name=name)
    loads = tuple(load if load.id in before else replace(load, at=now) for load in there.loads)
    transaction.set_properties({property_of(None): replace(there, loads=loads).to_text()})
    transaction.remove_properties(property_of(branch))
