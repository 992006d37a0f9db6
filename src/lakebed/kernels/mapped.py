"""Arrow files on disk that are mapped instead of loaded, and let go of again.

What a process has read of a mapped file counts as its memory until it lets go; the system keeps the pages as long as it
has room, so that reading them again costs little.
"""

import mmap
import threading
import weakref
from collections.abc import Iterable, Iterator

import pyarrow as pa

_MAPPED: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()
_LOCK = threading.Lock()


def write_batches(path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Writes an Arrow IPC file."""
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def map_batches(path: str) -> list[pa.RecordBatch]:
    """The batches of an Arrow IPC file, mapped."""
    reader = _open(path)
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]


def map_table(path: str) -> pa.Table:
    """The same as a table."""
    return _open(path).read_all()


def let_go() -> None:
    """Gives back the memory of what was read of mapped files. They can be read as before."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    with _LOCK:
        for view in list(_MAPPED):
            view.madvise(mmap.MADV_DONTNEED)


def free_memory() -> None:
    """The same, and gives back what Arrow keeps for later: at the end of a step that took much."""
    let_go()
    pa.default_memory_pool().release_unused()


def rechunked(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of exactly so many, but for the last."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows - count)
            start += part.num_rows
            count += part.num_rows
            waiting.append(part)
            if count == rows:
                yield _together(waiting)
                waiting, count = [], 0
    if waiting:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    schema = batches[0].schema
    columns = [pa.concat_arrays([batch.column(place) for batch in batches]) for place in range(len(schema))]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _open(path: str) -> "pa.ipc.RecordBatchFileReader":
    with open(path, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with _LOCK:
        _MAPPED.add(view)
    return pa.ipc.open_file(pa.BufferReader(pa.py_buffer(view)))
