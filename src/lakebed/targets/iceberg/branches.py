"""Branches and tags of a table: the table as one of them shows it, and what may be done to one."""

from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.table.update.snapshot import ManageSnapshots

from lakebed.errors import ConcurrentModification, NotFound, TargetError
from lakebed.targets.iceberg.loads import publish_log, write_step
from lakebed.targets.load_log import LoadStep
from lakebed.targets.snapshots import Publication


def at_branch(table: Table, name: str | None) -> Table:
    """The table with the rows of a branch or tag as its current ones; one that is not there yet begins with main's.

    The schema is the table's: Iceberg keeps one for all branches.
    """
    ref = find_ref(table.metadata, name)
    return table if ref is None else at_snapshot(table, ref.snapshot_id)


def at_snapshot(table: Table, snapshot_id: int) -> Table:
    """The table with the rows of a snapshot as its current ones, under the schema of today."""
    if snapshot_id == table.metadata.current_snapshot_id:
        return table
    metadata = table.metadata.model_copy(update={"current_snapshot_id": snapshot_id})
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog, table.config)


def find_ref(metadata: TableMetadata, name: str | None) -> SnapshotRef | None:
    """The branch or tag of this name, or None."""
    return None if name is None else metadata.refs.get(name)


def require_ref(table: Table, name: str | None) -> None:
    """Raises NotFound where the table has no such branch or tag."""
    if name is None or name == MAIN_BRANCH or find_ref(table.metadata, name) is not None:
        return
    known = ", ".join(sorted(table.metadata.refs)) or "none"
    raise NotFound(
        f"{'.'.join(table.name())} has no branch or tag {name}",
        remedy=f"It has: {known}. A branch is made by the first merge or load into it.",
    )


def require_branch(table: Table, name: str | None) -> None:
    """Raises TargetError where the name is that of a tag, which stays what it is."""
    ref = find_ref(table.metadata, name)
    if ref is not None and ref.snapshot_ref_type == SnapshotRefType.TAG:
        raise TargetError(
            f"{name} is a tag of {'.'.join(table.name())}, and nothing is written to a tag",
            remedy="Write to a branch: a new name after @ makes one, or leave @ out for the table itself.",
        )


def require_trunk(table: Table | None, name: str | None, address: str) -> None:
    """Raises TargetError where a branch would be the first thing that a table has, which Iceberg does not allow."""
    if name is not None and (table is None or table.metadata.current_snapshot_id is None):
        raise TargetError(
            f"{address.removesuffix(f'@{name}')} has no rows yet, and a branch begins with those of its table",
            remedy=f"Write to the table first, without @{name}.",
        )


def begin_branch(transaction: Transaction, name: str | None) -> None:
    """Makes the branch, where it is not there yet, at what the transaction's table shows: in the same commit."""
    metadata = transaction.table_metadata
    if name is None or name in metadata.refs or metadata.current_snapshot_id is None:
        return
    transaction._stage(
        *transaction._set_ref_snapshot(metadata.current_snapshot_id, ref_name=name, type=SnapshotRefType.BRANCH)
    )


def set_branch(table: Table, name: str | None, snapshot_id: int, loads: LoadStep | None = None) -> None:
    """Lets a branch, or main, show this snapshot, and the log of loads say so."""
    require_branch(table, name)
    transaction = Transaction(table)
    if loads is not None:
        write_step(transaction, loads, branch=name, replaced=table.metadata.current_snapshot_id)
    # Iceberg has one update for a branch that is made and one that is moved; it fails if another moved it meanwhile.
    ManageSnapshots(transaction).create_branch(snapshot_id, name or MAIN_BRANCH).commit()
    transaction.commit_transaction()


def publish(table: Table, name: str, *, drop_branch: bool, dry_run: bool) -> Publication:
    """Main shows what the branch shows, in one commit. Only forwards: rows that main has and the branch lacks stay."""
    require_ref(table, name)
    require_branch(table, name)
    if name == MAIN_BRANCH:
        raise TargetError(f"{MAIN_BRANCH} is what a branch is published to", remedy="Name another branch.")
    metadata = table.metadata
    head, main = metadata.refs[name].snapshot_id, metadata.refs.get(MAIN_BRANCH)
    before = None if main is None else main.snapshot_id
    passed = [one.snapshot_id for one in ancestors_of(metadata.snapshot_by_id(head), metadata)]
    if before is not None and before not in passed:
        raise ConcurrentModification(
            f"{'.'.join(table.name())} was changed after the branch {name} was made, so that publishing it would undo "
            f"snapshot {before}",
            remedy="Merge or load again into a new branch, and publish that one.",
        )
    new = passed.index(before) if before is not None else len(passed)
    if not dry_run and (new or drop_branch):
        transaction = Transaction(table)
        change = ManageSnapshots(transaction)
        if new:
            change = change.create_branch(head, MAIN_BRANCH)
        if drop_branch:
            change = change.remove_branch(name)
        change.commit()
        publish_log(transaction, name)
        transaction.commit_transaction()
    summary = getattr(metadata.snapshot_by_id(head), "summary", None)
    rows = None if summary is None else summary["total-records"]
    return Publication(name, head, before, new, None if rows is None else int(rows), drop_branch, dry_run)
