"""Which data files of a table hold rows of a slice: proven by bounds where they suffice, else by looking."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.table import Table

from lakebed.kernels.columns import find_columns
from lakebed.model import DataFile, Slice
from lakebed.targets.base import Affected
from lakebed.targets.iceberg.schema import physical_schema
from lakebed.targets.shared.footers import Match, match

LOOKS_AT_ONCE = 8


def affected(files: Iterable[DataFile], slice_: Slice, table: Table) -> Affected:
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


def _looking(slice_: Slice, table: Table) -> Callable[[DataFile], Match]:
    names = [name for name in slice_.values if name in table.schema().column_names]
    wanted = physical_schema(table.schema().select(*names))

    def look(file: DataFile) -> Match:
        with table.io.new_input(file.uri).open() as stream:
            parquet = pq.ParquetFile(stream)
            present = parquet.schema_arrow
            places = dict(zip(wanted.names, find_columns(wanted, present), strict=True))
            inside = {name: present.names[place] for name in slice_.values if (place := places.get(name)) is not None}
            if len(inside) < len(slice_.values):
                return "none"  # rows without these columns belong to no slice
            rows = parquet.read(columns=list(inside.values()))
            return _judge({name: rows[column] for name, column in inside.items()}, slice_.values)

    return look


def _judge(rows: Mapping[str, pa.ChunkedArray], values: Mapping[str, str]) -> Match:
    matching: pa.ChunkedArray | None = None
    for name, value in values.items():
        same = pc.fill_null(pc.equal(rows[name].cast(pa.string()), value), False)
        matching = same if matching is None else pc.and_(matching, same)
    count = 0 if matching is None else pc.sum(matching).as_py() or 0
    if matching is None or count == 0:
        return "none"
    return "all" if count == len(matching) else "some"
