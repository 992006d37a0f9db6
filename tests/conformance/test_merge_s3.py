"""Merging into Parquet on a real S3 server."""

import duckdb
import pyarrow as pa
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
