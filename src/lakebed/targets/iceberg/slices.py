"""Which data files of a table hold rows of a slice: proven by bounds where they suffice, else by looking."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.table import Table

from lakebed.kernels.columns import find_columns
from lakebed.kernels.slices import in_slice
from lakebed.model import AnySlice, DataFile
from lakebed.targets.base import Affected
from lakebed.targets.iceberg.schema import physical_schema
from lakebed.targets.shared.footers import Match, match

LOOKS_AT_ONCE = 8


def affected(files: Iterable[DataFile], slice_: AnySlice, table: Table) -> Affected:
    """The files that the slice touches. What partitions and bounds leave open is answered by the file's own columns."""
    judged = [(file, match(file, slice_.values)) for file in files]
    open_questions = [file for file, verdict in judged if verdict == "some"]
    with ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="slices") as pool:
        answers = dict(
            zip((file.uri for file in open_questions), pool.map(_looking(slice_, table), open_questions), strict=True)
        )
    final = [(file, answers.get(file.uri, verdict)) for file, verdict in judged]
    return Affected(
        whole=tuple(file for file, verdict in final if verdict == "all"),
        mixed=tuple(file for file, verdict in final if verdict == "some"),
    )


def _looking(slice_: AnySlice, table: Table) -> Callable[[DataFile], Match]:
    names = [name for name in slice_.values if name in table.schema().column_names]
    wanted = physical_schema(table.schema().select(*names))

    def look(file: DataFile) -> Match:
        with table.io.new_input(file.uri).open() as stream:
            parquet = pq.ParquetFile(stream)
            present = parquet.schema_arrow
            places = dict(zip(wanted.names, find_columns(wanted, present), strict=True))
            inside = {name: present.names[place] for name in slice_.values if (place := places.get(name)) is not None}
            if any(value is not None for name, value in slice_.values.items() if name not in inside):
                return "none"  # a column that the file lacks is NULL in all its rows
            if not inside:
                return "all"
            rows = parquet.read(columns=list(inside.values()))
            named = pa.table({name: rows[column] for name, column in inside.items()})
            return _judge(named, {name: slice_.values[name] for name in inside})

    return look


def _judge(rows: pa.Table, values: Mapping[str, object]) -> Match:
    count = pc.sum(in_slice(rows, values)).as_py() or 0
    if count == 0:
        return "none"
    return "all" if count == rows.num_rows else "some"
