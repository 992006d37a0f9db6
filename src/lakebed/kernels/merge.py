"""What a merge does to one file: find the rows whose keys the source has, then write the file anew, batch by batch.

The Arrow engine calls these in threads and the Spark engine in tasks. Memory is bounded by a batch and the source, not
by the target.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from lakebed.kernels.conform import as_type, conform
from lakebed.kernels.files import filesystem
from lakebed.kernels.keys import KeyIndex

BATCH_ROWS = 131_072
# Looking keys up hashes the source's keys each time, so keys of several small files are looked up together.
KEYS_AT_ONCE = 1_048_576


@dataclass(frozen=True)
class TargetFile:
    """A file of the target as a worker sees it; `partition` holds the columns that lie in its path, not in it."""

    uri: str
    partition: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Matched:
    """The rows of one file whose keys the source has: their numbers, ascending, and the source rows they match."""

    rows: pa.Array
    positions: pa.Array
    total: int
    nulls: tuple[int, ...]


@dataclass(frozen=True)
class Rules:
    """What happens to rows. `schema` has all columns of the table, `physical` those that lie inside files."""

    schema: pa.Schema
    physical: pa.Schema
    emptied: frozenset[str] = frozenset()  # columns that the source lacks and an update sets to NULL
    update_matched: bool = False
    delete_matched: bool = False
    delete_unmatched: bool = False
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """A new file."""

    path: str
    rows: int
    size_bytes: int
    partition: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Rewritten:
    """What became of one file: the new one, unless no row is left; and the rows that moved to other partitions."""

    written: Written | None
    updated: int
    deleted: int
    moved: pa.Table | None = None


def match(
    files: Sequence[TargetFile], keys: pa.Schema, index: KeyIndex, settings: Mapping[str, object]
) -> Iterator[Matched]:
    """The matched rows of each file, in order. Only key columns are read."""
    at_once = max(KEYS_AT_ONCE, index.rows)
    waiting: list[list[pa.ChunkedArray]] = []
    rows = 0
    for file in files:
        columns = read_keys(file, keys, settings)
        waiting.append(columns)
        rows += len(columns[0])
        if rows >= at_once:
            yield from _found(waiting, index)
            waiting, rows = [], 0
    yield from _found(waiting, index)


def _found(files: list[list[pa.ChunkedArray]], index: KeyIndex) -> Iterator[Matched]:
    if not files:
        return
    together = [
        pa.chunked_array([chunk for columns in files for chunk in columns[place].chunks], type=column.type)
        for place, column in enumerate(files[0])
    ]
    numbers = index.find(together)
    start = 0
    for columns in files:
        total = len(columns[0])
        mine = numbers.slice(start, total)
        start += total
        rows = pc.indices_nonzero(mine.is_valid()).cast(pa.int64())
        yield Matched(rows, mine.drop_null(), total, tuple(column.null_count for column in columns))


def read_keys(file: TargetFile, keys: pa.Schema, settings: Mapping[str, object]) -> list[pa.ChunkedArray]:
    """The key columns of a file in the given types; those of its path are repeated, those it lacks are NULL."""
    with _open(file.uri, settings) as reader:
        total = reader.metadata.num_rows
        present = {name.casefold(): name for name in reader.schema_arrow.names}
        paths = {name.casefold(): value for name, value in file.partition.items()}
        wanted = [
            present[key.casefold()] for key in keys.names if key.casefold() in present and key.casefold() not in paths
        ]
        table = reader.read(columns=wanted) if wanted else None
        columns = []
        for key in keys:
            folded = key.name.casefold()
            if folded in paths:
                columns.append(pa.chunked_array([_repeated(paths[folded], key.type, total)]))
            elif table is not None and folded in present:
                columns.append(as_type(table[present[folded]], key.type))
            else:
                columns.append(pa.chunked_array([pa.nulls(total, key.type)]))
        return columns


def rewrite(
    file: TargetFile,
    matched: Matched,
    source: pa.Table,
    rules: Rules,
    *,
    folder: str,
    name: str,
    settings: Mapping[str, object],
) -> Rewritten:
    """Writes one file anew into the folder. `source` has the columns of the table that the source delivers."""
    moved: list[pa.RecordBatch] = []
    updated = deleted = 0
    with _open(file.uri, settings) as reader:
        sink = Sink(folder, name, rules.physical, settings, codec=_codec(reader.metadata))
        try:
            for batch, rows, positions in _batches(reader, file, matched, rules.schema):
                before = batch.num_rows
                if not len(rows):
                    if rules.delete_unmatched:
                        deleted += before
                    else:
                        sink.write(batch)
                    continue
                mask = _mask(before, rows)
                if rules.delete_matched:
                    batch = batch.filter(pc.invert(mask))
                elif rules.update_matched:
                    batch = _updated(batch, mask, source, positions, rules.emptied)
                    updated += len(rows)
                    stays = _stays(batch, file.partition, rules.partition_by)
                    if rules.delete_unmatched:
                        deleted += before - len(rows)
                        batch = batch.filter(mask)
                        stays = None if stays is None else stays.filter(mask)
                    if stays is not None and not pc.all(stays).as_py():
                        moved.append(batch.filter(pc.invert(stays)))
                        batch = batch.filter(stays)
                if rules.delete_matched:
                    deleted += before - batch.num_rows
                sink.write(batch)
        except BaseException:
            sink.discard()
            raise
        written = sink.close(dict(file.partition))
    return Rewritten(written, updated, deleted, pa.Table.from_batches(moved) if moved else None)


def write_rows(
    rows: pa.Table,
    rules: Rules,
    *,
    folder: str,
    name: str,
    settings: Mapping[str, object],
    codec: str = "zstd",
    rows_per_file: int = 5_000_000,
) -> list[Written]:
    """Writes rows of the table's schema as new files, one partition after the other."""
    written = []
    for number, (partition, part) in enumerate(_partitions(rows, rules.partition_by)):
        for start in range(0, part.num_rows, rows_per_file):
            sink = Sink(
                folder, f"{name}-{number:05d}-{start // rows_per_file:05d}.parquet", rules.physical, settings, codec
            )
            for batch in part.slice(start, rows_per_file).combine_chunks().to_batches(max_chunksize=BATCH_ROWS):
                sink.write(batch)
            if (done := sink.close(partition)) is not None:
                written.append(done)
    return written


class Sink:
    """One new Parquet file, opened when its first rows come."""

    def __init__(
        self, folder: str, name: str, schema: pa.Schema, settings: Mapping[str, object], codec: str = "zstd"
    ) -> None:
        self.name = name
        self._schema = schema
        self._codec = codec
        self._files, inner = filesystem(folder, settings)
        self._path = f"{inner.rstrip('/')}/{name}"
        self._writer: pq.ParquetWriter | None = None
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._open().write_batch(
                pa.RecordBatch.from_arrays([batch.column(field.name) for field in self._schema], schema=self._schema)
            )
            self.rows += batch.num_rows

    def write_empty(self) -> None:
        """A file without rows, which keeps the columns of a table that has none left."""
        self._open().write_table(self._schema.empty_table())

    def close(self, partition: Mapping[str, str | None]) -> Written | None:
        if self._writer is None:
            return None
        self._writer.close()
        size = self._files.get_file_info(self._path).size
        return Written(self.name, self.rows, size, partition)

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._files.delete_file(self._path)

    def _open(self) -> pq.ParquetWriter:
        if self._writer is None:
            if isinstance(self._files, pafs.LocalFileSystem):
                self._files.create_dir(self._path.rpartition("/")[0], recursive=True)
            self._writer = pq.ParquetWriter(self._path, self._schema, filesystem=self._files, compression=self._codec)
        return self._writer


def _open(uri: str, settings: Mapping[str, object]) -> pq.ParquetFile:
    files, path = filesystem(uri, settings)
    local = isinstance(files, pafs.LocalFileSystem)
    return pq.ParquetFile(path, filesystem=files, memory_map=local, pre_buffer=not local)


def _batches(
    reader: pq.ParquetFile, file: TargetFile, matched: Matched, schema: pa.Schema
) -> Iterator[tuple[pa.RecordBatch, pa.Array, pa.Array]]:
    paths = {name.casefold(): value for name, value in file.partition.items()}
    inside = [name for name in reader.schema_arrow.names if name.casefold() not in paths]
    wanted = [name for name in inside if name.casefold() in {field.casefold() for field in schema.names}]
    at = _Places(matched.rows)
    start = 0
    for batch in reader.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
        rows = batch.num_rows
        arrays = conform(wanted, batch.columns, schema, rows)
        for place, name in enumerate(schema.names):
            if name.casefold() in paths:
                arrays[place] = _repeated(paths[name.casefold()], schema.field(place).type, rows)
        low, high = at.before(start), at.before(start + rows)
        local = pc.subtract(matched.rows.slice(low, high - low), start)
        yield pa.RecordBatch.from_arrays(arrays, schema=schema), local, matched.positions.slice(low, high - low)
        start += rows


class _Places:
    """Binary search in an ascending Arrow array."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> int:
        return int(self._values[place].as_py())

    def before(self, value: int) -> int:
        return bisect_left(self, value)


def _updated(
    batch: pa.RecordBatch, mask: pa.Array, source: pa.Table, positions: pa.Array, emptied: frozenset[str]
) -> pa.RecordBatch:
    arrays = []
    delivered = set(source.column_names)
    for field_ in batch.schema:
        old = batch.column(field_.name)
        if field_.name in delivered:
            new = source.column(field_.name).take(positions)
            arrays.append(_replace(old, mask, new.combine_chunks() if isinstance(new, pa.ChunkedArray) else new))
        elif field_.name in emptied:
            arrays.append(pc.if_else(mask, pa.scalar(None, old.type), old))
        else:
            arrays.append(old)
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _replace(old: pa.Array, mask: pa.Array, new: pa.Array) -> pa.Array:
    if not pa.types.is_nested(old.type):
        return pc.replace_with_mask(old, mask, new)
    # Nested types have no such kernel: take from old and new rows laid end to end.
    rows = len(old)
    places = pc.replace_with_mask(_counting(rows), mask, pc.add(_counting(len(new)), rows))
    return pa.concat_arrays([old, new]).take(places)


def _mask(length: int, rows: pa.Array) -> pa.Array:
    return pc.is_in(_counting(length), value_set=rows)


@lru_cache(maxsize=4)
def _counting(length: int) -> pa.Array:
    return pa.array(range(length), pa.int64())


def _stays(batch: pa.RecordBatch, partition: Mapping[str, str | None], partition_by: Sequence[str]) -> pa.Array | None:
    """Which rows still belong to the partition of their file, or None where all must."""
    stays: pa.Array | None = None
    for name in partition_by:
        value = partition.get(name)
        column = as_text(batch.column(name))
        same = column.is_null() if value is None else pc.fill_null(pc.equal(column, value), False)
        stays = same if stays is None else pc.and_(stays, same)
    return stays


def _partitions(rows: pa.Table, partition_by: Sequence[str]) -> Iterable[tuple[dict[str, str | None], pa.Table]]:
    if not partition_by:
        yield {}, rows
        return
    if not rows.num_rows:
        return
    texts = [as_text(rows.column(name)) for name in partition_by]
    # NULL is a partition too; `KeyIndex` numbers it like any other value.
    numbers = KeyIndex(texts).numbers
    order = pc.sort_indices(numbers)
    counts = pc.value_counts(numbers.take(order)).field("counts").to_pylist()
    start = 0
    for count in counts:
        chosen = order.slice(start, count)
        first = chosen[0].as_py()
        yield {name: text[first].as_py() for name, text in zip(partition_by, texts, strict=True)}, rows.take(chosen)
        start += count


def as_text(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A partition value as it stands in a path."""
    return values if values.type == pa.string() else values.cast(pa.string())


def _repeated(value: str | None, kind: pa.DataType, rows: int) -> pa.Array:
    scalar = pa.scalar(None, kind) if value is None else pa.scalar(value, pa.string()).cast(kind)
    return pa.repeat(scalar, rows)


def _codec(metadata: pq.FileMetaData) -> str:
    """A file keeps its codec."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return "zstd"
    name = metadata.row_group(0).column(0).compression.lower()
    return {"uncompressed": "none"}.get(name, name)
