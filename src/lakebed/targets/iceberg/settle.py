"""Makes every data file of a table say by itself what the table says, before engines plan on it.

Engines find the columns of a file by field id, so that renamed, dropped and returned columns need nothing. Two things
a file does not say by itself: which of its rows other writers marked as deleted in files of their own (DuckDB and
Spark, merge on read), and, where it has no field ids (imported with `add_files`), what the table's name mapping makes
of its names. Such files are rewritten first, in a commit of its own that changes no row that a reader sees.
"""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import FileScanTask, Table

from lakebed.model import WrittenFile
from lakebed.storage import join
from lakebed.targets.iceberg.branches import begin_branch
from lakebed.targets.iceberg.files import FOOTERS_AT_ONCE, field_ids
from lakebed.targets.iceberg.names import mapped_ids, mapping_agrees
from lakebed.targets.iceberg.partitions import describe_by_partition, remove_split
from lakebed.targets.iceberg.rows import rows_of_file
from lakebed.targets.iceberg.schema import physical_schema
from lakebed.targets.iceberg.staging import STAGING_ID, STAGING_PREFIX, commit_uuid, in_use, new_staging_id
from lakebed.targets.iceberg.state import current_files, is_read_by_engines
from lakebed.targets.iceberg.transaction import FileReplacement, OneCommit

OPERATION = "lakebed.operation"
SETTLE = "settle"


def unsettled(table: Table, planned: Collection[str] = ()) -> list[FileScanTask]:
    """The files that do not say by themselves what the table says. `planned` are columns that it is about to gain."""
    tasks = current_files(table)
    misled = {task.file.file_path for task in misleading(table, tasks, planned)}
    return [
        task
        for task in tasks
        if task.delete_files or not is_read_by_engines(task.file) or task.file.file_path in misled
    ]


def misleading(table: Table, tasks: Sequence[FileScanTask], planned: Collection[str] = ()) -> list[FileScanTask]:
    """The files without field ids whose names mean, by the table's name mapping, another column or none."""
    if table.name_mapping() is None or (mapping_agrees(table) and not planned):
        return []
    known = {path.casefold(): field_id for path, field_id in field_ids(physical_schema(table.schema())).items()}
    mapped = mapped_ids(table)
    coming = {path.casefold() for path in planned}

    def misleads(task: FileScanTask) -> bool:
        if not is_read_by_engines(task.file):
            return False
        with table.io.new_input(task.file.file_path).open() as stream:
            inside = field_ids(pq.read_schema(stream))
        if -1 not in inside.values():
            return False
        return any(path.casefold() in coming or mapped.get(path) != known.get(path.casefold()) for path in inside)

    with ThreadPoolExecutor(FOOTERS_AT_ONCE, thread_name_prefix="names") as pool:
        return [task for task, misled in zip(tasks, pool.map(misleads, tasks), strict=True) if misled]


def settle(table: Table, planned: Collection[str] = (), branch: str | None = None) -> int:
    """Rewrites such files and commits them; returns how many there were, and does nothing where there are none.

    PyIceberg validates this commit: a concurrent one that touches the same files makes it fail.
    """
    waiting = unsettled(table, planned)
    if not waiting:
        return 0
    id_ = new_staging_id()
    folder = table.location_provider().new_data_location(f"{STAGING_PREFIX}{id_}")
    with in_use(folder):
        _replace(table, waiting, folder, id_, branch)
    return len(waiting)


def _replace(table: Table, waiting: Sequence[FileScanTask], folder: str, id_: str, branch: str | None) -> None:
    schema = physical_schema(table.schema())
    written = [
        file
        for number, task in enumerate(waiting)
        if (file := _rewrite(table, task, folder, f"{number:05d}.parquet", schema)) is not None
    ]
    files = describe_by_partition(written, folder=folder, schema=schema, metadata=table.metadata, io=table.io)
    transaction = OneCommit(table)
    begin_branch(transaction, branch)
    replacement = FileReplacement(transaction, {OPERATION: SETTLE, STAGING_ID: id_}, branch=branch)
    replacement.commit_uuid = commit_uuid(id_)
    with replacement as snapshot:
        for task in waiting:
            snapshot.delete_data_file(task.file)
        for described in files:
            snapshot.append_data_file(described)
    transaction.commit_transaction()
    remove_split(written, files, folder=folder, io=table.io)


def _rewrite(table: Table, task: FileScanTask, folder: str, path: str, schema: pa.Schema) -> WrittenFile | None:
    uri = join(folder, path)
    rows = 0
    with (
        table.io.new_output(uri).create(overwrite=True) as stream,
        pq.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for batch in rows_of_file(table, task, table.schema()):
            writer.write_batch(batch)
            rows += batch.num_rows
    if rows == 0:
        table.io.delete(uri)
        return None
    return WrittenFile(path=path, rows=rows, size_bytes=len(table.io.new_input(uri)))
