"""What a merge does to one file: find the rows whose keys the source has, then rewrite the file, batch by batch.

The Arrow engine calls these in threads and the Spark engine in tasks. Memory is bounded by a batch and the source, not
by the target.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.kernels.columns import find_columns
from lakebed.kernels.conform import as_type, conform, with_kept_fields
from lakebed.kernels.keys import KeyLookup, chosen_rows, counting
from lakebed.kernels.merge_files import Sink, at_once, codec_of, open_parquet
from lakebed.kernels.partitions import as_text
from lakebed.kernels.source_rows import SourceRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DataFile, Lacking, MergeCounts, WrittenFile

T = TypeVar("T")

# Files of fewer rows are read by one thread: handing columns to several costs more than it saves.
THREADED_ROWS = 65_536


@dataclass(frozen=True)
class Matched:
    """The rows of one file whose keys the source has: their numbers, ascending, and the source rows they match."""

    rows: pa.Array
    positions: pa.Array
    total: int
    nulls: tuple[int, ...]


@dataclass(frozen=True)
class Rules:
    """What happens to rows.

    `schema` has all columns of the table, `physical` those that lie inside files; `in_path` are the partition columns
    that lie in paths and not in files.
    """

    schema: pa.Schema
    physical: pa.Schema
    emptied: frozenset[str] = frozenset()  # columns that the source lacks and an update sets to NULL
    kept_fields: Mapping[str, Lacking] = field(default_factory=dict)  # inside structs, and an update keeps them
    update_matched: bool = False
    delete_matched: bool = False
    delete_unmatched: bool = False
    partition_by: tuple[str, ...] = ()
    in_path: tuple[str, ...] = ()

    def leaves_nothing(self, delivered: Sequence[str]) -> bool:
        """Whether no value of the table is left: rows are updated in every column, or deleted."""
        return (
            self.update_matched
            and self.delete_unmatched
            and not self.kept_fields
            and {*delivered, *self.emptied} >= {*self.schema.names}
        )


@dataclass(frozen=True)
class Rewritten:
    """What became of one file: the new one, unless no row is left; and the rows that moved to other partitions."""

    written: WrittenFile | None
    counts: MergeCounts
    moved: pa.Table | None = None


def match(
    files: Sequence[DataFile],
    keys: pa.Schema,
    index: KeyLookup,
    storage: StorageSettings,
    *,
    in_path: Sequence[str] = (),
) -> Iterator[Matched]:
    """The matched rows of each file, in order. Only key columns are read."""
    nulls: list[tuple[int, ...]] = []

    def read() -> Iterator[list[pa.ChunkedArray]]:
        for file in files:
            columns = read_keys(file, keys, storage, in_path=in_path)
            nulls.append(tuple(column.null_count for column in columns))
            yield columns

    for place, numbers in enumerate(index.find_each(read())):
        rows = pc.indices_nonzero(numbers.is_valid())
        # A row number takes half as much memory where it can.
        small = rows.cast(pa.int32() if len(numbers) < 2**31 else pa.int64())
        yield Matched(small, numbers.drop_null(), len(numbers), nulls[place])


def read_keys(
    file: DataFile, keys: pa.Schema, storage: StorageSettings, *, in_path: Sequence[str] = ()
) -> list[pa.ChunkedArray]:
    """The key columns of a file in the given types; those of its path are repeated, those it lacks are NULL."""
    with open_parquet(file.uri, storage) as reader:
        total = reader.metadata.num_rows
        paths = _path_values(file, in_path)
        present = reader.schema_arrow.names
        places = find_columns(keys, reader.schema_arrow)
        names = [
            None if place is None or key.casefold() in paths else present[place]
            for key, place in zip(keys.names, places, strict=True)
        ]
        wanted = [name for name in names if name is not None]
        table = reader.read(columns=wanted, use_threads=total >= THREADED_ROWS)
        columns = []
        for key, name in zip(keys, names, strict=True):
            if name is not None:
                columns.append(as_type(table[name], key.type))
            else:
                columns.append(pa.chunked_array([_repeated(paths.get(key.name.casefold()), key.type, total)]))
        return columns


def read_rows(
    files: Sequence[DataFile],
    schema: pa.Schema,
    storage: StorageSettings,
    *,
    physical: pa.Schema | None = None,
    in_path: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """The rows of files in the table's schema; `physical` has ids by which columns are found, where there are any."""
    rules = Rules(schema, schema if physical is None else physical, in_path=tuple(in_path))
    for batch, _, _ in _together(_batches([(file, None) for file in files], rules, storage), at_once(schema)):
        yield batch


def rewrite(
    files: Sequence[tuple[DataFile, Matched | None]],
    source: SourceRows,
    rules: Rules,
    *,
    folder: str,
    name: str,
    storage: StorageSettings,
) -> Rewritten:
    """Rewrites files of one partition as one file. `source` has the table's columns that the source delivers."""
    partition = dict(files[0][0].partition)
    arriving = source.arriving([matched.positions for _, matched in files if matched is not None])
    sink = Sink(folder, name, rules.physical, storage, codec_of(files[0][0].uri, storage))
    moved: list[pa.RecordBatch] = []
    updated = deleted = 0
    try:
        if rules.leaves_nothing(source.column_names):
            updated, deleted = _replace_all(files, source, partition, rules, sink, moved)
            files = ()
        for batch, rows, positions in _ahead(_together(_batches(files, rules, storage), at_once(rules.schema))):
            before = batch.num_rows
            if len(rows) and rules.update_matched:
                batch = _updated(batch, rows, arriving.take(positions), rules)
                updated += len(rows)
            batch, removed, leaving = _remaining(batch, rows, partition, rules)
            deleted += removed
            if leaving is not None:
                moved.append(leaving)
            assert batch.num_rows + removed + (leaving.num_rows if leaving else 0) == before
            sink.write(batch)
    except BaseException:
        sink.discard()
        raise
    counts = MergeCounts(updated=updated, deleted=deleted)
    return Rewritten(sink.close(partition), counts, pa.Table.from_batches(moved) if moved else None)


def _replace_all(
    files: Sequence[tuple[DataFile, Matched | None]],
    source: SourceRows,
    partition: Mapping[str, str | None],
    rules: Rules,
    sink: Sink,
    moved: list[pa.RecordBatch],
) -> tuple[int, int]:
    """Writes the source rows about where the rows stand that they replace, and reads none of these."""
    positions = [matched.positions for _, matched in files if matched is not None]
    updated = 0
    for rows in source.portions(positions, at_once(rules.schema)):
        updated += rows.num_rows
        columns = [_one_chunk(column) for column in rows.columns]
        arrays = conform(rows.schema, columns, rules.schema, rows.num_rows, by_id=False)
        batch, leaving = _staying(pa.RecordBatch.from_arrays(arrays, schema=rules.schema), partition, rules)
        if leaving is not None:
            moved.append(leaving)
        sink.write(batch)
    return updated, sum(file.rows for file, _ in files) - updated


def _remaining(
    batch: pa.RecordBatch, rows: pa.Array, partition: Mapping[str, str | None], rules: Rules
) -> tuple[pa.RecordBatch, int, pa.RecordBatch | None]:
    """The rows of a batch that stay in their file, how many are deleted, and those that move to another partition."""
    before = batch.num_rows
    if rules.delete_unmatched:
        batch = batch.take(rows) if len(rows) else batch.slice(0, 0)
    elif rules.delete_matched and len(rows):
        batch = batch.filter(pc.invert(_mask(before, rows)))
    deleted = before - batch.num_rows
    if not rules.update_matched or not len(rows):
        return batch, deleted, None
    batch, leaving = _staying(batch, partition, rules)
    return batch, deleted, leaving


def _staying(
    batch: pa.RecordBatch, partition: Mapping[str, str | None], rules: Rules
) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """The rows that stay in their partition, and those that leave it."""
    if rules.partition_by and batch.num_rows:
        stays = _stays(batch, partition, rules.partition_by)
        if not pc.all(stays).as_py():
            return batch.filter(stays), batch.filter(pc.invert(stays))
    return batch, None


# Rows in the table's schema, which of them matched, and the source rows that these match.
_Part: TypeAlias = tuple[pa.RecordBatch, pa.Array, pa.Array]


def _batches(
    files: Sequence[tuple[DataFile, Matched | None]], rules: Rules, storage: StorageSettings
) -> Iterator[_Part]:
    for file, matched in files:
        with open_parquet(file.uri, storage) as reader:
            yield from _batches_of(reader, file, matched, rules)


def _together(parts: Iterator[_Part], rows: int) -> Iterator[_Part]:
    """The same rows in batches of about so many: those of small files together, since each batch is a row group."""
    waiting: list[_Part] = []
    count = 0
    for part in parts:
        waiting.append(part)
        count += part[0].num_rows
        if count * 2 >= rows:
            yield _joined(waiting)
            waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    batches = [batch for batch, _, _ in parts]
    schema = batches[0].schema
    columns = [pa.concat_arrays([batch.column(place) for batch in batches]) for place in range(len(schema))]
    starts = accumulate((batch.num_rows for batch in batches[:-1]), initial=0)
    rows = [pc.add(rows, start) for (_, rows, _), start in zip(parts, starts, strict=True)]
    return (
        pa.RecordBatch.from_arrays(columns, schema=schema),
        pa.concat_arrays(rows),
        pa.concat_arrays([positions.cast(pa.int64()) for _, _, positions in parts]),
    )


def _batches_of(reader: pq.ParquetFile, file: DataFile, matched: Matched | None, rules: Rules) -> Iterator[_Part]:
    schema, paths = rules.schema, _path_values(file, rules.in_path)
    inside = set(rules.physical.names)
    fields = [rules.physical.field(field.name) if field.name in inside else field for field in schema]
    present = reader.schema_arrow
    places = [
        None if field.name.casefold() in paths else place
        for field, place in zip(fields, find_columns(fields, present), strict=True)
    ]
    # Arrow makes the list of names anew each time it is asked for.
    names = present.names
    wanted = [names[place] for place in sorted(place for place in places if place is not None)]
    rows_of = _Places(matched.rows if matched else pa.array([], pa.int32()))
    positions_of = matched.positions if matched else pa.array([], pa.int32())
    start = 0
    threaded = file.rows >= THREADED_ROWS
    for batch in reader.iter_batches(batch_size=at_once(schema), columns=wanted, use_threads=threaded):
        rows = batch.num_rows
        arrays = conform(batch.schema, batch.columns, fields, rows, by_id=True)
        for place, name in enumerate(schema.names):
            if name.casefold() in paths:
                arrays[place] = _repeated(paths[name.casefold()], schema.field(place).type, rows)
        low, high = rows_of.before(start), rows_of.before(start + rows)
        local = pc.subtract(rows_of.values.slice(low, high - low), start)
        yield pa.RecordBatch.from_arrays(arrays, schema=schema), local, positions_of.slice(low, high - low)
        start += rows


def _path_values(file: DataFile, in_path: Sequence[str]) -> dict[str, str | None]:
    return {name.casefold(): file.partition.get(name) for name in in_path}


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made ready by a second thread while the one before it is worked on."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


class _Places:
    """Binary search in an ascending Arrow array."""

    def __init__(self, values: pa.Array) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> int:
        return int(self.values[place].as_py())

    def before(self, value: int) -> int:
        return bisect_left(self, value)


def _updated(batch: pa.RecordBatch, rows: pa.Array, arriving: pa.Table, rules: Rules) -> pa.RecordBatch:
    mask = _mask(batch.num_rows, rows)
    arrays = []
    delivered = set(arriving.column_names)
    for field_ in batch.schema:
        old = batch.column(field_.name)
        if field_.name in delivered:
            new = _one_chunk(arriving.column(field_.name))
            if (lacking := rules.kept_fields.get(field_.name)) is not None:
                new = with_kept_fields(new, old.take(rows), lacking)
            arrays.append(_replace(old, mask, new))
        elif field_.name in rules.emptied:
            arrays.append(pc.if_else(mask, pa.scalar(None, old.type), old))
        else:
            arrays.append(old)
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _replace(old: pa.Array, mask: pa.Array, new: pa.Array) -> pa.Array:
    if not pa.types.is_nested(old.type):
        return pc.replace_with_mask(old, mask, new)
    # Nested types have no such kernel: take from old and new rows laid end to end.
    rows = len(old)
    places = pc.replace_with_mask(counting(rows), mask, pc.add(counting(len(new)), rows))
    return pa.concat_arrays([old, new]).take(places)


def _mask(length: int, rows: pa.Array) -> pa.Array:
    return chosen_rows(length, [rows])


def _stays(batch: pa.RecordBatch, partition: Mapping[str, str | None], partition_by: Sequence[str]) -> pa.Array:
    """Which rows still belong to the partition of their file."""
    stays = pa.repeat(pa.scalar(True), batch.num_rows)
    for name in partition_by:
        value = partition.get(name)
        column = as_text(batch.column(name))
        same = column.is_null() if value is None else pc.fill_null(pc.equal(column, value), False)
        stays = pc.and_(stays, same)
    return stays


def _repeated(value: str | None, kind: pa.DataType, rows: int) -> pa.Array:
    scalar = pa.scalar(None, kind) if value is None else pa.scalar(value, pa.string()).cast(kind)
    return pa.repeat(scalar, rows)


def _one_chunk(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
