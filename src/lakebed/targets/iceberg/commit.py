"""The one commit: schema, removal and arrival in one transaction and one snapshot.

PyIceberg retries a commit by itself, and would add a slice again that another writer has just loaded; so its retries
are off, and every attempt here looks at what has happened since the plan was made.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from pyiceberg.exceptions import CommitFailedException, RESTError, ValidationException
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from requests.exceptions import RequestException
from sqlalchemy.exc import SQLAlchemyError

from lakebed.checkpoints import pass_checkpoint
from lakebed.errors import ConcurrentModification, TargetError
from lakebed.model import DataFile, Staging
from lakebed.retry import retry
from lakebed.schema.evolve import EvolutionPlan
from lakebed.targets.base import Change, PastCommit
from lakebed.targets.iceberg.branches import at_branch, begin_branch
from lakebed.targets.iceberg.files import field_ids, plain_path
from lakebed.targets.iceberg.loads import write_step
from lakebed.targets.iceberg.partitions import describe_by_partition, remove_split
from lakebed.targets.iceberg.properties import follow_columns
from lakebed.targets.iceberg.schema import evolve, iceberg_type, physical_schema
from lakebed.targets.iceberg.slices import affected
from lakebed.targets.iceberg.staging import STAGING_ID, commit_uuid
from lakebed.targets.iceberg.state import current_files, data_files, version
from lakebed.targets.iceberg.transaction import FileReplacement, OneCommit
from lakebed.targets.iceberg.txns import snapshot_facts, table_facts

# Snapshot properties.
PREFIX = "lakebed."
PLAN_HASH = "lakebed.plan"
ADDED_COLUMNS = "lakebed.added-columns"
WIDENED_COLUMNS = "lakebed.widened-columns"


class CatalogRefused(ConcurrentModification):
    """Another commit came between the plan and ours; ours may still follow it as it is."""


class OutcomeUnknown(TargetError):
    """The catalog was asked to commit, and its answer never came."""


def snapshot_properties(staging: Staging, change: Change) -> dict[str, str]:
    """What the snapshot says about itself: the plan, the staging, and what the caller adds (run, delivery)."""
    plan = change.evolution
    named = {key if key.startswith(PREFIX) else PREFIX + key: value for key, value in change.properties.items()}
    named |= {STAGING_ID: staging.id, PLAN_HASH: plan.hash}
    if plan.added_columns:
        named[ADDED_COLUMNS] = json.dumps(plan.added_columns)
    if widened := [".".join(step.path) for step in plan.widenings]:
        named[WIDENED_COLUMNS] = json.dumps(widened)
    return named if change.txn is None else named | snapshot_facts(change.txn)


def landed(metadata: TableMetadata, staging: Staging) -> Snapshot | None:
    """The snapshot that committed this staging, if one did: an answer may be lost on its way, the commit is not."""
    for snapshot in metadata.snapshots:
        if snapshot.summary is not None and snapshot.summary.additional_properties.get(STAGING_ID) == staging.id:
            return snapshot
    return None


def last_commit(table: Table) -> PastCommit | None:
    """The current snapshot, where it is ours."""
    snapshot = table.current_snapshot()
    facts = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
    if snapshot is None or STAGING_ID not in facts:
        return None
    at = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
    return PastCommit(facts[STAGING_ID], at, {key: value for key, value in facts.items() if key.startswith(PREFIX)})


def commit(
    table: Table,
    seen: Mapping[str, DataFile],
    seen_version: str,
    staging: Staging,
    change: Change,
    *,
    branch: str | None = None,
) -> Table:
    """Commits onto a table that exists. `seen` and `seen_version` are the table as the change was planned on it.

    Another's commit in between is no obstacle where it touched neither the schema that our files were written in nor
    the slice that we replace. Otherwise raises ConcurrentModification, and the change must be planned again.
    """
    name = ".".join(table.name())
    refused = False

    def attempt() -> Table:
        nonlocal refused, table
        if refused:
            table = at_branch(table.refresh(), branch)
        if landed(table.metadata, staging):
            return table
        if version(table.metadata) != seen_version:
            require_compatible(table, seen, change)
        try:
            return _attempt(table, staging, change, branch)
        except (CommitFailedException, ValidationException) as error:
            refused = True
            raise CatalogRefused(
                f"{name} was committed to by another writer: {error}", remedy="Run it again: nothing was changed."
            ) from error
        except OutcomeUnknown:
            with answering(name):
                table = at_branch(table.refresh(), branch)
            if landed(table.metadata, staging):
                return table
            raise

    return retry(attempt, what=f"the commit to {name}", on=CatalogRefused)


def _attempt(table: Table, staging: Staging, change: Change, branch: str | None) -> Table:
    once = _without_retries(table)
    transaction = OneCommit(once)
    pass_checkpoint("staged")
    evolved = evolve(transaction, change.evolution)
    follow_columns(transaction, change.evolution)
    pass_checkpoint("evolved")
    if change.add:
        # A change of the schema alone has written no file: whichever ids its columns get will do.
        require_same_ids(table, staging, physical_ids=field_ids(physical_schema(evolved)))
    arriving = write_snapshot(transaction, once, staging, change, branch=branch)
    if change.loads is not None:
        write_step(transaction, change.loads, branch=branch, replaced=once.metadata.current_snapshot_id)
    with answering(".".join(table.name())):
        committed = transaction.commit_transaction()
    pass_checkpoint("committed")
    remove_split(change.add, arriving, folder=staging.folder, io=table.io)
    return committed


@contextmanager
def answering(table: str) -> Iterator[None]:
    """Around the catalog's answer: a clear refusal passes, anything else leaves open what happened."""
    try:
        yield
    except (RESTError, RequestException, SQLAlchemyError) as error:
        raise OutcomeUnknown(
            f"the catalog did not say whether it committed to {table}: {error}",
            remedy="Run it again: a commit that landed after all is found, and its files are kept until then.",
        ) from error


def write_snapshot(
    transaction: Transaction, table: Table, staging: Staging, change: Change, *, branch: str | None = None
) -> list[IcebergFile]:
    """Puts removal and arrival into the transaction as one snapshot; an append where nothing is removed.

    Returns what arrives: the new files, or the parts of those that span several partitions.
    """
    metadata = transaction.table_metadata
    arriving = describe_by_partition(
        change.add, folder=staging.folder, schema=staging.schema, metadata=metadata, io=table.io
    )
    leaving = _leaving(table, change.remove)
    pass_checkpoint("described")
    if not (arriving or leaving or change.evolution.changes_schema or change.txn):
        return arriving
    if change.txn is not None and branch is None:
        transaction.set_properties(table_facts(change.txn))
    begin_branch(transaction, branch)
    properties = snapshot_properties(staging, change)
    appending = transaction.update_snapshot(properties, branch or MAIN_BRANCH).merge_append
    producer = FileReplacement(transaction, properties, branch=branch) if leaving else appending()
    producer.commit_uuid = commit_uuid(staging.id)
    with producer as snapshot:
        for file in leaving:
            snapshot.delete_data_file(file)
        for file in arriving:
            snapshot.append_data_file(file)
        pass_checkpoint("exchanged")
    pass_checkpoint("snapshot written")
    return arriving


def _leaving(table: Table, remove: Sequence[DataFile]) -> list[IcebergFile]:
    if not remove:
        return []
    current = {plain_path(task.file.file_path): task.file for task in current_files(table)}
    if gone := [file.uri for file in remove if file.uri not in current]:
        raise ConcurrentModification(
            f"{'.'.join(table.name())} no longer has {len(gone)} of the files to replace, such as {gone[0]}"
        )
    return [current[file.uri] for file in remove]


def require_same_ids(table: Table, staging: Staging, *, physical_ids: Mapping[str, int]) -> None:
    """Files were written with the field ids that this schema change was going to give; it must still give them."""
    for path, field_id in field_ids(staging.schema).items():
        if physical_ids.get(path) != field_id:
            raise ConcurrentModification(
                f"the schema of {'.'.join(table.name())} changed while its new files were written: {path} would be "
                f"field {physical_ids.get(path)} and was written as {field_id}"
            )


def require_compatible(table: Table, seen: Mapping[str, DataFile], change: Change) -> None:
    """Another committed since the plan was made: may ours follow as it is? Raises ConcurrentModification if not."""
    name = ".".join(table.name())
    if (change.remove_slice is None or change.follows_nobody) and (change.add or change.remove):
        raise ConcurrentModification(f"{name} was changed since it was read")
    now = {file.uri: file for file in data_files(table)}
    for file in change.remove:
        if file.uri not in now or now[file.uri].fingerprint != file.fingerprint:
            raise ConcurrentModification(f"{name}: {file.uri}, which is to be replaced, was changed by another commit")
    if change.remove_slice is not None:
        arrived = [file for uri, file in now.items() if uri not in seen or seen[uri].fingerprint != file.fingerprint]
        touched = affected(arrived, change.remove_slice, table)
        if touched.whole or touched.mixed:
            raise ConcurrentModification(
                f"{name}: another commit brought rows of {change.remove_slice} while this one was being written"
            )
    _require_schema_as_planned(table, change.evolution)


def _require_schema_as_planned(table: Table, plan: EvolutionPlan) -> None:
    """Raises ConcurrentModification where another commit has added or widened a column that this plan changes."""
    now = {path.casefold(): table.schema().find_type(path) for path in table.schema().column_names}
    planned = {".".join(add.path): None for add in plan.adds} | {
        ".".join(step.path): iceberg_type(step.before, ".".join(step.path)) for step in plan.widenings
    }
    for path, expected in planned.items():
        if str(now.get(path.casefold())) != str(expected):
            raise ConcurrentModification(f"{'.'.join(table.name())}: another commit changed the column {path}")


def _without_retries(table: Table) -> Table:
    """The same table for one attempt. Only this copy says so: properties of the table itself stay as they are."""
    properties = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    metadata = table.metadata.model_copy(update={"properties": properties})
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog, table.config)
