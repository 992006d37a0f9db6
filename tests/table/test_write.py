"""Writing: what data may be, what is kept about a write, and what a table forgets of its versions."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import lakebed
import lakebed.kernels.rows as rows_kernel
from lakebed.errors import ConfigError, NotFound, SourceError, TargetError
from lakebed.kernels.slices import in_slice
from lakebed.table.read import open_table
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget

ROWS = pa.table({"id": [1, 2, 3], "v": ["a", "b", None]})


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def contents(target: str) -> list[dict[str, object]]:
    found = lakebed.read(target)
    table = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def a_path(data: pa.Table) -> str:
    Path("new").mkdir()
    pq.write_table(data.slice(0, 1), "new/0.parquet")
    pq.write_table(data.slice(1), "new/1.parquet")
    return "new"


def a_generator(data: pa.Table) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from data.to_batches(max_chunksize=2)

    return pa.RecordBatchReader.from_batches(data.schema, batches())


KINDS = {
    "a table": lambda data: data,
    "a batch": lambda data: data.to_batches()[0],
    "a reader": lambda data: data.to_reader(),
    "a generator": a_generator,
    "a dataset": lambda data: pads.dataset(data),
    "a path": a_path,
    "a dataset of files": lambda data: pads.dataset(a_path(data)),
    "pandas": lambda data: data.to_pandas(),
    "pandas, filtered": lambda data: pd.concat([data.to_pandas(), data.to_pandas()]).iloc[3:][lambda one: one.id > 0],
    "polars": pl.from_arrow,
    "duckdb": lambda data: duckdb.sql("SELECT * FROM data"),
    "categories": lambda data: data.set_column(1, "v", data["v"].dictionary_encode()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_every_kind(kind: str) -> None:
    done = lakebed.write(KINDS[kind](ROWS), "parquet:t")
    assert done.rows == 3
    assert contents("parquet:t") == ROWS.to_pylist()
    assert lakebed.read("parquet:t").schema.names == ["id", "v"]


def test_an_index_that_has_a_name_is_a_column() -> None:
    lakebed.write(ROWS.to_pandas().set_index("id"), "parquet:t")
    assert contents("parquet:t") == [{"v": one["v"], "id": one["id"]} for one in ROWS.to_pylist()]


@pytest.mark.parametrize("data", [42, [{"id": 1}], None], ids=str)
def test_what_holds_no_rows_is_refused(data: object) -> None:
    with pytest.raises(ConfigError, match="holds no rows"):
        lakebed.write(data, "parquet:t")  # type: ignore[arg-type]


def test_paths_that_cannot_be_read() -> None:
    with pytest.raises(NotFound, match="there is no source here"):
        lakebed.write("nowhere", "parquet:t")
    Path("text.parquet").write_text("no")
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        lakebed.write("text.parquet", "parquet:t")
    Path("both").mkdir()
    pq.write_table(pa.table({"a": [1]}), "both/0.parquet")
    pq.write_table(pa.table({"a": [{"b": 1}]}), "both/1.parquet")
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        lakebed.write("both", "parquet:t")


def test_data_without_columns_is_refused() -> None:
    with pytest.raises(SourceError, match="no columns"):
        lakebed.write(pa.table({}), "parquet:t")


def test_a_value_that_the_table_cannot_hold_names_its_column() -> None:
    """Parquet counts milliseconds at the coarsest, and some seconds are too many for them."""
    moments = pa.array([2**60], pa.timestamp("s"))
    with pytest.raises(SourceError, match="column at: a value does not fit timestamp"):
        lakebed.write(pa.table({"id": [1], "at": moments}), "parquet:events")
    assert not Path("events").exists()


def test_an_existing_table_keeps_its_partitions() -> None:
    lakebed.write(ROWS, "parquet:t", partition_by=["v"])
    with pytest.raises(ConfigError, match="partitioned by v, not by id"):
        lakebed.write(ROWS, "parquet:t", partition_by="id")
    assert lakebed.write(ROWS, "parquet:t", partition_by="V").total == 6


@pytest.mark.parametrize("target", ["parquet:t", "iceberg:web.t"])
def test_typed_partitions(target: str) -> None:
    days = pa.table({"id": [1, 2, 3], "day": pa.array([20000, 20001, None], pa.date32())})
    lakebed.write(days, target, partition_by="day")
    done = lakebed.write(days.slice(1, 1), target, mode="replace_slice", slice={"day": days["day"][1].as_py()})
    assert (done.removed, done.total, done.files_rewritten) == (1, 3, 0)
    done = lakebed.write(days.slice(2), target, mode="replace_slice", slice={"day": None})
    assert (done.removed, done.total, done.files_rewritten) == (1, 3, 0)


def test_many_partitions_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_kernel, "PENDING_BYTES", 1_000)
    data = pa.table({"id": range(1_000), "part": [str(number % 50) for number in range(1_000)]})
    done = lakebed.write(a_generator(data), "parquet:t", partition_by="part")
    assert done.total == 1_000
    assert sorted(one["id"] for one in contents("parquet:t")) == list(range(1_000))


def test_a_long_partition_value_needs_no_long_path() -> None:
    data = pa.table({"id": [1], "part": ["x" * 3_000]})
    assert lakebed.write(data, "iceberg:web.t", partition_by="part").total == 1


def test_untouched_files_stay(tmp_path: Path) -> None:
    for day in ("mon", "tue", "wed"):
        lakebed.write(pa.table({"id": [1, 2], "day": [day, day]}), "parquet:t")
    before = {path.name: path.stat().st_ino for path in Path("t").glob("*.parquet")}
    lakebed.write(pa.table({"id": [9], "day": ["tue"]}), "parquet:t", mode="replace_slice", slice={"day": "tue"})
    after = {path.name: path.stat().st_ino for path in Path("t").glob("*.parquet")}
    assert len(before.items() & after.items()) == 2


def test_the_history_knows_the_columns_and_the_writes() -> None:
    lakebed.write(ROWS, "iceberg:web.t", txn=("app", 1))
    lakebed.write(pa.table({"id": [9], "w": [1]}), "iceberg:web.t", mode="overwrite")
    story = lakebed.history("iceberg:web.t")
    assert [(one.change.kind, one.change.column) for one in story.changes] == [
        ("created", "id"),
        ("created", "v"),
        ("added", "w"),
    ]
    first, second = (one.properties for one in story.snapshots)
    assert (first["write.mode"], first["write.rows"], first["txn-app"]) == (
        "append",
        "3",
        "app",
    )
    assert second["write.mode"] == "overwrite"


def test_a_dry_run_makes_nothing(tmp_path: Path) -> None:
    for target in ("parquet:t", "duckdb:t.duckdb#t", "iceberg:web.t"):
        said = lakebed.write(ROWS, target, dry_run=True, txn=("app", 1))
        assert (said.rows, said.total, said.dry_run) == (3, 3, True)
        assert said.plan is not None
        assert said.plan.creates
    assert list(tmp_path.iterdir()) == []


def test_versions_outlive_their_snapshots() -> None:
    """Snapshots expire, and what they said with them; the table says it too."""
    target = IcebergTarget("web", "t", CatalogSettings.for_workdir(Path(".lakebed")))
    lakebed.write(ROWS, target, txn=("app", 5))
    lakebed.write(ROWS, target)
    target.expire(datetime.now(UTC))
    assert len(target.snapshots()) == 1
    assert dict(target.state().txns) == {"app": 5}
    assert lakebed.write(ROWS, target, txn=("app", 5)).skipped


def test_a_version_that_was_rolled_back_can_be_written_again() -> None:
    lakebed.write(ROWS, "iceberg:web.t")
    lakebed.write(ROWS, "iceberg:web.t", txn=("app", 0))
    first, _ = lakebed.history("iceberg:web.t").snapshots
    lakebed.rollback("iceberg:web.t", first.id)
    again = lakebed.write(ROWS, "iceberg:web.t", txn=("app", 0))
    assert (again.skipped, again.total) == (False, 6)


def test_a_table_that_was_removed_has_no_versions() -> None:
    lakebed.write(ROWS, "parquet:t", txn=("app", 5))
    shutil.rmtree("t")
    assert lakebed.write(ROWS, "parquet:t", txn=("app", 5)).rows == 3
    lakebed.write(ROWS, "duckdb:t.duckdb#t", txn=("app", 5))
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("DROP TABLE t")
    assert lakebed.write(ROWS, "duckdb:t.duckdb#t", txn=("app", 4)).rows == 3
    assert lakebed.write(ROWS, "duckdb:t.duckdb#T", txn=("app", 4)).skipped


def test_versions_stay_when_others_change_the_table() -> None:
    for target in ("parquet:t", "duckdb:t.duckdb#t", "iceberg:web.t"):
        lakebed.write(ROWS, target, txn=("app", 5))
        lakebed.merge(pa.table({"id": [1], "v": ["z"]}), target, keys="id")
        lakebed.evolve(target, {"more": "int"})
        assert lakebed.write(ROWS, target, txn=("app", 5)).skipped


def test_a_record_with_versions_that_are_none_is_refused() -> None:
    lakebed.write(ROWS, "parquet:t", txn=("app", 5))
    record = Path(".t.txn/commit.json")
    said = json.loads(record.read_text())
    assert said["txns"] == {"app": 5}
    for txns in ([], {"app": "5"}, {"app": True}, "app"):
        record.write_text(json.dumps({**said, "txns": txns}))
        with pytest.raises(TargetError, match="is not a commit record: the versions of its writers"):
            lakebed.write(ROWS, "parquet:t", txn=("app", 5))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, [True, True, True]),
        ({"a": 1}, [True, False, False]),
        ({"a": None}, [False, False, True]),
        ({"a": 1, "b": "x"}, [True, False, False]),
        ({"a": 2, "b": "x"}, [False, False, False]),
        ({"c": None}, [True, True, True]),
        ({"c": "here"}, [False, False, False]),
        ({"part": "p"}, [True, True, True]),
        ({"part": None}, [False, False, False]),
        ({"n": None}, [True, True, True]),
        ({"n": 1}, [False, False, False]),
        ({"d": Decimal("1.5")}, [True, False, False]),
        ({"a": "1"}, [True, False, False]),
    ],
    ids=str,
)
def test_rows_of_a_slice(values: dict[str, object], found: list[bool]) -> None:
    data = pa.table(
        {"a": [1, 2, None], "b": ["x", None, "x"], "n": pa.nulls(3), "d": [Decimal("1.50"), Decimal(2), None]}
    )
    assert in_slice(data, values, {"part": "p"}).to_pylist() == found


@pytest.mark.parametrize("place", ["parquet:costs", "duckdb:lake.duckdb#costs", "iceberg:billing.costs"])
def test_a_commit_says_what_the_caller_wants_it_to_say(place: str) -> None:
    said = []
    for commit in (
        lambda: lakebed.write(pa.table({"id": [1]}), place, properties={"lakebed.run": "first"}),
        lambda: lakebed.merge(pa.table({"id": [2]}), place, keys="id", properties={"lakebed.run": "second"}),
    ):
        commit()
        last = open_table(place).last_commit()
        assert last is not None
        said.append(last.properties["lakebed.run"])
    assert said == ["first", "second"]
