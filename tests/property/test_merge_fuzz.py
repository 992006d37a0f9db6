"""Random merges, under names that systems give a meaning to and types that widen, against a model of their own.

Each case is drawn from its number, so that one which fails is run again alone:

    LAKEBED_FUZZ=duckdb-parquet-1234 pytest tests/property/test_merge_fuzz.py -k one_case
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support import merge_model as model
from tests.support.iceberg_tables import open_table
from tests.support.merge_model import CHAINS, NESTED, Done, Merge, Refused, Table

from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.duckdb.merge import DuckDBMerge
from lakebed.engines.protocols.merge import MergeEngine
from lakebed.engines.spark.merge import BROADCAST_ROWS, SparkMerge
from lakebed.engines.spark.session import Session
from lakebed.errors import DatasetMergeError
from lakebed.merge_core.spec import STRATEGIES
from lakebed.schema.special_names import SPECIAL_NAMES
from lakebed.table.merge import merge
from lakebed.targets.base import Target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget

NAMES = ("id", "Key", "value", "tag", "x y", "größe", "a.b", 'q"uote', "it's", *SPECIAL_NAMES)
NAMES = tuple({name.casefold(): name for name in NAMES}.values())
# What a format does not have as it is, or cannot widen.
PLACES: dict[str, dict[str, Sequence[int]]] = {
    "parquet": {},
    "duckdb": {"fixed": ()},
    "iceberg": {"integer": (2, 3), "unsigned": (), "decimal": (0, 1), "moment": (1,), "list": (1,)},
}
# Spark's own DataFrames: no unsigned numbers, and times without a zone get one.
FRAME = {"unsigned": (), "moment": (), "instant": (), "fixed": (), "text": (0,)}
MANY, FEW, MANY_ON_SPARK = 3_000, 40, 60

LOCAL: dict[str, Callable[[], MergeEngine]] = {
    "arrow": ArrowMerge,
    "duckdb": DuckDBMerge,
    "fallback": lambda: DuckDBMerge(use_merge=False),
    "large": lambda: ArrowMerge(large_rows=2),
}


@dataclass(frozen=True)
class Case:
    existing: Table | None
    incoming: Table
    what: Merge
    pieces: int
    partition_by: str | None
    again: bool


class Draw:
    """A case from its number."""

    def __init__(self, seed: str, places: dict[str, Sequence[int]], *, partitions: bool) -> None:
        self.random = Random(seed)
        self.places = {chain: tuple(places.get(chain, range(len(kinds)))) for chain, kinds in CHAINS.items()}
        self.partitions = partitions

    def case(self) -> Case:
        pick = self.random
        names = pick.sample(NAMES, pick.randint(2, 6))
        chains = {name: self._chain() for name in names}
        flat = [name for name in names if chains[name] not in NESTED]
        keys = flat[: pick.choice([1, 1, 1, 2, 3])]
        if not keys:
            chains[names[0]], keys = "integer", names[:1]
        strategy = pick.choice(STRATEGIES)
        clean = pick.random() < 0.75
        existing = None if pick.random() < 0.08 else self._side(names, chains, keys, unique=False, clean=clean)
        unique = clean and strategy not in ("deduplicate", "delete_insert")
        incoming = self._side(names, chains, keys, unique=unique, clean=clean, after=existing)
        order = [name for name in incoming.columns if chains[_plainly(name, names)] not in NESTED]
        order_by = pick.sample(order, pick.randint(0, min(2, len(order)))) if strategy == "deduplicate" else []
        what = Merge(
            keys=[pick.choice([key, key, key.upper()]) for key in keys],
            strategy=strategy,
            missing=pick.choice(["keep", "keep", "null"]),
            schema_evolution=pick.random() > 0.1,
            order_by=order_by,
        )
        texts = [name for name in names if chains[name] == "text" and (existing is None or name in existing.columns)]
        partition_by = pick.choice(texts) if self.partitions and texts and pick.random() < 0.5 else None
        if len((existing or incoming).columns) < 2 or (existing is None and partition_by not in incoming.columns):
            partition_by = None
        return Case(existing, incoming, what, pick.randint(1, 4), partition_by, pick.random() < 0.3)

    def _chain(self) -> str:
        return self.random.choice([chain for chain, places in self.places.items() if places])

    def _side(
        self,
        names: Sequence[str],
        chains: dict[str, str],
        keys: Sequence[str],
        *,
        unique: bool,
        clean: bool,
        after: Table | None = None,
    ) -> Table:
        pick = self.random
        columns = {}
        for name in pick.sample(list(names), len(names)):
            if name not in keys and pick.random() < 0.2:
                continue
            chain = chains[name]
            least = after.columns[name][1] if after is not None and chain == "struct" and name in after.columns else 0
            place = pick.choice([place for place in self.places[chain] if place >= least])
            spelled = name.upper() if after is not None and pick.random() < 0.15 else name
            columns[spelled if spelled.casefold() == name.casefold() else name] = (chain, place)
        count = pick.choice([0, 1, 2, 5, 9, 14])
        numbers = [[pick.randrange(8) for _ in columns] for _ in range(count)]
        rows = []
        seen = set()
        for drawn in numbers:
            row = {}
            for number, (name, (chain, place)) in zip(drawn, columns.items(), strict=True):
                is_key = name.casefold() in {key.casefold() for key in keys}
                empty = pick.random() < (0.02 if is_key and not clean else 0 if is_key else 0.15)
                row[name] = None if empty else CHAINS[chain][place].make(number)
            key = tuple(model.plain(value) for name, value in row.items() if name in keys)
            if not unique or key not in seen:
                rows.append(row)
            seen.add(key)
        if unique:
            folded = {key.casefold() for key in keys}
            by_key = {
                tuple(model.plain(row[name]) for name in sorted(row) if name.casefold() in folded): row for row in rows
            }
            rows = list(by_key.values())
        return Table(columns, rows)


def _plainly(name: str, names: Sequence[str]) -> str:
    return next(one for one in names if one.casefold() == name.casefold())


def create(kind: str, case: Case, folder: Path) -> Target:
    existing = case.existing
    if kind == "duckdb":
        if existing is not None:
            with duckdb.connect(str(folder / "t.duckdb")) as connection:
                # Not from a Parquet file, of which DuckDB reads milliseconds as microseconds.
                connection.register("given", existing.arrow())
                connection.execute('CREATE TABLE "my t" AS SELECT * FROM given')
        return DuckDBTarget(str(folder / "t.duckdb"), "my t")
    target = open_table(folder / "work") if kind == "iceberg" else ParquetTarget(str(folder / "t"))
    if existing is None:
        return target
    if kind == "iceberg" or case.partition_by is not None:
        # A column that numbers the rows is a key whatever the others hold, and goes again with the model's.
        merge(
            existing.arrow(),
            target,
            keys=case.what.keys,
            strategy="delete_insert",
            engine="arrow",
            partition_by=case.partition_by,
        )
        return target
    (folder / "t").mkdir()
    table = existing.arrow()
    size = max(1, -(-table.num_rows // case.pieces))
    for start in range(0, max(1, table.num_rows), size):
        pq.write_table(table.slice(start, size), folder / "t" / f"{start}.parquet")
    return target


def rows_of(target: Target) -> pa.Table:
    found = target.read()
    return found if isinstance(found, pa.Table) else found.to_table()


def check(number: str, kind: str, engine: MergeEngine, *, frame: Callable[[pa.Table], Any] | None = None) -> None:
    """Draws the case, runs it, and compares rows, types and counts with the model's."""
    places = {**PLACES[kind], **FRAME} if frame is not None else PLACES[kind]
    case = Draw(number, places, partitions=kind != "duckdb").case()
    with tempfile.TemporaryDirectory() as parent:
        filled_by_merge = case.existing is not None and (kind == "iceberg" or case.partition_by is not None)
        if filled_by_merge and not _fillable(case):
            is_delivered = case.partition_by in case.incoming.columns and len(case.incoming.columns) > 1
            case = replace(case, existing=None, partition_by=case.partition_by if is_delivered else None)
        target = create(kind, case, Path(parent))
        before = case.existing
        for _ in range(2 if case.again else 1):
            wanted = model.merge(before, case.incoming, case.what)
            before = _compare(number, case, target, wanted, before, engine, frame)


def _fillable(case: Case) -> bool:
    """A merge refuses NULL keys and creates nothing without rows."""
    filling = replace(case.what, strategy="delete_insert", schema_evolution=True, order_by=())
    assert case.existing is not None
    return bool(case.existing.rows) and isinstance(model.merge(None, case.existing, filling), Done)


def _compare(
    number: str,
    case: Case,
    target: Target,
    wanted: Done | Refused,
    before: Table | None,
    engine: MergeEngine,
    frame: Callable[[pa.Table], Any] | None,
) -> Table | None:
    what, source = case.what, case.incoming.arrow()
    told = f"case {number}: {what}, {case}"

    def run() -> Any:
        return merge(
            source if frame is None else frame(source),
            target,
            keys=what.keys,
            strategy=what.strategy,  # type: ignore[arg-type]
            missing=what.missing,  # type: ignore[arg-type]
            schema_evolution=what.schema_evolution,
            dedup_order_by=what.order_by or None,
            partition_by=case.partition_by if before is None else None,
            engine=engine,
        )

    if isinstance(wanted, Refused):
        with pytest.raises(DatasetMergeError) as caught:
            run()
        assert caught.value.kind == wanted.kind, told
        assert target.state().exists == (before is not None), told
        assert before is None or model.same_rows(rows_of(target), before) is None, told
        return before
    try:
        done = run()
    except DatasetMergeError as error:
        pytest.fail(f"{error.kind} {error}: {told}")
    assert (done.inserted, done.updated, done.deleted) == (wanted.inserted, wanted.updated, wanted.deleted), told
    assert done.total == (0 if wanted.table is None else len(wanted.table.rows)), told
    if wanted.table is None:
        assert not target.state().exists, told
        return None
    assert model.same_rows(rows_of(target), wanted.table) is None, (
        f"{model.same_rows(rows_of(target), wanted.table)}: {told}"
    )
    if isinstance(target, ParquetTarget):
        _check_types(target, wanted.table, told)
    return wanted.table


def _check_types(target: ParquetTarget, wanted: Table, told: str) -> None:
    """Every file that holds a column holds it in the table's type, so that any reader may begin with any file."""
    for file in target.state().files:
        schema = pq.read_schema(file.uri)
        for name, (chain, place) in wanted.columns.items():
            if name in schema.names:
                kind = CHAINS[chain][place].type
                if chain == "text":  # Parquet has one; how Arrow lays it out in memory is no matter
                    continue
                assert schema.field(name).type.equals(kind), f"{file.uri}: {name} is {schema.field(name).type}: {told}"


def run_cases(engine: str, kind: str, count: int) -> None:
    for number in range(count):
        check(f"{engine}-{kind}-{number}", kind, LOCAL[engine]())


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "iceberg"])
@pytest.mark.parametrize("engine", LOCAL)
def test_some_random_merges(engine: str, kind: str) -> None:
    run_cases(engine, kind, FEW if kind == "parquet" else FEW // 4)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["parquet", "duckdb", "iceberg"])
@pytest.mark.parametrize("engine", LOCAL)
def test_many_random_merges(engine: str, kind: str) -> None:
    run_cases(engine, kind, MANY)


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["parquet", "duckdb", "iceberg"])
def test_random_merges_on_spark(kind: str, spark_local: Session) -> None:
    spark = spark_local.spark
    for number in range(MANY_ON_SPARK):
        if number % 3 == 0:
            check(f"spark-{kind}-{number}", kind, SparkMerge(spark))
        else:
            engine = SparkMerge(spark, broadcast_rows=BROADCAST_ROWS if number % 3 == 1 else 0)
            check(f"frame-{kind}-{number}", kind, engine, frame=spark.createDataFrame)


@pytest.mark.skipif("LAKEBED_FUZZ" not in os.environ, reason="runs the one case that LAKEBED_FUZZ names")
def test_one_case() -> None:
    number = os.environ["LAKEBED_FUZZ"]
    engine, kind, _ = number.split("-")
    check(number, kind, LOCAL[engine]())
