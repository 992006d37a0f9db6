"""The Spark engine's merge: the conformance suite with DataFrames and tables as sources."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from tests.conformance.test_merge_duckdb import IntoDuckDB
from tests.conformance.test_merge_parquet import IntoParquet
from tests.support.spark_cluster import Server
from tests.support.spark_frames import frame_of

from lakebed.engines.spark.merge import SparkMerge
from lakebed.engines.spark.session import Session
from lakebed.engines.spark.shuffle import Shuffle
from lakebed.table.merge import merge
from lakebed.testing.merge import MergeConformance
from lakebed.testing.merge_name_scenarios import NAMES, PARTITIONED_NAMES
from lakebed.testing.merge_scenarios import Scenario

pytestmark = pytest.mark.spark


class OnSpark(MergeConformance):
    engine = "spark"

    @pytest.fixture(autouse=True)
    def _session(self, spark_local: Session) -> None:
        self.session = spark_local

    def make_engine(self) -> SparkMerge:
        # Scenarios have few rows: without this none of them would see a worker.
        return SparkMerge(self.session.spark, driver_rows=0)

    @pytest.mark.full
    @pytest.mark.parametrize("scenario", [*NAMES, *PARTITIONED_NAMES], ids=str)
    def test_special_names_are_ordinary(self, scenario: Scenario) -> None:
        super().test_special_names_are_ordinary(scenario)


class FromDataFrame(OnSpark):
    def make_source(self, table: pa.Table) -> object:
        return frame_of(self.session.spark, table)

    def check(self, scenario: Scenario) -> None:
        if any(pa.types.is_timestamp(field.type) and field.type.unit == "ns" for field in scenario.incoming.schema):
            pytest.skip("Spark has no nanoseconds")
        if any(pa.types.is_fixed_size_binary(field.type) for field in scenario.incoming.schema):
            pytest.skip("Spark has no binaries of a fixed length: a DataFrame of them widens the table's")
        super().check(scenario)


@pytest.mark.full
class TestTableIntoParquet(OnSpark, IntoParquet):
    """A source that the driver holds; staging it is all that differs."""


class TestDataFrameIntoParquet(FromDataFrame, IntoParquet):
    pass


@pytest.mark.full
class TestFewRowsIntoParquet(FromDataFrame, IntoParquet):
    """A source of so few rows that this process merges them."""

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark)


@pytest.mark.full
class TestDataFrameIntoDuckDB(FromDataFrame, IntoDuckDB):
    pass


@pytest.mark.full
class TestShuffledIntoParquet(FromDataFrame, IntoParquet):
    """A source too large for every worker to hold its keys; here every source is."""

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark, broadcast_rows=0, driver_rows=0)


def test_a_source_that_no_worker_holds_is_shuffled(spark_local: Session, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(4):
        rows = {"id": range(number * 100, number * 100 + 100), "v": ["old"] * 100}
        pq.write_table(pa.table(rows), folder / f"{number}.parquet")
    frame = spark_local.spark.range(50, 450, 10).selectExpr("id", "'new' AS v", "id * 2 AS w")
    engine = SparkMerge(spark_local.spark, broadcast_rows=5, driver_rows=0)
    result = merge(frame, str(folder), keys="id", engine=engine)
    assert (result.inserted, result.updated, result.total) == (5, 35, 405)
    assert result.added_columns == ("w",)
    found = pq.read_table(folder).to_pylist()
    assert {row["id"] for row in found if row["v"] == "new"} == set(range(50, 450, 10))
    assert all(row["w"] == (row["id"] * 2 if row["v"] == "new" else None) for row in found)


def test_the_shuffle_sends_no_side_of_a_join_to_every_worker(
    spark_local: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Shuffle._run

    def explained(shuffle: Shuffle, frame: DataFrame, doing: str) -> pa.Table:
        frame.explain()
        return run(shuffle, frame, doing)

    monkeypatch.setattr(Shuffle, "_run", explained)
    target = table_of(tmp_path / "t", 20)
    source = spark_local.spark.range(15, 25).selectExpr("id", "'new' AS v")
    engine = SparkMerge(spark_local.spark, broadcast_rows=5, driver_rows=0)
    merge(source, target, keys="id", engine=engine)
    merge(source, target, keys="id", strategy="delete_insert", engine=engine)
    plans = capsys.readouterr().out
    assert plans.count("SortMergeJoin") >= 6
    assert "Broadcast" not in plans


def table_of(folder: Path, rows: int) -> str:
    folder.mkdir()
    pq.write_table(pa.table({"id": range(rows), "v": ["old"] * rows}), folder / "a.parquet")
    return str(folder)


SAID = "merging in this process, without a Spark job"


@pytest.mark.parametrize("as_frame", [True, False], ids=["DataFrame", "table"])
@pytest.mark.parametrize(("rows", "bytes_here", "here"), [(4, 1 << 20, True), (5, 1 << 20, False), (4, 10, False)])
def test_few_rows_into_small_files_need_no_worker(
    spark_local: Session,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    as_frame: bool,
    rows: int,
    bytes_here: int,
    here: bool,
) -> None:
    monkeypatch.setattr("lakebed.engines.spark.merge.DRIVER_BYTES", bytes_here)
    target = table_of(tmp_path / "t", 20)
    source = pa.table({"id": range(18, 18 + rows), "v": ["new"] * rows})
    given = spark_local.spark.createDataFrame(source) if as_frame else source
    with caplog.at_level("INFO", logger="lakebed.engines.spark.merge"):
        result = merge(given, target, keys="id", engine=SparkMerge(spark_local.spark, driver_rows=4))
    assert (result.inserted, result.updated, result.total) == (rows - 2, 2, 18 + rows)
    assert (SAID in caplog.text) == here
    found = pq.read_table(target).to_pylist()
    assert {row["id"] for row in found if row["v"] == "new"} == set(range(18, 18 + rows))


def test_a_widening_of_large_files_goes_to_the_workers(
    spark_local: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(3):
        rows = {"id": range(number * 10, number * 10 + 10), "n": pa.array(range(10), pa.int32())}
        pq.write_table(pa.table(rows), folder / f"{number}.parquet")
    # One file may hold the keys and is small enough for this process; all three are rewritten, and are not.
    monkeypatch.setattr("lakebed.engines.spark.merge.DRIVER_BYTES", (folder / "0.parquet").stat().st_size + 10)
    source = pa.table({"id": [1, 2, 99], "n": pa.array([1 << 40] * 3, pa.int64())})
    result = merge(source, str(folder), keys="id", engine=SparkMerge(spark_local.spark))
    assert (result.inserted, result.updated, result.total, result.files_rewritten) == (1, 2, 31, 3)
    found = pq.read_table(folder).to_pylist()
    assert {row["id"] for row in found if row["n"] == 1 << 40} == {1, 2, 99}


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
    engine = SparkMerge(spark, broadcast_rows=3, driver_rows=0)
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
