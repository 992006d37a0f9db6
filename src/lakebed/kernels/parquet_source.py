"""Parquet deliveries to tables in the table's types: doubles become decimals through their shortest text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import SourceError
from lakebed.kernels.csv import Batch, RejectedRows, exact_type
from lakebed.kernels.files import filesystem
from lakebed.kernels.header import match_header
from lakebed.kernels.job import Input, Rejected
from lakebed.kernels.values import Parsed, expectation, is_text, parse

BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class ParquetRead:
    """The batches of a file, and the planned columns that it lacks."""

    batches: Iterator[Batch]
    missing: tuple[str, ...]


def read_parquet(
    source: Input,
    storage: Mapping[str, object],
    columns: Sequence[tuple[str, str]],
    types: Mapping[str, pa.DataType],
) -> ParquetRead:
    """Opens the file and matches its columns; rows are read as the batches are asked for."""
    opened, path = filesystem(source.uri, storage)
    try:
        file = pq.ParquetFile(opened.open_input_file(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(
            f"{source.key}: not readable as Parquet: {error}", remedy="Copy the file again: it is damaged or cut short."
        ) from error
    names, missing = match_header(file.schema_arrow.names, columns, file=source.key)
    return ParquetRead(_batches(file, source, names, types), missing)


def _batches(
    file: pq.ParquetFile, source: Input, names: Sequence[str], types: Mapping[str, pa.DataType]
) -> Iterator[Batch]:
    first = 0
    originals = file.schema_arrow.names
    batches = file.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowInvalid, OSError) as error:
            raise SourceError(
                f"{source.key}: damaged after row {first}: {error}", remedy="Copy the file again."
            ) from error
        if batch is None:
            return
        yield _typed(pa.Table.from_batches([batch]), first, originals, names, types)
        first += batch.num_rows


def _typed(
    read: pa.Table, first: int, originals: Sequence[str], names: Sequence[str], types: Mapping[str, pa.DataType]
) -> Batch:
    values: list[pa.ChunkedArray] = []
    bad: dict[int, Rejected] = {}
    for position, name in enumerate(names):
        wanted = exact_type(types[name])
        column = read.column(position)
        parsed = _cast(column, wanted)
        values.append(pa.chunked_array([parsed.values]) if isinstance(parsed.values, pa.Array) else parsed.values)
        for row in parsed.bad:
            # A Parquet file has no lines: its rows are counted from 1.
            reason = Rejected(first + row + 1, originals[position], str(column[row].as_py()), expectation(wanted))
            bad.setdefault(row, reason)
    rows = pa.table(values, names=list(names))
    if not bad:
        return Batch(rows, None)
    rejected = sorted(bad)
    texts = pa.table([_as_text(column.take(rejected)) for column in read.columns], names=list(names))
    keep = pa.array([row not in bad for row in range(read.num_rows)], type=pa.bool_())
    return Batch(rows.filter(keep), RejectedRows(texts, [bad[row] for row in rejected]))


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> Parsed:
    if column.type == wanted:
        return Parsed(column, [])
    if pa.types.is_floating(column.type) and pa.types.is_decimal(wanted):
        return parse(_shortest(column), wanted)
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(wanted):
        # A moment with a zone is stored as UTC: dropping the zone keeps the moment.
        column = column.cast(pa.timestamp(column.type.unit))
    if pa.types.is_nested(column.type) and is_text(wanted):
        return Parsed(_as_text(column), [])
    try:
        return Parsed(column.cast(wanted), [])
    except pa.ArrowException:
        return parse(_as_text(column).combine_chunks(), wanted)


def _shortest(column: pa.ChunkedArray) -> pa.Array:
    """The shortest text that reads back as the same double, which is what was meant: 0.1 and not 0.1000000000000000055.

    Python's repr is defined to be that; distinct values only, because bills repeat their numbers.
    """
    encoded = column.combine_chunks().dictionary_encode()
    texts = pa.array([None if value is None else repr(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_nested(column.type):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pa.types.is_floating(column.type):
        return pa.chunked_array([_shortest(column)])
    return pc.cast(column, pa.string())
