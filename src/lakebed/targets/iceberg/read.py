"""An Iceberg table for a reader in this process, and the exact sums that a load is checked against."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.dataset as pads
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, In, IsNull
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Table

from lakebed.errors import TargetError
from lakebed.kernels.groups import group_columns
from lakebed.kernels.slices import in_slice
from lakebed.kernels.sums import exact_totals, no_totals
from lakebed.model import AnySlice, GroupKey, Totals
from lakebed.targets.iceberg.deletes import position_deletes, scan_file
from lakebed.targets.iceberg.manifests import has_equality_deletes
from lakebed.targets.iceberg.names import names_suffice
from lakebed.targets.iceberg.rows import rows_of_file
from lakebed.targets.iceberg.schema import physical_schema, table_schema
from lakebed.targets.iceberg.settle import misleading
from lakebed.targets.iceberg.state import (
    current_files,
    data_files,
    has_defaults,
    is_read_by_engines,
    partition_columns,
)
from lakebed.targets.scan import ScanPlan


def read(table: Table, columns: Sequence[str] | None = None) -> pads.Dataset | pa.Table:
    """The table as a lazy pyarrow Dataset where its files can be read by name, else as a Table in memory.

    Names do not suffice once a column was renamed or dropped and added again, or rows were deleted beside the files;
    field ids then decide.
    """
    tasks = current_files(table)
    selected = _selected(table.schema(), columns)
    by_name = not has_defaults(selected) and all(
        not task.delete_files and is_read_by_engines(task.file) for task in tasks
    )
    if tasks and by_name and names_suffice(table):
        schema = pa.schema([field.remove_metadata() for field in physical_schema(selected)])
        io = table.io
        if isinstance(io, PyArrowFileIO):
            scheme, netloc, _ = io.parse_location(tasks[0].file.file_path)
            paths = [io.parse_location(task.file.file_path)[2] for task in tasks]
            return pads.dataset(paths, schema=schema, format="parquet", filesystem=io.fs_by_scheme(scheme, netloc))
    chosen = physical_schema(selected)
    batches = [batch for task in tasks for batch in rows_of_file(table, task, selected)]
    return pa.Table.from_batches(batches, chosen).cast(_plain(chosen))


def _selected(schema: IcebergSchema, columns: Sequence[str] | None) -> IcebergSchema:
    return schema if columns is None else schema.select(*columns, case_sensitive=False)


def _plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in schema])


def scan_plan(table: Table) -> ScanPlan:
    """The files to read, for engines that read them themselves."""
    tasks = current_files(table)
    if has_defaults(table.schema()):
        raise TargetError(
            f"{'.'.join(table.name())} has columns with default values, which workers do not know",
            remedy="Read it without spark=.",
        )
    for task in tasks:
        if not is_read_by_engines(task.file):
            raise TargetError(
                f"{'.'.join(table.name())} holds data files in the format {task.file.file_format.value}, which workers "
                "cannot read",
                remedy="Read it without spark=, or compact it with the engine that wrote them.",
            )
        for delete in position_deletes(task):
            if delete.file_format != FileFormat.PARQUET:
                raise TargetError(
                    f"{'.'.join(table.name())} holds deletes as {delete.file_format.value}, which workers cannot apply",
                    remedy="Read it without spark=, or compact it with the engine that wrote them.",
                )
    if misled := misleading(table, tasks):
        raise TargetError(
            f"{len(misled)} files of {'.'.join(table.name())}, such as {misled[0].file.file_path}, have no field ids, "
            "and the table's name mapping, which workers do not know, gives their names another meaning",
            remedy="Read it without spark=; the next merge or load gives these files ids.",
        )
    return ScanPlan(
        schema=table_schema(table.schema()),
        physical=physical_schema(table.schema()),
        files=tuple(
            scan_file(table, task, file.partition) for file, task in zip(data_files(table, tasks), tasks, strict=True)
        ),
        partition_by=partition_columns(table),
        by_field_id=not names_suffice(table),
    )


def totals(
    table: Table,
    slice_: AnySlice | None,
    columns: Sequence[str],
    *,
    currency: str | None = None,
    by: Sequence[GroupKey] | None = None,
) -> Totals:
    """Rows and exact sums of the committed table, deletes of other writers applied; with `by` also by groups."""
    names = {name.lower() for name in table.schema().column_names}
    if slice_ is not None and any(name.lower() not in names for name in slice_.values):
        return no_totals(columns)
    wanted = (*columns, *([currency] if currency else ()), *group_columns(by))
    return exact_totals(_batches(table, slice_, wanted), columns, currency=currency, by=by)


def _condition(name: str, value: object) -> BooleanExpression:
    if isinstance(value, frozenset):
        return In(name, value)  # type: ignore[call-arg, arg-type]
    return IsNull(name) if value is None else EqualTo(name, value)  # type: ignore[call-arg, arg-type]


def _batches(table: Table, slice_: AnySlice | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    condition: BooleanExpression = AlwaysTrue()
    values: Mapping[str, object] = slice_.values if slice_ else {}
    if has_equality_deletes(table):
        # PyIceberg refuses to plan a scan over them, even where they count for no file any more.
        chosen = _selected(table.schema(), tuple(dict.fromkeys((*columns, *values))) or None)
        for task in current_files(table):
            for batch in rows_of_file(table, task, chosen):
                yield batch.filter(in_slice(batch, values))
        return
    # PyIceberg takes a dot in a filter for the field of a struct.
    dotted = {name: value for name, value in values.items() if "." in name}
    for name, value in values.items():
        if name in dotted:
            continue
        condition = And(condition, _condition(name, value))
    # Without any column there would be no rows to count.
    fields = tuple(dict.fromkeys((*columns, *dotted))) or (table.schema().fields[0].name,)
    found = table.scan(row_filter=condition, selected_fields=fields, case_sensitive=False).to_arrow_batch_reader()
    for batch in found:
        yield batch.filter(in_slice(batch, dotted)) if dotted else batch
