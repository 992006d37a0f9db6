"""The rows of one data file as the table has them now.

PyIceberg turns a NULL list, or a NULL map, of structs into an empty one where fields changed (0.12); so files that the
kernels of Lakebed can read are read by them, and the others by PyIceberg.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import FileScanTask, Table

from lakebed.kernels.columns import field_id
from lakebed.kernels.equality import read_marks, with_compared, without_marked
from lakebed.kernels.scan import read_rows
from lakebed.targets.iceberg.deletes import equality_deletes, known_fields, position_deletes, scan_file
from lakebed.targets.iceberg.files import data_files_of
from lakebed.targets.iceberg.names import mapping_agrees
from lakebed.targets.iceberg.schema import physical_schema


def rows_of_file(table: Table, task: FileScanTask, selected: IcebergSchema) -> Iterator[pa.RecordBatch]:
    """The rows that nobody deleted, in the physical schema of the selected columns of the table."""
    if not _readable(table, task):
        yield from _rows_by_pyiceberg(table, task, selected)
        return
    schema = physical_schema(selected)
    (file,) = data_files_of([task], table.schema(), table.specs())
    for batch in read_rows(scan_file(table, task, file.partition), schema, _opening(table)):
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def count_rows(table: Table, tasks: Sequence[FileScanTask]) -> int:
    """The rows of the table that nobody deleted; only files that others deleted rows of are looked into."""
    first = IcebergSchema(*table.schema().fields[:1])
    return sum(
        sum(batch.num_rows for batch in rows_of_file(table, task, first))
        if task.delete_files
        else task.file.record_count
        for task in tasks
    )


def _rows_by_pyiceberg(table: Table, task: FileScanTask, selected: IcebergSchema) -> Iterator[pa.RecordBatch]:
    """What PyIceberg reads, without the rows that are deleted by their values, of which it knows nothing."""
    schema = physical_schema(selected)
    marks = read_marks(equality_deletes(table, task), _opening(table))
    compared = with_compared(schema, marks)
    fields = known_fields(table)
    # PyIceberg goes by ids; a name that is gone may be that of another column now.
    more = [
        fields[number].model_copy(update={"name": f"field {number}", "required": False})
        for field in list(compared)[len(schema) :]
        if (number := field_id(field)) is not None
    ]
    wanted = IcebergSchema(*selected.fields, *more)
    only = FileScanTask(task.file, position_deletes(task), task.residual)
    for batch in ArrowScan(table.metadata, table.io, wanted, AlwaysTrue()).to_record_batches([only]):
        for part in pa.Table.from_batches([batch]).cast(physical_schema(wanted)).to_batches():
            columns = without_marked(part.columns, compared, marks)
            yield pa.RecordBatch.from_arrays(columns[: len(schema)], schema=schema)


def _opening(table: Table) -> Callable[[str], Any]:
    return lambda uri: table.io.new_input(uri).open()


def _readable(table: Table, task: FileScanTask) -> bool:
    """Parquet with position deletes in Parquet, and nothing that only newer versions of the format have."""
    formats = {task.file.file_format, *(delete.file_format for delete in position_deletes(task))}
    return table.format_version < 3 and formats == {FileFormat.PARQUET} and mapping_agrees(table)
