"""Deduplication in Arrow compute: of each key the row that is highest in the given order."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.keys import KeyIndex


def deduplicated(table: pa.Table, keys: Sequence[str], order_by: Sequence[str]) -> pa.Array:
    """The rows that remain: the highest of each key, NULL lowest and NaN highest; equal rows count once.

    Rows that tie and differ all remain: the caller refuses them as repeated keys.
    """
    numbers = KeyIndex([table.column(name) for name in keys]).numbers
    counts = pc.value_counts(numbers)
    several = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    contested = pc.is_in(numbers, value_set=several)
    single = pc.indices_nonzero(pc.invert(contested))
    rows = pc.indices_nonzero(contested)
    if not len(rows):
        return single.cast(pa.int64())
    leaders = _leaders(table.take(rows), numbers.take(rows), order_by)
    distinct = _distinct(table.take(rows.take(leaders)))
    chosen = pa.concat_arrays([single, rows.take(leaders).take(distinct)])
    return chosen.take(pc.sort_indices(chosen)).cast(pa.int64())


def _leaders(rows: pa.Table, numbers: pa.Array, order_by: Sequence[str]) -> pa.Array:
    if not order_by:
        return pa.array(range(rows.num_rows), pa.int64())
    by: dict[str, pa.Array | pa.ChunkedArray] = {"number": numbers}
    for place, name in enumerate(order_by):
        column = rows.column(name)
        if pa.types.is_floating(column.type):
            # Arrow sorts NaN next to NULL; here it is above every number.
            by[f"nan{place}"] = pc.fill_null(pc.is_nan(column), False)
        by[f"order{place}"] = column
    directions = [(name, "ascending" if name == "number" else "descending") for name in by]
    ordered = pc.sort_indices(pa.table(by), sort_keys=directions)  # NULL last is the default
    ranks = KeyIndex([numbers, *(rows.column(name) for name in order_by)]).numbers
    # The first row of each key in this order leads, and with it every row of the same rank.
    sorted_numbers = numbers.take(ordered)
    first = pc.not_equal(sorted_numbers.slice(1), sorted_numbers.slice(0, len(sorted_numbers) - 1))
    heads = ordered.filter(pa.concat_arrays([pa.array([True]), first]))
    return pc.indices_nonzero(pc.is_in(ranks, value_set=ranks.take(heads)))


def _distinct(rows: pa.Table) -> pa.Array:
    columns = []
    for column in rows.columns:
        if pa.types.is_null(column.type):
            continue
        # Nested values have no hash in Arrow; only contested rows come here, so their text will do.
        nested = pa.types.is_nested(column.type)
        columns.append(pa.array([repr(value) for value in column.to_pylist()]) if nested else column)
    numbers = KeyIndex(columns).numbers
    seen = pc.unique(numbers)
    return (
        pa.array([pc.index(numbers, value=number).as_py() for number in seen], pa.int64())
        if len(seen) < len(numbers)
        else pa.array(range(len(numbers)), pa.int64())
    )
