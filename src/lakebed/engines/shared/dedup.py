"""Deduplication in Arrow compute: of each key the row that is highest in the given order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.key_shares import KeyShares
from lakebed.kernels.keys import KeyIndex, canonical, chosen_rows, counting, first_rows
from lakebed.kernels.source_rows import SourceRows


class _Columns(Protocol):
    """Rows, column by column."""

    @property
    def column_names(self) -> list[str]: ...

    def column(self, name: str, /) -> pa.ChunkedArray: ...


@dataclass(frozen=True)
class _SomeRows:
    """Some rows of a large source. A column is in memory only as long as somebody holds it."""

    source: SourceRows
    positions: pa.Array

    @property
    def column_names(self) -> list[str]:
        return self.source.column_names

    def column(self, name: str, /) -> pa.ChunkedArray:
        return self.source.take(self.positions, [name]).column(name)


def deduplicated_batches(
    source: SourceRows, shares: KeyShares, keys: Sequence[str], order_by: Sequence[str], *, rows_at_once: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a large source that remain, in its order: keys are compared share by share."""
    chosen = []
    for positions in shares.positions():
        rows = _SomeRows(source, positions)
        index = KeyIndex([rows.column(name) for name in keys])
        chosen.append(positions.take(deduplicated(rows, index, order_by)).cast(shares.numbers))
    remaining = chosen_rows(source.num_rows, chosen)
    for start in range(0, source.num_rows, rows_at_once):
        here = pc.indices_nonzero(remaining.slice(start, rows_at_once)).cast(pa.int64())
        yield from source.take(pc.add(here, start)).to_batches()


def deduplicated(table: _Columns, index: KeyIndex, order_by: Sequence[str]) -> pa.Array:
    """The rows that remain: the highest of each key, NULL lowest and NaN highest; equal rows count once.

    Rows that tie and differ all remain: the caller refuses them as repeated keys. Every row is compared with the
    highest of its key and with no other, so time grows with the rows, however many share a key.
    """
    numbers = index.numbers
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


def _heads(table: _Columns, numbers: pa.Array, order_by: Sequence[str]) -> pa.Array:
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


def _equal(table: _Columns, left: pa.Array, right: pa.Array, columns: Iterable[str]) -> pa.Array:
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
