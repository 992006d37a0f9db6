"""Parquet deliveries to tables in the table's types: doubles become decimals through their shortest text."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import SourceError, UnplannedColumns
from lakebed.kernels.conform import as_type, loses_fields
from lakebed.kernels.csv import Batch, RejectedRows
from lakebed.kernels.files import filesystem
from lakebed.kernels.header import distinct_originals, match_header
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.values import ParsedColumn, checked, exact_type, holds, is_text, parse, typed
from lakebed.model import RejectedValue, SourceFile

BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class ParquetRead:
    """The batches of a file, and the planned columns that it lacks."""

    batches: Iterator[Batch]
    missing: tuple[str, ...]


def read_parquet(
    source: SourceFile,
    storage: StorageSettings,
    columns: Sequence[tuple[str, str]],
    types: Mapping[str, pa.DataType],
    required: Collection[str] = (),
    *,
    rounds: bool = True,
) -> ParquetRead:
    """Opens the file and matches its columns; rows are read as the batches are asked for."""
    opened, path = filesystem(source.uri, storage)
    try:
        file = pq.ParquetFile(opened.open_input_file(path))
        file.schema_arrow.to_string()  # names that are no UTF-8 show now
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"{source.key}: not readable as Parquet: {error}", remedy="Copy the file again: it is damaged or cut short."
        ) from error
    places = _places(file.schema_arrow, columns)
    names, missing = _match_columns(file.schema_arrow, places, source.key, columns, types, required)
    return ParquetRead(_batches(file, source, places, names, types, rounds=rounds), missing)


def _places(schema: pa.Schema, columns: Sequence[tuple[str, str]]) -> list[int]:
    """The columns to read. One that holds nothing waits for its type, and the plan leaves it out."""
    planned = {original for original, _ in columns}
    return [
        place
        for place, name in enumerate(distinct_originals(schema.names))
        if name in planned or not pa.types.is_null(schema.field(place).type)
    ]


def _match_columns(
    schema: pa.Schema,
    places: Sequence[int],
    key: str,
    columns: Sequence[tuple[str, str]],
    types: Mapping[str, pa.DataType],
    required: Collection[str],
) -> tuple[list[str], tuple[str, ...]]:
    """As `match_header`; what the plan does not know is raised with its types, fields inside known columns too."""
    originals = distinct_originals(schema.names)
    given = {originals[place]: schema.field(place).type for place in places}
    waiting = set(originals).difference(given)
    needed = [original for original in required if original not in waiting]
    try:
        names, missing = match_header(list(given), columns, file=key, required=needed)
    except UnplannedColumns as error:
        raise UnplannedColumns(
            file=key, names=error.names, types={name: (given[name],) for name in error.names}
        ) from None
    # A cast leaves out the fields of a struct that its new type lacks, and says nothing.
    grown = [one for one, name in zip(given, names, strict=True) if loses_fields(given[one], types[name])]
    if grown:
        raise UnplannedColumns(file=key, names=grown, types={name: (given[name],) for name in grown})
    return names, missing


def _batches(
    file: pq.ParquetFile,
    source: SourceFile,
    places: Sequence[int],
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    *,
    rounds: bool,
) -> Iterator[Batch]:
    first = 0
    inside = file.schema_arrow.names
    originals = [inside[place] for place in places]
    batches = file.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(
                f"{source.key}: damaged after row {first}: {error}", remedy="Copy the file again."
            ) from error
        if batch is None:
            return
        read = pa.Table.from_batches([batch]).select(list(places))
        yield _typed(read, source.key, first, originals, names, types, rounds=rounds)
        first += batch.num_rows


def _typed(
    read: pa.Table,
    file: str,
    first: int,
    originals: Sequence[str],
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    *,
    rounds: bool,
) -> Batch:
    values: list[pa.ChunkedArray] = []
    bad: dict[int, RejectedValue] = {}
    for position, name in enumerate(names):
        column = read.column(position)
        found, faults = checked(_cast(column, exact_type(types[name], rounds=rounds)), types[name], rounds=rounds)
        values.append(found)
        for row, expected in faults.items():
            # A Parquet file has no lines: its rows are counted from 1.
            value = str(column[row].as_py())
            bad.setdefault(row, RejectedValue(file, first + row + 1, originals[position], value, expected))
    rows = pa.table(values, names=list(names))
    if not bad:
        return Batch(rows, None)
    rejected = sorted(bad)
    texts = pa.table([_as_text(column.take(rejected)) for column in read.columns], names=list(names))
    keep = pa.array([row not in bad for row in range(read.num_rows)], type=pa.bool_())
    return Batch(rows.filter(keep), RejectedRows(texts, [bad[row] for row in rejected]))


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> ParsedColumn:
    if column.type == wanted:
        return ParsedColumn(column, [])
    if pa.types.is_floating(column.type) and pa.types.is_decimal(wanted):
        return typed(_as_text(column), wanted)
    if pa.types.is_decimal(column.type) and not holds(column, wanted.precision - wanted.scale):
        return parse(_as_text(column), wanted)
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(wanted):
        # A moment with a zone is stored as UTC: dropping the zone keeps the moment.
        column = column.cast(pa.timestamp(column.type.unit))
    if pa.types.is_nested(column.type) and is_text(wanted):
        return ParsedColumn(_as_text(column), [])
    try:
        return ParsedColumn(as_type(column, wanted), [])
    except pa.ArrowException:
        return parse(_as_text(column), wanted)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as text. Of a double that is the shortest that reads back as the same, which is what was meant: 0.1.

    Structs, lists and maps become JSON, in which what is no JSON value is its text.
    """
    if pa.types.is_nested(column.type):
        values = column.to_pylist(maps_as_pydicts="lossy")
        texts = [None if value is None else json.dumps(value, default=str, ensure_ascii=False) for value in values]
        return pa.chunked_array([pa.array(texts, pa.string())])
    return pc.cast(column, pa.string())
