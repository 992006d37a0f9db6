"""What a merge means, once more and on its own: dictionaries of Python values, and none of Lakebed's code.

The oracle of `lakebed.merge_core` shares its schema rules and casts with the engines, so that a mistake in those would
be in both. This model knows columns as chains of kinds, of which each holds every value of those before it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A type, and the value of it for each small number, which is the same value along the whole chain."""

    type: pa.DataType
    make: Callable[[int], Any]


def _struct(number: int) -> dict[str, Any]:
    return {"a": number}


def _wider_struct(number: int) -> dict[str, Any]:
    return {"a": number, "b": f"b{number}" if number % 2 else None}


def _text(number: int) -> str:
    return ["", "a", "ä'\"", "ss", "ß", "x y", "NULL", "a;b--c"][number % 8] + str(number)


def _moment(number: int) -> datetime:
    return datetime(2026, 1, 1) + timedelta(milliseconds=number * 1001)


_FLOATS = [0.5, float("nan"), -0.0, 1.25, -2.5, 3.75, 100.0, 0.0]

CHAINS: dict[str, list[Kind]] = {
    "integer": [Kind(kind, int) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())],
    "unsigned": [Kind(kind, int) for kind in (pa.uint8(), pa.uint16(), pa.uint32())],
    "float": [Kind(kind, lambda number: _FLOATS[number % 8]) for kind in (pa.float32(), pa.float64())],
    "decimal": [
        Kind(pa.decimal128(*digits), lambda number: Decimal(number) / 4) for digits in ((5, 2), (9, 2), (20, 4))
    ],
    "text": [Kind(kind, _text) for kind in (pa.string(), pa.large_string())],
    "binary": [Kind(pa.binary(), lambda number: _text(number).encode())],
    "fixed": [Kind(pa.binary(3), lambda number: f"{number % 1000:03d}".encode())],
    "day": [Kind(pa.date32(), lambda number: date(2026, 1, 1) + timedelta(days=number))],
    "moment": [Kind(pa.timestamp(unit), _moment) for unit in ("ms", "us")],
    "instant": [Kind(pa.timestamp("us", zone), _moment) for zone in ("UTC",)],
    "flag": [Kind(pa.bool_(), lambda number: number % 2 == 0)],
    "list": [Kind(pa.list_(kind), lambda number: [number, None][: number % 3]) for kind in (pa.int32(), pa.int64())],
    "map": [
        Kind(pa.map_(pa.string(), pa.int64()), lambda number: [("k", number), ("l", None)][: number % 3]),
    ],
    "struct": [
        Kind(pa.struct([("a", pa.int32())]), _struct),
        Kind(pa.struct([("a", pa.int32()), ("b", pa.string())]), _wider_struct),
        Kind(pa.struct([("a", pa.int64()), ("b", pa.string())]), _wider_struct),
    ],
}
NESTED = frozenset({"list", "map", "struct"})


@dataclass
class Table:
    """Columns by their names, each as (chain, place in the chain), and rows of values."""

    columns: dict[str, tuple[str, int]]
    rows: list[Row] = field(default_factory=list)

    def arrow(self) -> pa.Table:
        return pa.table(
            {
                name: pa.array([row[name] for row in self.rows], CHAINS[chain][place].type)
                for name, (chain, place) in self.columns.items()
            }
        )


@dataclass(frozen=True)
class Merge:
    """One merge as a user asks for it."""

    keys: Sequence[str]
    strategy: str
    missing: str = "keep"
    schema_evolution: bool = True
    order_by: Sequence[str] = ()


@dataclass(frozen=True)
class Refused:
    kind: str


@dataclass(frozen=True)
class Done:
    table: Table | None
    inserted: int
    updated: int
    deleted: int


def merge(target: Table | None, source: Table, what: Merge) -> Done | Refused:
    """The table afterwards and the counts, or the kind of the refusal."""
    columns = dict(target.columns) if target is not None else {}
    spelled = {name.casefold(): name for name in columns}
    incoming: dict[str, str] = {}  # the table's spelling by the source's
    added, widened = False, set()
    for name, (chain, place) in source.columns.items():
        known = spelled.setdefault(name.casefold(), name)
        incoming[name] = known
        if known not in columns:
            added = True
            columns[known] = (chain, place)
        elif place > (before := columns[known][1]):
            added = added or (chain == "struct" and before == 0)
            if chain != "text" and (chain != "struct" or place == 2):
                widened.add(known)
            columns[known] = (chain, place)
    if target is not None and not what.schema_evolution and (added or widened):
        first = next((name for name in columns if name in widened), None)
        is_key = first is not None and first.casefold() in {key.casefold() for key in what.keys}
        return Refused("KEY_TYPE_MISMATCH" if is_key and not added else "SCHEMA_INCOMPATIBLE")
    keys = [spelled[key.casefold()] for key in what.keys]
    arriving = [{incoming[name]: value for name, value in row.items()} for row in source.rows]
    if any(row[key] is None for row in arriving for key in keys):
        return Refused("NULL_KEY_SOURCE")
    if what.strategy == "deduplicate":
        arriving = _highest(arriving, keys, [spelled[name.casefold()] for name in what.order_by])
    if what.strategy != "delete_insert" and _repeats(arriving, keys):
        return Refused("DUPLICATE_SOURCE_KEYS")
    existing = target.rows if target is not None else []
    if any(row[key] is None for row in existing for key in keys):
        return Refused("NULL_KEY_TARGET")
    done = _changed(existing, arriving, keys, what, delivered=set(incoming.values()), columns=columns)
    if not (done[1] or done[2] or done[3]):
        return Done(target, 0, 0, 0)
    return Done(Table(columns, done[0]), *done[1:])


def _changed(
    existing: list[Row], arriving: list[Row], keys: Sequence[str], what: Merge, *, delivered: set[str], columns: Any
) -> tuple[list[Row], int, int, int]:
    new = {_key(row, keys): row for row in arriving}
    here = {_key(row, keys) for row in existing}
    empty = dict.fromkeys(columns)
    rows: list[Row] = []
    inserted = updated = deleted = 0
    for row in existing:
        change = new.get(_key(row, keys))
        if change is None:
            if what.strategy == "full_merge":
                deleted += 1
            else:
                rows.append({**empty, **row})
        elif what.strategy == "delete_insert":
            deleted += 1
        elif what.strategy == "insert":
            rows.append({**empty, **row})
        else:
            updated += 1
            kept = row if what.missing == "keep" else {name: row[name] for name in row if name in delivered}
            rows.append({**empty, **kept, **change})
    for row in arriving:
        is_new = _key(row, keys) not in here
        if what.strategy == "delete_insert" or (is_new and what.strategy != "update"):
            inserted += 1
            rows.append({**empty, **row})
    return rows, inserted, updated, deleted


def _highest(rows: list[Row], keys: Sequence[str], order_by: Sequence[str]) -> list[Row]:
    best: dict[Any, list[Row]] = {}
    for row in rows:
        leaders = best.setdefault(_key(row, keys), [])
        rank = [_rank(row[name]) for name in order_by]
        if leaders and rank < [_rank(leaders[0][name]) for name in order_by]:
            continue
        if leaders and rank > [_rank(leaders[0][name]) for name in order_by]:
            leaders.clear()
        if not any(plain(row) == plain(leader) for leader in leaders):
            leaders.append(row)
    return [row for leaders in best.values() for row in leaders]


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)


def _repeats(rows: list[Row], keys: Sequence[str]) -> bool:
    found = [_key(row, keys) for row in rows]
    return len(set(found)) < len(found)


def _key(row: Row, keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(plain(row[key]) for key in keys)


def plain(value: Any) -> Any:
    """A value that equals what merges take for equal, and has an order: one NaN, one zero, times without zones."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, plain(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(plain(part) for part in value)
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def same_rows(found: pa.Table, wanted: Table) -> str | None:
    """What differs between a table that was read and what should be there, or None."""
    if sorted(found.column_names) != sorted(wanted.columns):
        return f"columns {sorted(found.column_names)}, wanted {sorted(wanted.columns)}"
    names = sorted(wanted.columns)
    left = sorted(repr([_shown(row[name]) for name in names]) for row in found.to_pylist())
    right = sorted(repr([_shown(_in_kind(row[name], *wanted.columns[name])) for name in names]) for row in wanted.rows)
    if left == right:
        return None
    extra = [row for row in left if row not in right][:3]
    lost = [row for row in right if row not in left][:3]
    return f"{len(left)} rows, wanted {len(right)}; not wanted: {extra}; missing: {lost}"


def _in_kind(value: Any, chain: str, place: int) -> Any:
    """A struct of an earlier kind has NULL in the fields of a later one."""
    if chain == "struct" and value is not None:
        return {name: value.get(name) for name in (field.name for field in CHAINS[chain][place].type)}
    return value


def _shown(value: Any) -> Any:
    value = plain(value)
    return value.normalize() + 0 if isinstance(value, Decimal) else value
