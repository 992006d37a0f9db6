"""Writes rows that are new in a table, partition by partition."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.conform import conform
from lakebed.kernels.keys import counting
from lakebed.kernels.merge import Rules
from lakebed.kernels.merge_files import Sink, at_once
from lakebed.kernels.partitions import positions_by_partition
from lakebed.kernels.source_rows import SourceRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import WrittenFile

# Of a large source so many rows are looked at together.
WINDOW_ROWS = 1_048_576
# And the files of so many partitions are open at a time: a partition that comes back later gets one more file.
OPEN_FILES = 500
# Rows that wait for their row groups take so many bytes at most, all partitions together.
WAITING_BYTES = 96 << 20


def write_rows(
    rows: SourceRows,
    positions: pa.Array | None,
    rules: Rules,
    *,
    folder: str,
    name: str,
    storage: StorageSettings,
    codec: str = "zstd",
    rows_per_file: int = 5_000_000,
    but_for: pa.BooleanArray | None = None,
) -> list[WrittenFile]:
    """Writes the rows at these positions, or all, as new files, one partition after the other.

    `but_for` tells of every row whether it is left out. Of a large source only a window is in memory at a time.
    """
    files = _Files(folder, name, rules, storage, codec, rows_per_file)
    step = at_once(rules.schema)
    for window in _windows(rows, positions, but_for):
        if isinstance(window, range) and not rules.partition_by:
            for start in range(window.start, window.stop, step):
                files.write({}, rows.slice(start, min(step, window.stop - start)))
            continue
        chosen = pc.add(counting(len(window)), window.start) if isinstance(window, range) else window
        for partition, mine in positions_by_partition(rows, chosen, rules.partition_by):
            for start in range(0, len(mine), step):
                files.write(partition, rows.take(mine.slice(start, step)))
            if not rows.is_large:
                files.finish(partition)
    return files.close()


def _windows(
    rows: SourceRows, positions: pa.Array | None, but_for: pa.BooleanArray | None
) -> Iterator[pa.Array | range]:
    """The chosen positions, all at once or window by window; a range where they are every row of it."""
    count = rows.num_rows if positions is None else len(positions)
    each = WINDOW_ROWS if rows.is_large else max(1, count)
    for start in range(0, count, each):
        length = min(each, count - start)
        if positions is not None:
            yield positions.slice(start, length)
        elif but_for is None:
            yield range(start, start + length)
        else:
            left = pc.indices_nonzero(pc.invert(but_for.slice(start, length))).cast(pa.int64())
            yield range(start, start + length) if len(left) == length else pc.add(left, start)


class _Files:
    """The new files of each partition."""

    def __init__(
        self, folder: str, name: str, rules: Rules, storage: StorageSettings, codec: str, rows_per_file: int
    ) -> None:
        self._folder = folder
        self._name = name
        self._rules = rules
        self._storage = storage
        self._codec = codec
        self._rows_per_file = rows_per_file
        self._open: dict[tuple[str | None, ...], tuple[dict[str, str | None], Sink]] = {}
        self._started: dict[tuple[str | None, ...], list[int]] = {}
        self._written: dict[str, WrittenFile] = {}

    def write(self, partition: dict[str, str | None], rows: pa.Table) -> None:
        key = tuple(partition.values())
        start = 0
        while start < rows.num_rows:
            sink = self._sink(key, partition)
            part = rows.slice(start, self._rows_per_file - sink.rows)
            start += part.num_rows
            part = part.combine_chunks()
            columns = [_one_chunk(column) for column in part.columns]
            arrays = conform(part.schema, columns, self._rules.schema, part.num_rows, by_id=False)
            sink.write(pa.RecordBatch.from_arrays(arrays, schema=self._rules.schema))
            if sink.rows >= self._rows_per_file:
                self._close(key)
        self._bound_memory()

    def finish(self, partition: dict[str, str | None]) -> None:
        """Ends the file of a partition of which no more rows come."""
        if (key := tuple(partition.values())) in self._open:
            self._close(key)

    def close(self) -> list[WrittenFile]:
        for key in list(self._open):
            self._close(key)
        return [self._written[name] for name in sorted(self._written)]

    def _sink(self, key: tuple[str | None, ...], partition: Mapping[str, str | None]) -> Sink:
        if key in self._open:
            # The one that was used last stands last.
            self._open[key] = self._open.pop(key)
            return self._open[key][1]
        if len(self._open) >= OPEN_FILES:
            self._close(next(iter(self._open)))
        number = self._started.setdefault(key, [len(self._started), 0])
        file = f"{self._name}-{number[0]:05d}-{number[1]:05d}.parquet"
        number[1] += 1
        sink = Sink(self._folder, file, self._rules.physical, self._storage, self._codec)
        self._open[key] = (dict(partition), sink)
        return sink

    def _bound_memory(self) -> None:
        waiting = sorted((sink for _, sink in self._open.values()), key=lambda sink: sink.waiting_bytes)
        total = sum(sink.waiting_bytes for sink in waiting)
        while total > WAITING_BYTES:
            largest = waiting.pop()
            total -= largest.waiting_bytes
            largest.flush()

    def _close(self, key: tuple[str | None, ...]) -> None:
        partition, sink = self._open.pop(key)
        if (done := sink.close(partition)) is not None:
            self._written[done.path] = done


def _one_chunk(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
