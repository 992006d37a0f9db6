"""What the Spark UI shows of our work: jobs in the group of their run, each with a description."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.spark_cluster import Server

import lakebed
from lakebed.engines.spark.session import Session

pytestmark = pytest.mark.spark


def descriptions(session: Session) -> dict[int, tuple[str | None, str | None]]:
    """Group and description of every job that the session still remembers."""
    jobs = session.spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = {}
    for place in range(jobs.size()):
        job = jobs.apply(place)
        group, said = job.jobGroup(), job.description()
        found[job.jobId()] = (group.get() if group.isDefined() else None, said.get() if said.isDefined() else None)
    return found


def new_since(before: set[int], session: Session) -> list[tuple[str | None, str | None]]:
    return [named for number, named in sorted(descriptions(session).items()) if number not in before]


def test_the_jobs_of_a_load_say_which_month_they_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_local: Session
) -> None:
    monkeypatch.chdir(tmp_path)
    lakebed.sample(tmp_path / "bills", months=2, rows=20, columns=63)
    before = set(descriptions(spark_local))
    report = lakebed.run(tmp_path / "bills", "parquet:lake", spark=spark_local.spark)
    jobs = new_since(before, spark_local)
    assert {group for group, _ in jobs} == {jobs[0][0]}
    assert str(jobs[0][0]).startswith("lakebed-run-")
    for one in report.deliveries:
        assert any(f"lakebed load {one.payer} {one.report} {one.period}: convert " in str(said) for _, said in jobs)


def test_the_jobs_of_a_write_say_which_table_and_leave_the_callers_names(tmp_path: Path, spark_local: Session) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "rows.parquet")
    context = spark_local.spark.sparkContext
    context.setJobGroup("theirs", "what they do")
    try:
        before = set(descriptions(spark_local))
        lakebed.write(tmp_path / "rows.parquet", f"parquet:{tmp_path / 't'}", spark=spark_local.spark)
        assert new_since(before, spark_local) == [("theirs", f"lakebed write parquet:{tmp_path / 't'}: write 1 files")]
        assert context.getLocalProperty("spark.job.description") == "what they do"
    finally:
        context._jsc.clearJobGroup()


def test_a_connect_server_shows_them_as_tags(spark_connect: Server, tmp_path: Path) -> None:
    """The program asks its own session for the tags while the job runs: the server keeps none afterwards."""
    program = f"""
import sys
import pyspark.sql.connect.session as connect
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
seen = []
original = connect.SparkSession.addTag
connect.SparkSession.addTag = lambda self, tag: (seen.append(tag), original(self, tag))[1]
import lakebed
frame = spark.range(3).selectExpr("id", "id * 2 AS twice")
lakebed.write(frame, "parquet:{tmp_path / "t"}")
assert any(tag.startswith("lakebed-run-") for tag in seen), seen
assert "lakebed write parquet:{tmp_path / "t"}: write rows" in seen, seen
assert spark.getTags() == set(), spark.getTags()
"""
    spark_connect.run(program)
