"""Writes on Spark: executors write the files of a DataFrame, classic, Connect and on a cluster alike."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conformance.test_write import IntoDuckDB, IntoIceberg, IntoParquet
from tests.support.spark_cluster import Server
from tests.support.spark_frames import frame_of

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError, LakebedError
from lakebed.testing.write import WriteConformance

pytestmark = pytest.mark.spark


class FromDataFrame(WriteConformance):
    @pytest.fixture(autouse=True)
    def _session(self, spark_local: Session) -> None:
        self.session = spark_local

    def make_data(self, data: pa.Table) -> object:
        plain = pa.schema(
            [one if not pa.types.is_null(one.type) else pa.field(one.name, pa.string()) for one in data.schema]
        )
        return frame_of(self.session.spark, data.cast(plain))


class TestDataFrameIntoParquet(FromDataFrame, IntoParquet):
    partition_by = ("day",)


@pytest.mark.full
class TestDataFrameIntoDuckDB(FromDataFrame, IntoDuckDB):
    pass


class TestDataFrameIntoIceberg(FromDataFrame, IntoIceberg):
    partition_by = ("day",)


def test_executors_write_the_files(spark_local: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the DataFrame never reach the driver: each partition is a file that its task wrote."""
    import pyspark.sql.classic.dataframe as classic

    collected: list[int] = []
    to_arrow = classic.DataFrame.toArrow

    def counting(self: classic.DataFrame) -> pa.Table:
        found = to_arrow(self)
        collected.append(found.num_rows)
        return found

    monkeypatch.setattr(classic.DataFrame, "toArrow", counting)
    for name in ("collect", "toPandas", "toLocalIterator", "take", "head"):
        monkeypatch.setattr(classic.DataFrame, name, lambda *_: pytest.fail("rows were brought to the driver"))
    frame = spark_local.spark.range(0, 10_000, 1, 4).selectExpr("id", "CAST(id AS DECIMAL(18,2)) AS cost")
    done = lakebed.write(frame, str(tmp_path / "t"), workdir=tmp_path / "work")
    assert (done.rows, done.total, done.files) == (10_000, 10_000, 4)
    assert done.sums["cost"] == sum(range(10_000))
    assert collected == [4]


def test_rows_of_a_partition_come_together(spark_local: Session, tmp_path: Path) -> None:
    frame = spark_local.spark.range(0, 1_000, 1, 8).selectExpr("id", "CAST(id % 3 AS STRING) AS part")
    lakebed.write(frame, str(tmp_path / "t"), partition_by="part", workdir=tmp_path / "work")
    assert sorted(path.parent.name for path in (tmp_path / "t").rglob("*.parquet")) == ["part=0", "part=1", "part=2"]


def test_a_frame_that_fails_leaves_the_table_as_it_was(spark_local: Session, tmp_path: Path) -> None:
    target = str(tmp_path / "t")
    lakebed.write(spark_local.spark.range(3), target, workdir=tmp_path / "work")
    broken = spark_local.spark.range(3).selectExpr("id", "CAST(raise_error('no such row') AS STRING) AS v")
    with pytest.raises(LakebedError, match="Spark could not compute the rows"):
        lakebed.write(broken, target, workdir=tmp_path / "work")
    assert pq.read_table(target).num_rows == 3


def test_a_stream_is_refused_with_the_way_to_write_it(spark_local: Session, tmp_path: Path) -> None:
    stream = spark_local.spark.readStream.format("rate").load()
    with pytest.raises(ConfigError, match="foreachBatch"):
        lakebed.write(stream, str(tmp_path / "t"), workdir=tmp_path / "work")


def test_other_data_in_a_session(spark_local: Session, tmp_path: Path) -> None:
    """Workers read the files of a path; what the driver holds, the driver writes."""
    for part in ("a", "b"):
        folder = tmp_path / "new" / f"part={part}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [1, 2], "v": [part, part]}), folder / "0.parquet")
    target = f"duckdb:{tmp_path}/t.duckdb#t"
    spark = spark_local.spark
    first = lakebed.write(str(tmp_path / "new"), target, spark=spark, workdir=tmp_path / "work")
    assert (first.rows, first.files) == (4, 2)
    second = lakebed.write(pd.DataFrame({"ID": [3], "part": ["c"]}), target, spark=spark, workdir=tmp_path / "work")
    assert second.total == 5
    third = lakebed.write(
        pa.table({"id": [9], "part": ["a"]}), target, mode="replace_slice", slice={"part": "a"}, spark=spark
    )
    assert (third.removed, third.total) == (2, 4)


CLIENT = """
import json, sys
import lakebed
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session

url, kind, target = sys.argv[1:]
with open_session(load_settings({kind: url})) as session:
    spark = session.spark
    answers = []
    for number, frame in enumerate([
        spark.range(0, 100, 1, 4).selectExpr("id", "CAST(id % 2 AS STRING) AS part", "CAST(1.5 AS DECIMAL(9,2)) AS c"),
        spark.range(0, 10).selectExpr("id", "'1' AS PART", "'x' AS tag"),
    ]):
        options = {"mode": "replace_slice", "slice": {"part": "1"}} if number else {"partition_by": "part"}
        for _ in range(2):
            done = lakebed.write(frame, target + "/t", txn=("client", number), workdir=target + "/work", **options)
            answers.append({**done.to_dict(), "sums": {k: str(v) for k, v in done.sums.items()}})
    print(json.dumps(answers))
"""


def check_answers(said: str) -> None:
    answers = json.loads(said.splitlines()[-1])
    assert [(one["rows"], one["removed"], one["total"], one["skipped"]) for one in answers] == [
        (100, 0, 100, False),
        (0, 0, 100, True),
        (10, 50, 60, False),
        (0, 0, 60, True),
    ]
    assert answers[0]["sums"] == {"c": "150.00"}
    assert answers[2]["added_columns"] == ["tag"]


def test_writes_run_on_spark_connect(spark_connect: Server, tmp_path: Path) -> None:
    check_answers(spark_connect.run(CLIENT, "remote", str(tmp_path)))


def test_writes_run_on_a_cluster_whose_workers_have_pyarrow_only(
    standalone_cluster: Server, pyarrow_only: Path, tmp_path: Path
) -> None:
    environment = {"PYSPARK_PYTHON": str(pyarrow_only), "LAKEBED_SPARK_SHARED_FOLDERS": str(tmp_path)}
    check_answers(standalone_cluster.run(CLIENT, "master", str(tmp_path), environment=environment))
