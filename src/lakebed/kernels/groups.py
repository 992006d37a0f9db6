"""Exact sums of record batches by groups: what the difference of two months is made of."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from lakebed.kernels.values import EXACT
from lakebed.model import GroupKey, GroupTotals

Groups = dict[tuple[str | None, ...], GroupTotals]


def group_batch(
    batch: pa.RecordBatch, columns: Sequence[str], codes: pa.Array | None, by: Sequence[GroupKey]
) -> Groups:
    """Rows and sums of each group of a batch; `codes` are the currencies, if there are any."""
    keys = [pa.repeat("", batch.num_rows) if codes is None else codes, *(_values(batch, key) for key in by)]
    names = [f"key{number}" for number in range(len(keys))]
    exact = [column for column in columns if not pat.is_floating(batch.column(column).type)]
    sums = [f"sum{number}" for number in range(len(exact))]
    table = pa.table([*keys, *(_wide(batch.column(column)) for column in exact)], names=[*names, *sums])
    grouped = table.group_by(names, use_threads=False).aggregate([([], "count_all"), *((name, "sum") for name in sums)])
    found: Groups = {}
    lists = [grouped.column(name).to_pylist() for name in (*names, "count_all", *(f"{name}_sum" for name in sums))]
    for row in zip(*lists, strict=True):
        values, rows, totals = row[: len(names)], row[len(names)], row[len(names) + 1 :]
        found[values] = GroupTotals(
            rows, {column: total or Decimal(0) for column, total in zip(exact, totals, strict=True)}
        )
    for column in columns:
        if column not in exact:
            _add_floating(found, column, keys, batch.column(column))
    return found


def add_groups(first: Mapping[tuple[str | None, ...], GroupTotals], more: Groups) -> Groups:
    """What was grouped in parts, as one."""
    together = dict(first)
    for key, group in more.items():
        before = together.get(key)
        if before is None:
            together[key] = group
            continue
        names = {**before.sums, **group.sums}
        sums = {name: EXACT.add(before.sums.get(name, Decimal(0)), group.sums.get(name, Decimal(0))) for name in names}
        together[key] = GroupTotals(before.rows + group.rows, sums)
    return together


def group_columns(by: Sequence[GroupKey] | None) -> tuple[str, ...]:
    """The columns that must be read to group."""
    return tuple(dict.fromkeys(name for key in by or () for name, _ in key.sources))


def _values(batch: pa.RecordBatch, key: GroupKey) -> pa.Array:
    """The first of the key's columns that has a value; an empty text is none."""
    names = set(batch.schema.names)
    found = [_texts(batch.column(name), inside) for name, inside in key.sources if name in names]
    return reduce(pc.coalesce, found) if found else pa.nulls(batch.num_rows, pa.string())


def _texts(column: pa.Array, inside: str | None) -> pa.Array:
    if inside is not None:
        column = pc.map_lookup(column, pa.scalar(inside, column.type.key_type), "first")
    text = column.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _wide(column: pa.Array) -> pa.Array:
    if pat.is_null(column.type):
        return pa.nulls(len(column), pa.decimal256(76, 0))
    # 38 digits overflow in silence when summed as they are.
    return column.cast(pa.decimal256(76, column.type.scale if pat.is_decimal(column.type) else 0))


def _add_floating(found: Groups, column: str, keys: Sequence[pa.Array], values: pa.Array) -> None:
    """Floating point counts as its shortest text, which is what was written once."""
    sums: dict[tuple[str | None, ...], Decimal] = {}
    for value, *key in zip(values.to_pylist(), *(one.to_pylist() for one in keys), strict=True):
        more = Decimal(0) if value is None else Decimal(repr(value))
        sums[tuple(key)] = EXACT.add(sums.get(tuple(key), Decimal(0)), more)
    for group, total in sums.items():
        found[group] = GroupTotals(found[group].rows, {**found[group].sums, column: total})
