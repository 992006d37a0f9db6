"""Rows that other writers deleted beside the data files (merge on read): folded into the files before we plan.

DuckDB and Spark may mark rows as deleted in files of their own. Engines here rewrite data files as they are, which
would bring such rows back; so the files concerned are first written anew without them, in a commit of its own that
changes no row that a reader sees.
"""

import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask, Table

from lakebed.model import WrittenFile
from lakebed.storage import join
from lakebed.targets.iceberg_files import describe
from lakebed.targets.iceberg_schema import physical_schema
from lakebed.targets.iceberg_state import current_files

OPERATION = "lakebed.operation"
FOLD_DELETES = "fold-deletes"


def fold_deletes(table: Table) -> tuple[str, ...]:
    """Writes the files anew that others deleted rows of, and commits them; returns the addresses of the old files.

    Nothing happens where there are none. PyIceberg validates this commit: a concurrent one that touches the same files
    makes it fail, and the caller plans again anyway.
    """
    covered = [task for task in current_files(table) if task.delete_files]
    if not covered:
        return ()
    schema = physical_schema(table.schema())
    identifier = uuid.uuid4().hex
    folder = table.location_provider().new_data_location(f"lakebed-{identifier}")
    written = [
        file
        for number, task in enumerate(covered)
        if (file := _rewrite(table, task, folder, f"{number:05d}.parquet", schema)) is not None
    ]
    files = describe(written, folder=folder, schema=schema, metadata=table.metadata, io=table.io) if written else []
    transaction = table.transaction()
    with transaction.update_snapshot(snapshot_properties={OPERATION: FOLD_DELETES}).overwrite() as snapshot:
        for task in covered:
            snapshot.delete_data_file(task.file)
        for described in files:
            snapshot.append_data_file(described)
    transaction.commit_transaction()
    return tuple(task.file.file_path for task in covered)


def _rewrite(table: Table, task: FileScanTask, folder: str, path: str, schema: pa.Schema) -> WrittenFile | None:
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    uri = join(folder, path)
    rows = 0
    output = table.io.new_output(uri)
    with output.create(overwrite=True) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for batch in scan.to_record_batches([task]):
            if batch.num_rows:
                writer.write_table(pa.Table.from_batches([batch]).cast(schema))
                rows += batch.num_rows
    if rows == 0:
        table.io.delete(uri)
        return None
    return WrittenFile(path=path, rows=rows, size_bytes=len(table.io.new_input(uri)))
