"""Existing data files in, new ones in the table's present schema out: without one slice's rows, or only those."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import SchemaIncompatible
from lakebed.kernels.columns import find_columns
from lakebed.kernels.conform import as_type
from lakebed.kernels.files import filesystem
from lakebed.kernels.parquet import ParquetOutput
from lakebed.kernels.slices import in_slice
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.values import holds
from lakebed.model import DataFile, Staging, WrittenFile

_BATCH_ROWS = 1 << 15


def rewrite(
    staging: Staging,
    storage: StorageSettings,
    file: DataFile,
    name: str,
    without: Mapping[str, object] | None,
    only: Mapping[str, object] | None = None,
) -> tuple[WrittenFile, ...]:
    """The rows of the file, cast and padded to the schema: those that agree with all of `only`, none with `without`."""
    opened, path = filesystem(file.uri, storage)
    output = ParquetOutput(staging, storage, name=name, partition=file.partition)
    try:
        with opened.open_input_file(path) as raw:
            for batch in pq.ParquetFile(raw).iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                rows = _named(pa.Table.from_batches([batch]), staging.schema)
                output.write(_shaped(_kept(rows, file.partition, without, only), file.partition, staging.schema))
        return output.close()
    except BaseException:
        output.discard()
        raise


def _named(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The file's columns under the table's names; what the table does not have keeps its own, unless that is taken."""
    found = {place: name for name, place in zip(schema.names, find_columns(schema, rows.schema), strict=True)}
    taken = {name.casefold() for name in schema.names}
    names = rows.column_names
    kept = [place for place, name in enumerate(names) if place in found or name.casefold() not in taken]
    return rows.select(kept).rename_columns([found.get(place, names[place]) for place in kept])


def _kept(
    rows: pa.Table,
    partition: Mapping[str, str | None],
    without: Mapping[str, object] | None,
    only: Mapping[str, object] | None,
) -> pa.Table:
    chosen = rows if only is None else rows.filter(in_slice(rows, only, partition))
    return chosen if without is None else chosen.filter(pc.invert(in_slice(chosen, without, partition)))


def _widened(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    decimal = column.type != field.type and pa.types.is_decimal(column.type) and pa.types.is_decimal(field.type)
    if decimal and not holds(column, field.type.precision - field.type.scale):
        raise SchemaIncompatible(
            column=field.name, current=str(column.type), incoming=str(field.type), reason="it holds larger numbers"
        )
    return as_type(column, field.type, by_id=True)


def _shaped(rows: pa.Table, partition: Mapping[str, str | None], schema: pa.Schema) -> pa.Table:
    present = set(rows.column_names)
    columns = []
    for field in schema:
        if field.name in present:
            column = rows.column(field.name)
            columns.append(_widened(column, field))
        elif partition.get(field.name) is not None:
            columns.append(pa.repeat(partition[field.name], rows.num_rows).cast(field.type))
        else:
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.table(columns, schema=schema)
