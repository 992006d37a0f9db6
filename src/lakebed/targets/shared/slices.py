"""Which data files hold rows of a slice: proven by partitions and bounds where they suffice, else by looking."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.kernels.columns import find_columns
from lakebed.kernels.slices import in_slice
from lakebed.model import AnySlice, DataFile
from lakebed.targets.base import Affected
from lakebed.targets.shared.footers import Match, match

LOOKS_AT_ONCE = 8


def affected(
    files: Sequence[DataFile], slice_: AnySlice, columns: pa.Schema, open_: Callable[[DataFile], Any]
) -> Affected:
    """The files that the slice touches. What partitions and bounds leave open is answered by the file's own columns.

    `columns` are those of the slice as files know them, by id where they have ids; `open_` opens a file for reading.
    """
    judged = [(file, match(file, slice_.values)) for file in files]
    open_questions = [file for file, verdict in judged if verdict == "some"]
    if open_questions:
        with ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="slices") as pool:
            answers = pool.map(lambda file: _look(file, slice_, columns, open_), open_questions)
            found = dict(zip((file.uri for file in open_questions), answers, strict=True))
        judged = [(file, found.get(file.uri, verdict)) for file, verdict in judged]
    return Affected(
        whole=tuple(file for file, verdict in judged if verdict == "all"),
        mixed=tuple(file for file, verdict in judged if verdict == "some"),
    )


def _look(file: DataFile, slice_: AnySlice, columns: pa.Schema, open_: Callable[[DataFile], Any]) -> Match:
    with open_(file) as stream:
        parquet = pq.ParquetFile(stream)
        present = parquet.schema_arrow
        places = dict(zip(columns.names, find_columns(columns, present), strict=True))
        inside = {name: present.names[place] for name in slice_.values if (place := places.get(name)) is not None}
        elsewhere = {name: value for name, value in slice_.values.items() if name not in inside}
        # A column that neither file nor partition has is NULL in all its rows.
        if any(not _is(file.partition.get(name), value) for name, value in elsewhere.items()):
            return "none"
        if not inside:
            return "all"
        count = 0
        for batch in parquet.iter_batches(columns=list(inside.values()), use_threads=False):
            named = pa.table({name: batch.column(column) for name, column in inside.items()})
            count += pc.sum(in_slice(named, {name: slice_.values[name] for name in inside})).as_py() or 0
        return "none" if count == 0 else "all" if count == parquet.metadata.num_rows else "some"


def _is(given: str | None, value: object) -> bool:
    return given in value if isinstance(value, frozenset) else given == value
