"""Merging into Parquet on a real S3 server."""

import gzip
import json

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.support.s3_server import S3Server

from lakebed.datasets import DuckDBDatasetIO
from lakebed.storage import Storage, join
from lakebed.table.merge import merge
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.rows import difference, rows

pytestmark = pytest.mark.server


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_partitioned_dataset_on_s3(engine: str, s3_server: S3Server) -> None:
    storage = Storage(s3_server.settings)
    place = join(s3_server.new_bucket(), "lake/t")
    old = rows("id p v", (1, "01", "a"), (2, "02", "b"), (3, "01", "c"))
    new = rows("id p v w", (2, "03", "B", 1), (3, "01", "C", 2), (4, "02", "D", 3))
    created = merge(old, place, keys="id", engine=engine, partition_by=["p"], storage=storage)
    assert created.inserted == 3
    result = merge(new, place, keys="id", engine=engine, storage=storage)
    assert (result.inserted, result.updated, result.total) == (1, 2, 4)
    found: pa.Table = ParquetTarget(place, storage).read().to_table()
    wanted = rows("id p v w", (1, "01", "a", None), (2, "03", "B", 1), (3, "01", "C", 2), (4, "02", "D", 3))
    assert difference(found, wanted) is None
    paths = {entry.uri.removeprefix(place + "/").split("/")[0] for entry in storage.list(place)}
    assert paths == {"p=01", "p=02", "p=03"}


def test_no_secret_stays_on_the_callers_connection(s3_server: S3Server) -> None:
    connection = duckdb.connect()
    io = DuckDBDatasetIO(connection, storage=Storage(s3_server.settings))
    place = join(s3_server.new_bucket(), "lake/t")
    for _ in range(2):
        io.merge(rows("id v", (1, "a")), place, "upsert", "id")
    assert connection.execute("SELECT count(*) FROM duckdb_secrets()").fetchone() == (0,)


def _as_ipc(table: pa.Table, *, stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _as_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def _as_csv(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pacsv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


def _as_lines(table: pa.Table) -> bytes:
    return "\n".join(json.dumps(row) for row in table.to_pylist()).encode()


SOME = pa.table({"id": [2, 3], "v": ["B", 'ä, "quoted"'], "n": [1.5, None]})
MORE = pa.table({"id": [4], "v": ["D"], "n": [4.0]})
# What lies in the bucket, and what is given to the merge.
SOURCES: dict[str, tuple[dict[str, bytes], str | list[str]]] = {
    "a Parquet file": ({"in/one.parquet": _as_parquet(pa.concat_tables([SOME, MORE]))}, "in/one.parquet"),
    "a folder of Parquet": ({"in/a.parquet": _as_parquet(SOME), "in/b.parquet": _as_parquet(MORE)}, "in"),
    "a Hive folder": (
        {
            "in/v=B/a.parquet": _as_parquet(SOME.slice(0, 1).drop_columns("v")),
            'in/v=%C3%A4, "quoted"/a.parquet': _as_parquet(SOME.slice(1).drop_columns("v")),
            "in/v=D/a.parquet": _as_parquet(MORE.drop_columns("v")),
        },
        "in",
    ),
    "a pattern": (
        {"in/x/a.parquet": _as_parquet(SOME), "in/y/b.parquet": _as_parquet(MORE), "in/z.txt": b"no"},
        "in/**/*.parquet",
    ),
    "several paths": ({"a.parquet": _as_parquet(SOME), "b.parquet": _as_parquet(MORE)}, ["a.parquet", "b.parquet"]),
    "an Arrow file": ({"in.arrow": _as_ipc(pa.concat_tables([SOME, MORE]), stream=False)}, "in.arrow"),
    "an Arrow stream": ({"in.arrows": _as_ipc(pa.concat_tables([SOME, MORE]), stream=True)}, "in.arrows"),
    "a CSV file": ({"in.csv": _as_csv(pa.concat_tables([SOME, MORE]))}, "in.csv"),
    "packed CSV files": (
        {"in/a.csv.gz": gzip.compress(_as_csv(SOME)), "in/b.csv.gz": gzip.compress(_as_csv(MORE))},
        "in/*.csv.gz",
    ),
    "JSON lines": ({"in.jsonl": _as_lines(pa.concat_tables([SOME, MORE]))}, "in.jsonl"),
    "packed JSON": (
        {"in.json.gz": gzip.compress(json.dumps(SOME.to_pylist() + MORE.to_pylist()).encode())},
        "in.json.gz",
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_source_on_s3(engine: str, source: str, s3_server: S3Server) -> None:
    storage = Storage(s3_server.settings)
    bucket = s3_server.new_bucket()
    objects, given = SOURCES[source]
    for name, content in objects.items():
        storage.put(join(bucket, name), content)
    place = join(bucket, "lake/t")
    merge(pa.table({"id": [1, 2], "v": ["a", "b"], "n": [0.0, 0.0]}), place, keys="id", engine=engine, storage=storage)
    paths = [join(bucket, name) for name in given] if isinstance(given, list) else join(bucket, given)
    result = merge(paths, place, keys="id", engine=engine, storage=storage)
    assert (result.inserted, result.updated, result.total) == (2, 1, 4)
    found: pa.Table = ParquetTarget(place, storage).read().to_table()
    wanted = pa.concat_tables([pa.table({"id": [1], "v": ["a"], "n": [0.0]}), SOME, MORE])
    assert difference(found, wanted) is None
