"""Columns under the names that DuckDB, Spark, Iceberg, Parquet, Arrow or we give a meaning to: all of them ordinary."""

from collections.abc import Iterator

import pyarrow as pa

from lakebed.schema.special_names import DUCKDB_READER, SPECIAL_NAMES, UNREADABLE
from lakebed.testing.merge_scenarios import Scenario

# Keys of three types in turn: DuckDB treats a text called `filename` otherwise than a number.
_KEY_TYPES = (pa.string(), pa.int64(), pa.binary())
_TOGETHER = 12


def _groups(size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(SPECIAL_NAMES), size):
        yield SPECIAL_NAMES[start : start + size]


def _key(number: int, kind: pa.DataType) -> object:
    if pa.types.is_string(kind):
        return f"k{number}"
    return f"k{number}".encode() if pa.types.is_binary(kind) else number


def _keyed(names: tuple[str, ...], kinds: tuple[pa.DataType, ...], rows: dict[int, str]) -> pa.Table:
    keys = {
        name: pa.array([_key(number, kind) for number in rows], kind) for name, kind in zip(names, kinds, strict=True)
    }
    return pa.table({**keys, "plain": pa.array(list(rows.values()), pa.string())})


def _key_scenario(names: tuple[str, ...], kinds: tuple[pa.DataType, ...], strategy: str) -> Scenario:
    old, new = {1: "a", 2: "b", 3: "c"}, {2: "B", 4: "D"}
    after = {
        "upsert": ({**old, **new}, (1, 1, 0)),
        "insert": ({**new, **old}, (1, 0, 0)),
        "full_merge": (new, (1, 1, 2)),
        "delete_insert": ({**old, **new}, (2, 0, 1)),
    }
    rows, counts = after[strategy]
    shown = "+".join(names) + (f" as {kinds[0]}" if len(names) == 1 else "")
    return Scenario(
        f"{strategy} by {shown}",
        _keyed(names, kinds, old),
        _keyed(names, kinds, new),
        _keyed(names, kinds, rows),
        counts,
        keys=names,
        strategy=strategy,  # type: ignore[arg-type]
    )


def _valued(names: tuple[str, ...], rows: dict[int, int], *, nested: bool) -> pa.Table:
    values = {}
    for place, name in enumerate(names):
        if nested:
            inner = [{name: number, "other": f"{number}"} for number in rows.values()]
            values[name] = pa.array(inner, pa.struct([(name, pa.int64()), ("other", pa.string())]))
        elif place % 2:
            values[name] = pa.array(list(rows.values()), pa.int64())
        else:
            values[name] = pa.array([f"v{number}" for number in rows.values()], pa.string())
    return pa.table({"id": pa.array(list(rows), pa.int64()), **values})


def _value_scenario(names: tuple[str, ...], *, nested: bool) -> Scenario:
    # Half of the columns are new to the table, so that files lack them.
    known = names[: len(names) // 2]
    old = _valued(known, {1: 10, 2: 20}, nested=nested)
    new = _valued(names, {2: 21, 3: 30}, nested=nested)
    kept = pa.concat_tables([old.slice(0, 1), new], promote_options="default").select(new.column_names)
    what = "structs" if nested else "values"
    return Scenario(f"{what} called {names[0]} to {names[-1]}", old, new, kept, (1, 1, 0))


def _partitioned(names: tuple[str, ...], rows: dict[int, str]) -> pa.Table:
    parts = {name: pa.array(list(rows.values()), pa.string()) for name in names}
    return pa.table({"id": pa.array(list(rows), pa.int64()), **parts})


def _partition_scenario(name: str, *, as_key: bool) -> Scenario:
    old, new = {1: "01", 2: "b c", 3: "01"}, ({2: "b c", 4: "n"} if as_key else {2: "01", 4: "n"})
    after = {**old, **new}
    return Scenario(
        f"partitioned by {name}" + (" which is a key" if as_key else ""),
        _partitioned((name,), old),
        _partitioned((name,), new),
        _partitioned((name,), after),
        (1, 1, 0),
        keys=("id", name) if as_key else ("id",),
        partition_by=(name,),
    )


def _refused(name: str) -> Scenario:
    new = pa.table({"id": [1], name: ["x"]})
    return Scenario(
        f"a column called {name} is refused", new.select(["id"]), new, refusal="SCHEMA_INCOMPATIBLE", column=name
    )


NAMES = (
    *map(_refused, sorted(UNREADABLE)),
    *(_key_scenario((name,), (kind,), "upsert") for name in DUCKDB_READER for kind in _KEY_TYPES),
    *(
        _key_scenario((name,), _KEY_TYPES[:1], strategy)
        for name in DUCKDB_READER[:1]
        for strategy in ("insert", "full_merge", "delete_insert")
    ),
    *(_key_scenario(names, _KEY_TYPES[: len(names)], "upsert") for names in _groups(3)),
    *(_value_scenario(names, nested=nested) for names in _groups(_TOGETHER) for nested in (False, True)),
)
PARTITIONED_NAMES = tuple(_partition_scenario(name, as_key=bool(place % 2)) for place, name in enumerate(SPECIAL_NAMES))
