"""The Spark engine's merge: the conformance suite with DataFrames and tables as sources."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conformance.test_merge_duckdb import IntoDuckDB
from tests.conformance.test_merge_parquet import IntoParquet
from tests.support.spark_cluster import Server

from lakebed.engines.spark.merge import SparkMerge
from lakebed.engines.spark.session import Session
from lakebed.table.merge import merge
from lakebed.testing.merge import MergeConformance
from lakebed.testing.merge_scenarios import Scenario

pytestmark = pytest.mark.spark


class OnSpark(MergeConformance):
    engine = "spark"

    @pytest.fixture(autouse=True)
    def _session(self, spark_local: Session) -> None:
        self.session = spark_local

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark)


class FromDataFrame(OnSpark):
    def make_source(self, table: pa.Table) -> object:
        return self.session.spark.createDataFrame(table)

    def check(self, scenario: Scenario) -> None:
        if any(pa.types.is_timestamp(field.type) and field.type.unit == "ns" for field in scenario.incoming.schema):
            pytest.skip("Spark has no nanoseconds")
        super().check(scenario)


@pytest.mark.full
class TestTableIntoParquet(OnSpark, IntoParquet):
    """A source that the driver holds; staging it is all that differs."""


class TestDataFrameIntoParquet(FromDataFrame, IntoParquet):
    pass


@pytest.mark.full
class TestDataFrameIntoDuckDB(FromDataFrame, IntoDuckDB):
    pass


@pytest.mark.full
class TestShuffledIntoParquet(FromDataFrame, IntoParquet):
    """A source too large for every worker to hold its keys; here every source is."""

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark, broadcast_rows=0)


def test_a_source_that_no_worker_holds_is_shuffled(spark_local: Session, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(4):
        rows = {"id": range(number * 100, number * 100 + 100), "v": ["old"] * 100}
        pq.write_table(pa.table(rows), folder / f"{number}.parquet")
    frame = spark_local.spark.range(50, 450, 10).selectExpr("id", "'new' AS v", "id * 2 AS w")
    engine = SparkMerge(spark_local.spark, broadcast_rows=5)
    result = merge(frame, str(folder), keys="id", engine=engine)
    assert (result.inserted, result.updated, result.total) == (5, 35, 405)
    assert result.added_columns == ("w",)
    found = pq.read_table(folder).to_pylist()
    assert {row["id"] for row in found if row["v"] == "new"} == set(range(50, 450, 10))
    assert all(row["w"] == (row["id"] * 2 if row["v"] == "new" else None) for row in found)


CLIENT = """
import json, sys
from lakebed.config import load_settings
from lakebed.engines.spark.merge import SparkMerge
from lakebed.engines.spark.session import open_session
from lakebed.table.merge import merge

url, folder = sys.argv[1:]
with open_session(load_settings({"remote": url})) as session:
    spark = session.spark
    first = merge(spark.range(0, 100).selectExpr("id", "'old' AS v"), folder, keys="id")
    second = merge(spark.range(90, 110).selectExpr("id", "'new' AS v"), folder, keys="id")
    engine = SparkMerge(spark, broadcast_rows=3)
    third = merge(spark.range(105, 120).selectExpr("id", "'last' AS v"), folder, keys="id", engine=engine)
    print(json.dumps([first.to_dict(), second.to_dict(), third.to_dict()]))
"""


def test_merges_run_on_spark_connect(spark_connect: Server, tmp_path: Path) -> None:
    answers = json.loads(spark_connect.run(CLIENT, str(tmp_path / "t")).splitlines()[-1])
    assert [(one["inserted"], one["updated"], one["total"]) for one in answers] == [
        (100, 0, 100),
        (10, 10, 110),
        (10, 5, 120),
    ]
