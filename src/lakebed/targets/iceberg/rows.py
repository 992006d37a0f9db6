"""The rows of one data file as the table has them now.

PyIceberg turns a NULL list, or a NULL map, of structs into an empty one where fields changed (0.12); so files that the
kernels of Lakebed can read are read by them, and the others by PyIceberg.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import FileScanTask, Table

from lakebed.kernels.scan import read_rows
from lakebed.model import ScanFile
from lakebed.targets.iceberg.files import data_files_of
from lakebed.targets.iceberg.names import mapping_agrees
from lakebed.targets.iceberg.schema import physical_schema


def rows_of_file(table: Table, task: FileScanTask, selected: IcebergSchema) -> Iterator[pa.RecordBatch]:
    """The rows that nobody deleted, in the physical schema of the selected columns of the table."""
    schema = physical_schema(selected)
    if not _readable(table, task):
        for batch in ArrowScan(table.metadata, table.io, selected, AlwaysTrue()).to_record_batches([task]):
            yield from pa.Table.from_batches([batch]).cast(schema).to_batches()
        return
    (file,) = data_files_of([task], table.schema(), table.specs())
    deletes = tuple(delete.file_path for delete in task.delete_files)
    for batch in read_rows(
        ScanFile(task.file.file_path, file.partition, deletes), schema, lambda uri: table.io.new_input(uri).open()
    ):
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _readable(table: Table, task: FileScanTask) -> bool:
    """Parquet with position deletes in Parquet, and nothing that only newer versions of the format have."""
    formats = {task.file.file_format, *(delete.file_format for delete in task.delete_files)}
    return table.format_version < 3 and formats == {FileFormat.PARQUET} and mapping_agrees(table)
