"""Which rows belong to a slice: those that have its value in each of its columns, NULL being a value like any other."""

from collections.abc import Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

_NOWHERE: Mapping[str, str | None] = {}


def in_slice(
    rows: pa.Table | pa.RecordBatch, values: Mapping[str, object], partition: Mapping[str, str | None] = _NOWHERE
) -> pa.Array | pa.ChunkedArray:
    """True for the rows of the slice. A column that the rows lack has the value of their partition, else NULL."""
    names = set(rows.schema.names)
    inside = [
        _has(rows.column(name), value)
        if name in names
        else pa.repeat(pa.scalar(partition.get(name) == value), rows.num_rows)
        for name, value in values.items()
    ]
    return reduce(pc.and_, inside) if inside else pa.repeat(pa.scalar(True), rows.num_rows)


def _has(column: pa.Array | pa.ChunkedArray, value: object) -> pa.Array | pa.ChunkedArray:
    if value is None:
        return column.is_null()
    if pa.types.is_null(column.type):
        return pa.repeat(pa.scalar(False), len(column))
    if isinstance(value, str) and not _is_text(column.type):
        column = column.cast(pa.string())
    return pc.fill_null(pc.equal(column, pa.scalar(value)), False)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
