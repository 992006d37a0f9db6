"""What a merge means, row by row, in plain Python: slow, obvious, and what every engine is measured against."""

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakebed.kernels.conform import conform
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified, unify
from lakebed.schema.arrow import from_arrow_schema, to_arrow_schema
from lakebed.schema.evolve import FormatRules
from lakebed.schema.types import DataType, Struct, fold

RowKey = tuple[object, ...]


@dataclass(frozen=True)
class OracleResult:
    """The table after the merge, None where there still is none, and the counts."""

    table: pa.Table | None
    before: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    added_columns: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return self.before + self.inserted - self.deleted


def merge_by_row(
    target: pa.Table | None, source: pa.Table, spec: MergeSpec, *, rules: FormatRules | None = None
) -> OracleResult:
    """Merges as the specification says, or raises as it says."""
    current = None if target is None else from_arrow_schema(target.schema)
    unified = unify(spec, current, from_arrow_schema(source.schema), rules=rules)
    spec, final = unified.spec, to_arrow_schema(unified.evolution.final)
    old = _in_schema(target, final)
    new = _in_schema(_delivered(source, unified), final)
    old_keys, new_keys = _keys(old, spec), _keys(new, spec)
    _refuse_nulls(spec, "source", new_keys)
    chosen = _deduplicated(new, new_keys, spec) if spec.strategy == "deduplicate" else list(range(len(new_keys)))
    if not spec.keys_may_repeat:
        _refuse_repeats(spec, [new_keys[row] for row in chosen])
    _refuse_nulls(spec, "target", old_keys)

    where: dict[RowKey, int] = {new_keys[row]: row for row in chosen}
    existing = set(old_keys)
    does = spec.effects
    inserted = updated = deleted = 0
    kept: list[tuple[int | None, int | None]] = []  # (row of the target, row of the source)
    for row, key in enumerate(old_keys):
        match = where.get(key)
        if does.delete_unmatched if match is None else does.delete_matched:
            deleted += 1
        elif match is not None and does.update_matched:
            updated += 1
            kept.append((row, match))
        else:
            kept.append((row, None))
    for row in chosen:
        if does.delete_matched or (does.insert_unmatched and new_keys[row] not in existing):
            inserted += 1
            kept.append((None, row))
    before = len(old_keys)
    if not (inserted or updated or deleted):
        return OracleResult(target, before)
    table = pa.table([_column(old, new, name, kept, unified) for name in final.names], schema=final)
    return OracleResult(table, before, inserted, updated, deleted, unified.evolution.added_columns)


def _column(
    old: pa.Table, new: pa.Table, name: str, kept: list[tuple[int | None, int | None]], unified: Unified
) -> pa.Array:
    end = old.num_rows + new.num_rows  # a place that holds NULL
    delivered = name in unified.delivered
    if delivered and unified.spec.keeps_missing and pa.types.is_struct(old.schema.field(name).type):
        final, arriving = unified.evolution.final[name].type, unified.evolution.incoming[unified.delivered[name]].type
        values = [
            old.column(name)[old_row].as_py()
            if new_row is None
            else _updated(
                final,
                arriving,
                new.column(name)[new_row].as_py(),
                None if old_row is None else old.column(name)[old_row].as_py(),
            )
            for old_row, new_row in kept
        ]
        return pa.array(values, old.schema.field(name).type)
    places = []
    for old_row, new_row in kept:
        if new_row is not None and (delivered or old_row is None):
            places.append(old.num_rows + new_row if delivered else end)
        elif new_row is not None and name in unified.emptied:
            places.append(end)
        else:
            places.append(old_row)
    kind = old.schema.field(name).type
    values = [*old.column(name).chunks, *new.column(name).chunks, pa.nulls(1, kind)]
    return pa.chunked_array(values, kind).combine_chunks().take(pa.array(places, pa.int64()))


def _updated(final: DataType, arriving: DataType, new: Any, old: Any) -> Any:
    """The new value of a struct, in which fields that its source lacks stay as they were, at every depth."""
    if not isinstance(final, Struct) or not isinstance(arriving, Struct):
        return new
    given = {fold(field.name): field.type for field in arriving.fields}
    result, something_kept = {}, False
    for field in final.fields:
        after = None if new is None else new[field.name]
        before = None if old is None else old[field.name]
        if fold(field.name) in given:
            after = _updated(field.type, given[fold(field.name)], after, before)
            something_kept = something_kept or (new is None and after is not None)
        else:
            after = before
            something_kept = something_kept or before is not None
        result[field.name] = after
    return None if new is None and not something_kept else result


def _delivered(source: pa.Table, unified: Unified) -> pa.Table:
    """The source's columns that the table has, under the table's names."""
    return pa.table({name: source.column(incoming) for name, incoming in unified.delivered.items()})


def _in_schema(table: pa.Table | None, schema: pa.Schema) -> pa.Table:
    if table is None:
        return schema.empty_table()
    return pa.table(conform(table.schema, table.columns, schema, table.num_rows, by_id=False), schema=schema)


def _keys(table: pa.Table, spec: MergeSpec) -> list[RowKey]:
    return list(zip(*(_values(table.column(name)) for name in spec.keys), strict=True))


def _values(column: pa.ChunkedArray) -> list[object]:
    if pa.types.is_timestamp(column.type) or pa.types.is_time64(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    return [_canonical(value) for value in column.to_pylist()]


def _canonical(value: object) -> object:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, _canonical(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(_canonical(part) for part in value)
    return value


def _refuse_nulls(spec: MergeSpec, side: str, keys: list[RowKey]) -> None:
    for place, name in enumerate(spec.keys):
        if count := sum(1 for key in keys if key[place] is None):
            raise refusals.null_key(spec, side="source" if side == "source" else "target", column=name, count=count)


def _refuse_repeats(spec: MergeSpec, keys: list[RowKey]) -> None:
    counts: dict[RowKey, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    if several := [key for key, count in counts.items() if count > 1]:
        raise refusals.duplicate_keys(spec, count=len(several), keys=several)


def _deduplicated(source: pa.Table, keys: list[RowKey], spec: MergeSpec) -> list[int]:
    orders = list(zip(*(_values(source.column(name)) for name in spec.dedup_order_by), strict=True))
    rows = list(zip(*(_values(source.column(name)) for name in source.column_names), strict=True))
    best: dict[RowKey, list[int]] = {}
    for row, key in enumerate(keys):
        leaders = best.setdefault(key, [row])
        if leaders[0] == row:
            continue
        rank = _rank(orders[row]) if orders else ()
        leading = _rank(orders[leaders[0]]) if orders else ()
        if rank > leading:
            best[key] = [row]
        elif rank == leading and all(rows[row] != rows[leader] for leader in leaders):
            leaders.append(row)
    return [row for leaders in best.values() for row in leaders]


def _rank(values: tuple[object, ...]) -> tuple[tuple[int, object], ...]:
    """NULL is the lowest and NaN the highest."""
    return tuple((0, 0) if value is None else (2, 0) if value == "NaN" else (1, value) for value in values)
