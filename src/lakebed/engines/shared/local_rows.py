"""Rows that this process reads and writes: batches go through the kernels on as many threads as there is work for."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.engines.protocols.rows import RowsJob
from lakebed.engines.shared.results import raise_first
from lakebed.engines.shared.sources import BATCH_ROWS
from lakebed.kernels.rows import RowsWritten, attempt, together
from lakebed.kernels.storage_settings import StorageSettings

# One thread writes about this much before a second one, and with it a second file, is worth its start.
THREAD_BYTES = 128 << 20


class LocalRows:
    """A table, or files that are scanned."""

    def __init__(self, rows: pa.Table | pads.Dataset, storage: StorageSettings) -> None:
        self._rows = rows
        self._storage = storage

    @property
    def schema(self) -> pa.Schema:
        return self._rows.schema

    def write(self, job: RowsJob) -> RowsWritten:
        task = job.task(self.schema, self._storage)
        batches = _Shared(self._batches())
        threads = max(1, min(os.cpu_count() or 1, self._size_bytes() // THREAD_BYTES))
        with ThreadPoolExecutor(threads, thread_name_prefix="rows") as pool:
            results = list(pool.map(lambda number: attempt(task, batches, f"{number:05d}"), range(threads)))
        raise_first(results)
        return together([one for one in results if isinstance(one, RowsWritten)])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if isinstance(self._rows, pa.Table):
            return iter(self._rows.to_batches(max_chunksize=BATCH_ROWS))
        return iter(self._rows.to_batches(batch_size=BATCH_ROWS))

    def _size_bytes(self) -> int:
        if isinstance(self._rows, pa.Table):
            return int(self._rows.nbytes)
        if isinstance(self._rows, pads.FileSystemDataset):
            return sum(max(0, one.size or 0) for one in self._rows.filesystem.get_file_info(self._rows.files))
        return 0


class _Shared:
    """Batches that several threads take from, each batch once."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._guard = threading.Lock()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._guard:
            return next(self._batches)
