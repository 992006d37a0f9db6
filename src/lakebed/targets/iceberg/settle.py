"""Makes every data file of a table say by itself what the table says: before engines, which read files by name, plan.

Other writers may mark rows as deleted in files of their own (DuckDB and Spark, merge on read), and may rename a column,
or drop one and add another of its name; Iceberg's readers then combine files, deletes and field ids. Engines here
rewrite data files as they are, which would bring deleted rows back and lose renamed columns. So the files concerned are
rewritten first, through PyIceberg, in a commit of its own that changes no row that a reader sees.
"""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import index_by_id
from pyiceberg.table import FileScanTask, Table

from lakebed.model import WrittenFile
from lakebed.storage import join
from lakebed.targets.iceberg.branches import begin_branch
from lakebed.targets.iceberg.files import FOOTERS_AT_ONCE, field_ids
from lakebed.targets.iceberg.partitions import describe_by_partition, remove_split
from lakebed.targets.iceberg.schema import physical_schema
from lakebed.targets.iceberg.state import current_files, is_read_by_engines
from lakebed.targets.iceberg.transaction import OneCommit, Replacement

OPERATION = "lakebed.operation"
SETTLE = "settle"


def names_are_stable(table: Table) -> bool:
    """In every schema that the table ever had, a field id had one full name, and a name one field id."""
    name_of: dict[int, str] = {}
    id_of: dict[str, int] = {}
    for schema in table.schemas().values():
        for field_id in index_by_id(schema):
            name = str(schema.find_column_name(field_id))
            if name_of.setdefault(field_id, name) != name or id_of.setdefault(name, field_id) != field_id:
                return False
    return True


def unsettled(table: Table) -> list[FileScanTask]:
    """The files that cannot be read by name alone."""
    tasks = current_files(table)
    if names_are_stable(table):
        return [task for task in tasks if task.delete_files or not is_read_by_engines(task.file)]
    known = field_ids(physical_schema(table.schema()))

    def differs(task: FileScanTask) -> bool:
        if not is_read_by_engines(task.file):
            return True
        with table.io.new_input(task.file.file_path).open() as stream:
            inside = field_ids(pq.read_schema(stream))
        return bool(task.delete_files) or any(known.get(path) != field_id for path, field_id in inside.items())

    with ThreadPoolExecutor(FOOTERS_AT_ONCE, thread_name_prefix="names") as pool:
        return [task for task, wrong in zip(tasks, pool.map(differs, tasks), strict=True) if wrong]


def settle(table: Table, branch: str | None = None) -> int:
    """Rewrites such files and commits them; returns how many there were, and does nothing where there are none.

    PyIceberg validates this commit: a concurrent one that touches the same files makes it fail.
    """
    waiting = unsettled(table)
    if not waiting:
        return 0
    schema = physical_schema(table.schema())
    folder = table.location_provider().new_data_location(f"lakebed-{uuid.uuid4().hex}")
    written = [
        file
        for number, task in enumerate(waiting)
        if (file := _rewrite(table, task, folder, f"{number:05d}.parquet", schema)) is not None
    ]
    files = describe_by_partition(written, folder=folder, schema=schema, metadata=table.metadata, io=table.io)
    transaction = OneCommit(table)
    begin_branch(transaction, branch)
    with Replacement(transaction, {OPERATION: SETTLE}, branch=branch) as snapshot:
        for task in waiting:
            snapshot.delete_data_file(task.file)
        for described in files:
            snapshot.append_data_file(described)
    transaction.commit_transaction()
    remove_split(written, files, folder=folder, io=table.io)
    return len(waiting)


def _rewrite(table: Table, task: FileScanTask, folder: str, path: str, schema: pa.Schema) -> WrittenFile | None:
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    uri = join(folder, path)
    rows = 0
    with (
        table.io.new_output(uri).create(overwrite=True) as stream,
        pq.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for batch in scan.to_record_batches([task]):
            if batch.num_rows:
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
                rows += batch.num_rows
    if rows == 0:
        table.io.delete(uri)
        return None
    return WrittenFile(path=path, rows=rows, size_bytes=len(table.io.new_input(uri)))
