"""DuckDB files: who holds them, tables that others made, and what a failed commit leaves."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import FrameType

import duckdb
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import ConcurrentModification, SchemaError, TargetError, TargetLocked
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import WrittenFile
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import plan_evolution
from lakebed.schema.types import Column, Integer, Schema, Text
from lakebed.targets.base import Change
from lakebed.targets.duckdb.file import DuckDBFile, OpenDatabase
from lakebed.targets.duckdb.schema import MOST_COMMENTS
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.testing.target import BASE, OCTOBER, Loader, contents, rows

HOLDER = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.readline()"


def target(tmp_path: Path) -> DuckDBTarget:
    return DuckDBTarget(str(tmp_path / "lake.duckdb"), "costs", wait_seconds=0.2)


def loader(tmp_path: Path) -> Loader:
    return Loader(target(tmp_path), StorageSettings(), ())


def test_a_file_that_another_process_holds(tmp_path: Path) -> None:
    loader(tmp_path).load(rows(OCTOBER, [1]))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lake.duckdb")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(TargetLocked, match=rf"lake.duckdb is open in process {holder.pid} .*\n.*end that process"):
            target(tmp_path).state()
        holder.communicate(b"go\n")
    assert target(tmp_path).state().rows == 1


def test_a_connection_of_the_same_process_is_no_obstacle(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        own.execute("CREATE TABLE other (a INTEGER)")
        loader(tmp_path).load(rows(OCTOBER, [1]))
        assert own.execute("SELECT count(*) FROM costs").fetchone() == (1,)
        assert own.execute("SELECT current_setting('preserve_insertion_order')").fetchone() == (True,)


def test_asking_creates_no_file(tmp_path: Path) -> None:
    assert not target(tmp_path).state().exists
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_others_made_and_changed(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        own.execute("CREATE TABLE COSTS (\"Id\" INTEGER NOT NULL, tag ENUM ('a'), moment TIMESTAMP_S)")
        own.execute("INSERT INTO costs VALUES (1, 'a', '2026-10-01')")
    state = target(tmp_path).state()
    assert [(column.name, str(column.type), column.nullable) for column in state.schema] == [
        ("Id", "int32", False),
        ("tag", "text", True),
        ("moment", "timestamp(s)", True),
    ]
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        own.execute('INSERT INTO costs ("Id") VALUES (2)')
    assert target(tmp_path).state().version != state.version


def test_a_view_is_no_table(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        own.execute("CREATE VIEW costs AS SELECT 1 AS id")
    with pytest.raises(TargetError, match="is a view"):
        target(tmp_path).state()


def test_a_table_without_our_columns_keeps_its_rows(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        own.execute("CREATE TABLE costs AS SELECT 1 AS id")
    table = target(tmp_path)
    state = table.state()
    plan = plan_evolution(state.schema, Schema.of([Column("id", Integer(32))]))
    with pytest.raises(SchemaError, match="lakebed_payer"):
        table.commit(state, table.stage(state, plan), Change(plan, remove_slice=OCTOBER))
    assert table.state() == state


def test_a_failed_commit_changes_nothing(tmp_path: Path) -> None:
    loader(tmp_path).load(rows(OCTOBER, [1]))
    table = target(tmp_path)
    state = table.state()
    plan = plan_evolution(state.schema, BASE.with_columns([Column("tag", Text())]))
    staging = table.stage(state, plan)
    with pytest.raises(TargetError, match=r"missing\.parquet"):
        table.commit(state, staging, Change(plan, (WrittenFile("missing.parquet", 1, 1),), remove_slice=OCTOBER))
    table.abandon(staging)
    assert table.state() == state
    assert contents(table) == rows(OCTOBER, [1])
    assert {path.name for path in tmp_path.iterdir()} == {"lake.duckdb"}


def test_commits_are_kept_with_their_properties(tmp_path: Path) -> None:
    loader(tmp_path).load(rows(OCTOBER, [1]))
    loader(tmp_path).load(rows(OCTOBER, [2]))
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        kept = own.execute(
            "SELECT number, table_name, rows, properties FROM lakebed.commits ORDER BY number"
        ).fetchall()
    assert kept == [(1, "costs", 1, '{"lakebed.test": "yes"}'), (2, "costs", 2, '{"lakebed.test": "yes"}')]


def test_two_connections_of_one_process_cannot_both_commit(tmp_path: Path) -> None:
    loader(tmp_path).load(rows(OCTOBER, [1]))
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        mine = loader(tmp_path).prepare(rows(OCTOBER, [2]), replacing=OCTOBER)
        own.execute("BEGIN")
        own.execute("DELETE FROM costs")
        with pytest.raises(ConcurrentModification):
            target(tmp_path).commit(mine.state, mine.staging, mine.change)
        own.execute("COMMIT")
    assert contents(target(tmp_path)) == []


def test_structs_and_decimals_widen_in_place(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        own.execute(
            "CREATE TABLE costs AS SELECT {'a': 1::INTEGER} AS s, [{'x': 1::INTEGER}] AS l, 1.5::DECIMAL(9,2) AS d"
        )
    table = target(tmp_path)
    state = table.state()
    with duckdb.connect() as types:
        wanted = types.sql(
            "SELECT {'a': 1::BIGINT, 'b': 'x'} AS s, [{'x': 1::BIGINT, 'y': 'z'}] AS l, 1.5::DECIMAL(38,18) AS d"
        ).to_arrow_table()

    plan = plan_evolution(state.schema, from_arrow_schema(wanted.schema))
    table.commit(state, table.stage(state, plan), Change(plan))
    read = table.read()
    assert read.to_pylist() == [{"s": {"a": 1, "b": None}, "l": [{"x": 1, "y": None}], "d": Decimal("1.5")}]
    assert plan_evolution(table.state().schema, from_arrow_schema(wanted.schema)).changes_schema is False


def wide_schema(columns: int) -> Schema:
    return Schema.of(
        Column(f"tag_{number}", Text(), original=f"resourceTags/user:{number}") for number in range(columns)
    )


def commit_schema(table: DuckDBTarget, wanted: Schema) -> None:
    state = table.state()
    plan = plan_evolution(state.schema if state.exists else None, wanted)
    table.commit(state, table.stage(state, plan), Change(plan))


@pytest.mark.parametrize("comment", [None, "the bills of 'acme'", "{}"])
def test_a_table_of_thousands_of_columns_carries_their_originals_too(
    tmp_path: Path, comment: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One comment for all: DuckDB copies the entry of the whole table for each. A comment of the user's stays."""
    monkeypatch.setattr("lakebed.targets.duckdb.schema.MOST_COMMENTS", 20)
    wanted = wide_schema(60)
    if comment is not None:
        commit_schema(target(tmp_path), Schema.of(list(wanted)[:3]))
        with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
            own.execute(f"COMMENT ON TABLE costs IS '{comment.replace(chr(39), chr(39) * 2)}'")
    commit_schema(target(tmp_path), wanted)
    assert [column.original for column in target(tmp_path).state().schema] == [column.original for column in wanted]
    with duckdb.connect(str(tmp_path / "lake.duckdb")) as own:
        count = own.execute("SELECT count(comment) FROM duckdb_columns() WHERE table_name = 'costs'").fetchone()
        said = own.execute("SELECT comment FROM duckdb_tables() WHERE table_name = 'costs'").fetchone()
    assert count == ((0,) if comment is None else (60,))
    assert comment is None or said == (comment,)
    # One that comes later is told by its own comment, and may change what the table's says.
    commit_schema(target(tmp_path), Schema.of([*wanted, Column("late", Text(), original="Late/One")]))
    assert [column.original for column in target(tmp_path).state().schema][-2:] == ["resourceTags/user:59", "Late/One"]


@pytest.mark.skipif(duckdb.__version__.startswith("2."), reason="Python's profiler does not see the calls of DuckDB 2")
def test_the_statements_of_a_commit_do_not_grow_with_thousands_of_columns(tmp_path: Path) -> None:
    def statements(columns: int) -> int:
        place = tmp_path / str(columns)
        place.mkdir()
        table = target(place)
        state = table.state()
        plan = plan_evolution(None, wide_schema(columns))
        staging = table.stage(state, plan)
        executed: list[str] = []

        def note(frame: FrameType, event: str, function: object) -> None:
            if event == "c_call" and getattr(function, "__name__", "") == "execute":
                executed.append(event)

        sys.setprofile(note)
        try:
            table.commit(state, staging, Change(plan))
        finally:
            sys.setprofile(None)
        return len(executed)

    few, many = statements(250), statements(5_008)
    assert few > 250
    assert many < 100 < MOST_COMMENTS


def test_a_full_disk_is_not_another_writer(tmp_path: Path) -> None:
    said = 'Failed to commit: Could not write file "costs.duckdb": No space left on device'
    with pytest.raises(TargetError, match="No space left") as caught, DuckDBFile(tmp_path / "costs.duckdb").writing():
        raise duckdb.TransactionException(said)
    assert not isinstance(caught.value, ConcurrentModification)
    with pytest.raises(ConcurrentModification), DuckDBFile(tmp_path / "costs.duckdb").writing():
        raise duckdb.TransactionException("Conflict on tuple deletion!")


def test_a_file_may_be_called_like_the_schema_of_our_records(tmp_path: Path) -> None:
    table = DuckDBTarget(str(tmp_path / "lakebed.duckdb"), "costs")
    for _ in range(2):
        lakebed.write(pa.table({"id": [1]}), table, txn=("writer", 7))
    assert (table.state().rows, table.state().txns) == (1, {"writer": 7})
    assert table.last_commit() is not None


def test_a_database_that_the_process_has_open_is_written_beside_its_other_work(tmp_path: Path) -> None:
    """As dbt has its database open: in any schema, with settings of its own, in the midst of a transaction."""
    path = tmp_path / "dev.duckdb"
    with duckdb.connect(str(path), config={"threads": 1}) as own:
        own.execute("CREATE SCHEMA marts")
        own.execute("CREATE VIEW costs AS SELECT 1 AS another")  # of another schema
        own.execute("BEGIN")
        own.execute("CREATE TABLE mine AS SELECT 1 AS id")

        def connect() -> duckdb.DuckDBPyConnection:
            cursor = own.cursor()
            cursor.execute("USE dev.marts")
            return cursor

        table = DuckDBTarget(str(path), "costs", database=OpenDatabase(path, "marts", connect))
        lakebed.merge(pa.table({"id": [1, 2]}), table, keys="id")
        done = lakebed.merge(pa.table({"ID": [2, 3], "tag": ["a", "b"]}), table, keys="id")
        assert (done.inserted, done.updated, done.total) == (1, 1, 3)
        own.execute("ROLLBACK")
        assert own.execute("SELECT id, tag FROM marts.costs ORDER BY id").fetchall() == [(1, None), (2, "a"), (3, "b")]
        assert own.execute("SELECT DISTINCT table_name FROM lakebed.commits").fetchall() == [("marts.costs",)]
        assert table.address.endswith("dev.duckdb#marts.costs")
