"""The data source `lakebed`: tables read and written from SQL and DataFrames, by the name alone."""

import json
import pickle
import subprocess
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType
from tests.support.spark_cluster import Server, spark_home

import lakebed
from lakebed.engines.spark.session import Session
from pyspark_lakebed.source import LakebedSource

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "day": ["mon", "tue", None],
        "cost": [Decimal("1.50"), Decimal("2.25"), None],
        "a.b": ["x", "y", "z"],
    }
)
TARGETS = ["parquet:{}/t", "duckdb:{}/t.duckdb#t", "iceberg:web.t"]


@pytest.fixture(params=TARGETS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param).format(tmp_path)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    return {"workdir": str(tmp_path / "work")}


def contents(table: str, options: dict[str, str]) -> list[dict[str, object]]:
    found = lakebed.read(table, workdir=options["workdir"])
    rows = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(rows.to_pylist(), key=lambda row: (row["id"] is None, row["id"]))


def test_a_table_is_read_from_sql(spark_local: Session, table: str, options: dict[str, str]) -> None:
    spark = spark_local.spark
    partition_by = None if table.startswith("duckdb") else "day"
    lakebed.write(ROWS, table, partition_by=partition_by, workdir=options["workdir"])
    place = f"path '{table}', workdir '{options['workdir']}'"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW costs USING lakebed OPTIONS ({place})")
    found = spark.sql("SELECT sum(cost), count(*), max(`a.b`), count(day) FROM costs").collect()
    assert [tuple(row) for row in found] == [(Decimal("3.75"), 3, "z", 2)]
    assert dict(spark.table("costs").dtypes)["cost"] == "decimal(3,2)"
    frame = spark.read.format("lakebed").options(**options, columns="ID, cost", where="day = 'tue'").load(table)
    assert [tuple(row) for row in frame.collect()] == [(2, Decimal("2.25"))]


def test_a_frame_is_written(spark_local: Session, table: str, options: dict[str, str], tmp_path: Path) -> None:
    spark = spark_local.spark
    more = {} if table.startswith("duckdb") else {"partition_by": "day"}
    frame = spark.createDataFrame(ROWS)
    frame.write.format("lakebed").options(**options, **more).mode("append").save(table)
    assert contents(table, options) == ROWS.to_pylist()
    wider = spark.range(10, 12).selectExpr("CAST(id AS INT) AS ID", "'tue' AS DAY", "'new' AS tag")
    sliced = {**options, "slice": json.dumps({"day": "tue"})}
    wider.write.format("lakebed").options(**sliced).mode("overwrite").save(table)
    assert [(row["id"], row["day"], row["tag"]) for row in contents(table, options)] == [
        (1, "mon", None),
        (3, None, None),
        (10, "tue", "new"),
        (11, "tue", "new"),
    ]
    numbered = {**options, "txn_app": "nightly", "txn_version": "7"}
    for _ in range(2):
        wider.write.format("lakebed").options(**numbered).mode("append").save(table)
    assert len(contents(table, options)) == 6
    wider.write.format("lakebed").options(**options).mode("overwrite").save(table)
    assert len(contents(table, options)) == 2
    assert not list((tmp_path / "work").glob("staging/write-*"))


def test_refusals_reach_the_user_and_leave_the_table(spark_local: Session, table: str, options: dict[str, str]) -> None:
    spark = spark_local.spark
    lakebed.write(ROWS, table, workdir=options["workdir"])
    before = contents(table, options)
    clash = spark.sql("SELECT DATE '2026-11-01' AS day")
    with pytest.raises(PySparkException, match="column day is text in the table and date in the new data"):
        clash.write.format("lakebed").options(**options).mode("append").save(table)
    outside = spark.sql("SELECT 9 AS id, 'wed' AS day")
    sliced = {**options, "slice": '{"day": "tue"}'}
    with pytest.raises(PySparkException, match="1 of 1 rows do not belong to the slice day = tue"):
        outside.write.format("lakebed").options(**sliced).mode("overwrite").save(table)
    broken = spark.sql("SELECT CAST(raise_error('no such row') AS STRING) AS day")
    with pytest.raises(PySparkException, match="no such row"):
        broken.write.format("lakebed").options(**options).mode("append").save(table)
    with pytest.raises(PySparkException, match="was not told which table"):
        spark.read.format("lakebed").load()
    assert contents(table, options) == before


@pytest.mark.parametrize("table", ["parquet:{}/t", "iceberg:web.t"])
def test_a_stream_is_written_once(spark_local: Session, table: str, options: dict[str, str], tmp_path: Path) -> None:
    """The second run has lost Spark's note of the last batch, as after a crash; the table knows."""
    spark, target = spark_local.spark, table.format(tmp_path)
    (tmp_path / "events").mkdir()
    for number in range(2):
        lines = (json.dumps({"id": number * 10 + each}) for each in range(10))
        (tmp_path / "events" / f"{number}.json").write_text("\n".join(lines))
    checkpoint = tmp_path / "checkpoint"

    def run() -> None:
        stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(str(tmp_path / "events"))
        query = (
            stream.writeStream.format("lakebed")
            .options(**options)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start(target)
        )
        query.awaitTermination()

    run()
    noted = sorted(checkpoint.glob("commits/[0-9]*"))
    noted[-1].unlink()
    (checkpoint / "commits" / f".{noted[-1].name}.crc").unlink(missing_ok=True)
    run()
    assert [row["id"] for row in contents(target, options)] == list(range(20))


CLIENT = """
import json, sys
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session

url, kind, target, workdir = sys.argv[1:]
with open_session(load_settings({kind: url})) as session:
    spark = session.spark
    frame = spark.range(0, 100, 1, 4).selectExpr("id", "CAST(id % 2 AS STRING) AS part")
    frame.write.format("lakebed").option("workdir", workdir).option("partition_by", "part").mode("append").save(target)
    found = spark.read.format("lakebed").option("workdir", workdir).load(target)
    print(json.dumps([found.count(), found.where("part = '1'").selectExpr("sum(id)").collect()[0][0]]))
"""


def test_it_works_on_spark_connect(spark_connect: Server, tmp_path: Path) -> None:
    said = spark_connect.run(CLIENT, "remote", f"parquet:{tmp_path}/t", str(tmp_path / "work"))
    assert json.loads(said.splitlines()[-1]) == [100, 2500]


# What a worker does: it has pyarrow, and what Spark itself brings.
WORKER = """
import glob, sys
home, given, back = sys.argv[1:]
sys.path[:0] = glob.glob(home + "/python/lib/*.zip")
import pyarrow as pa
from pyspark import cloudpickle
reader, writer = cloudpickle.loads(open(given, "rb").read())
rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
assert "lakebed-kernels-" in str(sys.modules["lakebed"].__path__)
message = writer.write(iter([pa.RecordBatch.from_pylist(rows)]))
open(back, "wb").write(cloudpickle.dumps((rows, message)))
"""


def test_workers_need_pyarrow_alone(pyarrow_only: Path, options: dict[str, str], tmp_path: Path) -> None:
    target = f"parquet:{tmp_path}/t"
    lakebed.write(pa.table({"id": [1, 2], "day": ["mon", "tue"]}), target, workdir=options["workdir"])
    source = LakebedSource({**options, "path": target})
    schema = StructType().add("id", "long").add("day", "string")
    given, back = tmp_path / "given", tmp_path / "back"
    given.write_bytes(cloudpickle.dumps((source.reader(schema), source.writer(schema, False))))
    subprocess.run([str(pyarrow_only), "-c", WORKER, str(spark_home()), str(given), str(back)], check=True)
    rows, message = pickle.loads(back.read_bytes())
    assert rows == [{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}]
    source.writer(schema, False).commit([message])
    assert [row["id"] for row in contents(target, options)] == [1, 1, 2, 2]
