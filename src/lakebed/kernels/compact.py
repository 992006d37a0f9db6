"""Several data files in, one out, the same rows: in the table's schema, and in an order where one is asked for.

Memory is bounded by batches and a row group; a sort needs its columns as well, and lays the rows on the disk meanwhile.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import EngineError
from lakebed.kernels.columns import find_columns
from lakebed.kernels.conform import conform
from lakebed.kernels.facts import exact_sum
from lakebed.kernels.files import failed, filesystem
from lakebed.kernels.merge_files import at_once, codec_of
from lakebed.kernels.parquet import ParquetOutput
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.values import EXACT
from lakebed.model import Compacted, Contents, DataFile, SortKey, Staging, WrittenFile

_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class CompactTasks:
    """Packs of files of one partition each; a task makes one file of a pack."""

    staging: Staging
    storage: StorageSettings
    packs: tuple[tuple[DataFile, ...], ...]
    sort_by: tuple[SortKey, ...] = ()

    def __call__(self, number: int) -> Compacted | EngineError:
        try:
            return compact(self.staging, self.storage, self.packs[number], f"{number:05d}", self.sort_by)
        except (pa.ArrowException, OSError) as error:
            return failed(error, "a compaction")


def compact(
    staging: Staging, storage: StorageSettings, pack: Sequence[DataFile], name: str, sort_by: Sequence[SortKey]
) -> Compacted:
    """Writes the rows of the pack as one file, and reads back what it wrote."""
    codec = codec_of(pack[0].uri, storage)
    output = ParquetOutput(
        staging, storage, name=name, partition=pack[0].partition, compression=codec, file_bytes=_NO_LIMIT
    )
    before = Tally(staging.schema)
    try:
        with _ordered(before.counting(_rows(pack, staging.schema, storage)), staging.schema, sort_by) as rows:
            for batch in rows:
                output.write(pa.Table.from_batches([batch]))
        written = output.close()
    except BaseException:
        output.discard()
        raise
    after = Tally(staging.schema)
    for _ in after.counting(_rows([_staged(staging, file) for file in written], staging.schema, storage)):
        pass
    return Compacted(written, before.contents, after.contents)


class Tally:
    """Adds up what batches hold."""

    def __init__(self, schema: pa.Schema) -> None:
        self._rows = 0
        self._nulls = dict.fromkeys(schema.names, 0)
        self._sums: dict[str, Decimal] = {}

    @property
    def contents(self) -> Contents:
        return Contents(self._rows, dict(self._nulls), dict(self._sums))

    def counting(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches, counted on their way."""
        for batch in batches:
            self._rows += batch.num_rows
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                self._nulls[name] += column.null_count
                numbers = _numbers(column)
                if numbers is not None:
                    total = exact_sum(pa.chunked_array([numbers]))
                    self._sums[name] = EXACT.add(self._sums.get(name, Decimal(0)), total)
            yield batch


def _numbers(column: pa.Array) -> pa.Array | None:
    """What of a column can be added up to the last digit: whole and decimal numbers, and the lengths of texts."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return column
    if pa.types.is_integer(kind):
        return column.cast(pa.decimal128(20, 0))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return pc.binary_length(column).cast(pa.decimal128(20, 0))
    return None


def _rows(pack: Sequence[DataFile], schema: pa.Schema, storage: StorageSettings) -> Iterator[pa.RecordBatch]:
    for file in pack:
        opened, path = filesystem(file.uri, storage)
        with opened.open_input_file(path) as raw, pq.ParquetFile(raw) as parquet:
            places = find_columns(schema, parquet.schema_arrow)
            names = parquet.schema_arrow.names
            wanted = [names[place] for place in sorted(one for one in places if one is not None)]
            constants = _constants(file.partition, schema, places)
            for batch in parquet.iter_batches(at_once(schema), columns=wanted, use_threads=False):
                arrays = conform(batch.schema, batch.columns, schema, batch.num_rows, by_id=True)
                for place, value in constants.items():
                    arrays[place] = pa.repeat(pa.scalar(value).cast(schema.field(place).type), batch.num_rows)
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _constants(partition: Mapping[str, str | None], schema: pa.Schema, inside: Sequence[int | None]) -> dict[int, str]:
    """Partition values that the schema wants inside of files and this file does not hold, by their place."""
    values = {name.casefold(): value for name, value in partition.items()}
    return {
        place: value
        for place, name in enumerate(schema.names)
        if inside[place] is None and (value := values.get(name.casefold())) is not None
    }


@contextmanager
def _ordered(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, sort_by: Sequence[SortKey]
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The rows in this order; as they come where there is none."""
    if not sort_by:
        yield batches
        return
    with tempfile.TemporaryDirectory(prefix="lakebed-compact-") as folder:
        path = str(Path(folder, "rows.arrow"))
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        with pa.memory_map(path) as mapped:
            rows = pa.ipc.open_file(mapped).read_all()
            order = _places_in_order(rows, sort_by)
            step = at_once(schema)
            yield (
                batch
                for start in range(0, len(order), step)
                for batch in rows.take(order.slice(start, step)).combine_chunks().to_batches()
            )


def _places_in_order(rows: pa.Table, sort_by: Sequence[SortKey]) -> pa.Array:
    """Arrow has one place for NULL in all columns: whether a value is NULL is a column of its own here."""
    columns, keys = [], []
    for number, key in enumerate(sort_by):
        values = rows.column(key.column)
        columns += [pc.is_null(values), values]
        keys += [
            (f"null {number}", "descending" if key.nulls_first else "ascending"),
            (f"value {number}", "descending" if key.descending else "ascending"),
        ]
    return pc.sort_indices(pa.table(columns, [name for name, _ in keys]), sort_keys=keys)


def _staged(staging: Staging, file: WrittenFile) -> DataFile:
    return DataFile(f"{staging.folder.rstrip('/')}/{file.path}", file.rows, file.size_bytes, file.partition)
