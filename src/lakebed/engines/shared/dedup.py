"""Deduplication in Arrow compute: of each key the row that is highest in the given order."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.keys import KeyIndex, canonical, counting, first_rows


def deduplicated(table: pa.Table, keys: Sequence[str], order_by: Sequence[str]) -> pa.Array:
    """The rows that remain: the highest of each key, NULL lowest and NaN highest; equal rows count once.

    Rows that tie and differ all remain: the caller refuses them as repeated keys. Every row is compared with the
    highest of its key and with no other, so time grows with the rows, however many share a key.
    """
    numbers = KeyIndex([table.column(name) for name in keys]).numbers
    heads = _heads(table, numbers, order_by)
    if len(heads) == len(numbers):
        return counting(len(numbers))
    others = _without(counting(len(numbers)), heads)
    rivals = heads.take(numbers.take(others))
    ties = _equal(table, others, rivals, order_by)
    others, rivals = others.filter(ties), rivals.filter(ties)
    differing = others.filter(pc.invert(_equal(table, others, rivals, table.column_names)))
    chosen = pa.concat_arrays([heads, differing])
    return chosen.take(pc.sort_indices(chosen))


def _heads(table: pa.Table, numbers: pa.Array, order_by: Sequence[str]) -> pa.Array:
    """For each key number the row that is highest in the order; the first of them, and without an order the first."""
    if not order_by:
        return first_rows(numbers)
    by: dict[str, pa.Array | pa.ChunkedArray] = {}
    for place, name in enumerate(order_by):
        column = table.column(name)
        if pa.types.is_floating(column.type):
            # Arrow sorts NaN next to NULL; here it is above every number.
            by[f"nan{place}"] = pc.fill_null(pc.is_nan(column), False)
        by[f"order{place}"] = column
    # NULL last is the default, and the sort is stable.
    ordered = pc.sort_indices(pa.table(by), sort_keys=[(name, "descending") for name in by]).cast(pa.int64())
    heads = ordered.take(first_rows(KeyIndex([numbers.take(ordered)]).numbers))
    # Those stand in the order of the sort: back to the order of the key numbers.
    return heads.take(pc.sort_indices(numbers.take(heads)))


def _without(rows: pa.Array, some: pa.Array) -> pa.Array:
    return rows.filter(pc.invert(pc.is_in(rows, value_set=some)))


def _equal(table: pa.Table, left: pa.Array, right: pa.Array, columns: Iterable[str]) -> pa.Array:
    """Whether each row of the left equals that of the right in all these columns: NULL is NULL, NaN is NaN."""
    equal = pa.repeat(pa.scalar(True), len(left))
    for name in columns:
        column = table.column(name)
        if not pa.types.is_null(column.type):
            equal = pc.and_(equal, _same(column.take(left), column.take(right)))
    return equal


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    one, other = _flat(canonical(left)), _flat(canonical(right))
    try:
        same = pc.equal(one, other)
    except pa.ArrowNotImplementedError:
        # Nested values cannot be compared in Arrow; only rows that share a key come here, so their text will do.
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return pa.array([repr(value) == repr(rival) for value, rival in pairs], pa.bool_())
    if pa.types.is_floating(one.type):
        same = pc.or_(same, pc.and_(pc.is_nan(one), pc.is_nan(other)))
    if one.null_count or other.null_count:
        same = pc.or_(pc.fill_null(same, False), pc.and_(one.is_null(), other.is_null()))
    return same


def _flat(values: pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
