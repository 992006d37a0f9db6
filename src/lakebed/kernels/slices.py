"""Which rows belong to a slice: those that have its value in each of its columns, NULL being a value like any other.

A frozenset stands for any of its values.
"""

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
        else pa.repeat(pa.scalar(_is(partition.get(name), value)), rows.num_rows)
        for name, value in values.items()
    ]
    return reduce(pc.and_, inside) if inside else pa.repeat(pa.scalar(True), rows.num_rows)


def _is(given: str | None, value: object) -> bool:
    return given in value if isinstance(value, frozenset) else given == value


def _has(column: pa.Array | pa.ChunkedArray, value: object) -> pa.Array | pa.ChunkedArray:
    if value is None:
        return column.is_null()
    if pa.types.is_null(column.type):
        return pa.repeat(pa.scalar(False), len(column))
    values = sorted(value) if isinstance(value, frozenset) else [value]
    if any(isinstance(one, str) for one in values) and not _is_text(column.type):
        column = column.cast(pa.string())
    if isinstance(value, frozenset):
        return pc.is_in(column, value_set=pa.array(values, column.type))
    return pc.fill_null(pc.equal(column, pa.scalar(value)), False)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
