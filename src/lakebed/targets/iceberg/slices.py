"""Which data files of a table hold rows of a slice: proven by bounds where they suffice, else by looking."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from lakebed.model import DataFile, Slice
from lakebed.targets.base import Affected

Verdict: TypeAlias = Literal["none", "all", "some", "unknown"]

LOOKS_AT_ONCE = 8


def affected(files: Iterable[DataFile], slice_: Slice, io: FileIO) -> Affected:
    """The files that the slice touches. What bounds leave open is answered by the file's own columns."""
    judged = [(file, by_bounds(file, slice_)) for file in files]
    open_questions = [file for file, verdict in judged if verdict == "unknown"]
    with ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="slices") as pool:
        answers = dict(
            zip((file.uri for file in open_questions), pool.map(_looking(slice_, io), open_questions), strict=True)
        )
    final = [(file, answers.get(file.uri, verdict)) for file, verdict in judged]
    return Affected(
        whole=tuple(file for file, verdict in final if verdict == "all"),
        mixed=tuple(file for file, verdict in final if verdict == "some"),
    )


def by_bounds(file: DataFile, slice_: Slice) -> Verdict:
    """What the bounds prove. Shortened text still bounds, and equal ends leave room for one value only."""
    whole = True
    for name, value in slice_.values.items():
        bounds = file.bounds.get(name)
        if bounds is None or bounds.minimum is None or bounds.maximum is None:
            whole = False
            continue
        if not str(bounds.minimum) <= value <= str(bounds.maximum):
            return "none"
        if not (bounds.minimum == bounds.maximum == value and bounds.nulls == 0):
            whole = False
    return "all" if whole else "unknown"


def _looking(slice_: Slice, io: FileIO) -> Callable[[DataFile], Verdict]:
    def look(file: DataFile) -> Verdict:
        with io.new_input(file.uri).open() as stream:
            parquet = pq.ParquetFile(stream)
            present = [name for name in slice_.values if name in parquet.schema_arrow.names]
            if len(present) < len(slice_.values):
                return "none"  # rows without these columns belong to no slice
            return _judge(parquet.read(columns=present), slice_.values)

    return look


def _judge(rows: pa.Table, values: Mapping[str, str]) -> Verdict:
    matching: pa.ChunkedArray | None = None
    for name, value in values.items():
        same = pc.fill_null(pc.equal(rows[name].cast(pa.string()), value), False)
        matching = same if matching is None else pc.and_(matching, same)
    count = pc.sum(matching).as_py() or 0
    if count == 0:
        return "none"
    return "all" if count == rows.num_rows else "some"
