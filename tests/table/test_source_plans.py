"""The driver's side of the data source: parts that workers wrote become rows, whatever happened to the table since."""

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import ConfigError, SourceError
from lakebed.kernels.table_source import PartWritten, write_part
from lakebed.table.source_plans import SourceOptions, commit_parts, plan_parts, plan_read, table_ddl

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "ID", "type": "integer", "nullable": True, "metadata": {}},
            {"name": "part", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
)
ROWS = pa.table({"ID": pa.array([7, 8], pa.int32()), "part": ["a", None]})


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(target: str) -> list[tuple[object, ...]]:
    found = lakebed.read(target)
    table = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(((row["id"], row["part"], row.get("more")) for row in table.to_pylist()), key=str)


@pytest.mark.parametrize("target", ["parquet:t", "duckdb:t.duckdb#t", "iceberg:web.t"])
@pytest.mark.parametrize("changed", [False, True], ids=["as planned", "changed since"])
def test_parts_are_committed(target: str, changed: bool) -> None:
    partition_by = None if target.startswith("duckdb") else "part"
    lakebed.write(pa.table({"id": pa.array([1], pa.int32()), "part": ["b"]}), target, partition_by=partition_by)
    options = SourceOptions.of({"PATH": target, "txn_app": "app", "txn_version": "3"})
    spec = options.write_spec(overwrite=False)
    task = pickle.loads(plan_parts(options, SCHEMA, spec))
    parts = [write_part(task, one.to_batches()) for one in (ROWS.slice(0, 1), ROWS.slice(1), ROWS.slice(0, 0))]
    assert all(isinstance(one, PartWritten) for one in parts)
    wanted: list[tuple[object, ...]] = [(1, "b", None), (7, "a", None), (8, None, None)]
    if changed:
        lakebed.write(pa.table({"id": [2**40], "part": ["c"], "more": ["x"]}), target)
        wanted = [*wanted[:1], (2**40, "c", "x"), *wanted[1:]]
    assert commit_parts(options, SCHEMA, spec, parts).rows == 2
    assert rows_of(target) == sorted(wanted, key=str)
    assert not list(Path(".lakebed").glob("staging/write-*"))
    assert commit_parts(options, SCHEMA, spec, []).skipped


def test_a_part_that_failed_fails_the_commit_and_leaves_nothing() -> None:
    lakebed.write(pa.table({"id": [1]}), "parquet:t")
    options = SourceOptions.of({"path": "parquet:t"})
    spec = options.write_spec(overwrite=False)
    part = write_part(pickle.loads(plan_parts(options, SCHEMA, spec)), ROWS.to_batches())
    with pytest.raises(SourceError, match="no such row"):
        commit_parts(options, SCHEMA, spec, [part, SourceError("no such row")])
    assert lakebed.read("parquet:t").count_rows() == 1
    assert not list(Path(".lakebed").glob("staging/write-*"))


@pytest.mark.parametrize("target", ["parquet:t", "duckdb:t.duckdb#t", "iceberg:web.t"])
def test_a_read_is_planned(target: str) -> None:
    lakebed.write(pa.table({"id": [1, 2, 3], "part": ["a", "b", None]}), target)
    options = SourceOptions.of({"path": target, "columns": "ID", "where": "part = 'b' OR part IS NULL"})
    assert table_ddl(options) == "`id` bigint"
    payload, parts = plan_read(options, pa.schema([("id", pa.int64())]))
    read = pickle.loads(payload)
    found = [row for part in parts for batch in read.read(pickle.loads(part)) for row in batch.to_pylist()]
    assert sorted(found, key=str) == [{"id": 2}, {"id": 3}]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "was not told which table"),
        ({"path": "t", "slice": "day=mon"}, "the option slice is 'day=mon'"),
        ({"path": "t", "txn_app": "a"}, "txn_version is None"),
        ({"path": "t", "txn_app": "a", "txn_version": "x"}, "txn_version is 'x'"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        SourceOptions.of(given).write_spec(overwrite=True)


def test_a_stream_needs_a_name_that_stays() -> None:
    with pytest.raises(ConfigError, match="stays the same when it is started again"):
        SourceOptions.of({"path": "t"}).write_spec(overwrite=False, batch=0)
    named = SourceOptions.of({"path": "t", "checkpointLocation": "s3://b/c"}).write_spec(overwrite=False, batch=4)
    assert named.txn is not None
    assert (named.txn.app, named.txn.version) == ("s3://b/c", 4)
