"""Files ingested by Spark's workers: locally, over Connect, and on a cluster whose Python has pyarrow only."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark_cluster import Server

import lakebed
from lakebed.engines.shared.packs import FEWEST_TASKS
from lakebed.engines.spark.session import Session
from lakebed.pipeline.reports import IngestReport
from lakebed.testing.ingest import IngestConformance, Place

pytestmark = pytest.mark.spark


class OnSpark(IngestConformance):
    @pytest.fixture(autouse=True)
    def _session(self, spark_local: Session) -> None:
        self.session = spark_local

    def ingest(self, source: Path, place: Place, workdir: Path, **options: Any) -> IngestReport:
        return super().ingest(source, place, workdir, spark=self.session.spark, **options)


class TestIntoParquet(OnSpark):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(f"parquet:{tmp_path / 'lake' / 'events'}")


@pytest.mark.full
class TestIntoDuckDB(OnSpark):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(f"duckdb:{tmp_path / 'events.duckdb'}#events")


@pytest.mark.full
class TestIntoIceberg(OnSpark):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place("iceberg:web.events")


def test_small_files_are_packed(spark_local: Session, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for number in range(300):
        rows = "".join(f"{number * 20 + row},{row}.5\n" for row in range(20))
        (source / f"{number:04d}.csv").write_text(f"id,v\n{rows}")
    target = tmp_path / "out"
    done = lakebed.ingest(source, f"parquet:{target}", spark=spark_local.spark, workdir=tmp_path / "work")
    assert (done.loaded, done.deliveries[0].reconciled) == (6000, True)
    assert len(list(target.glob("*.parquet"))) <= FEWEST_TASKS + 1


CLIENT = """
import json, sys
import lakebed
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session

url, kind, folder = sys.argv[1:]
with open_session(load_settings({kind: url, "shared_folders": [folder]})) as session:
    answers = []
    for keys in (None, "id"):
        for _ in range(2):
            done = lakebed.ingest(
                folder + "/in", f"parquet:{folder}/out-{keys}", keys=keys, spark=session.spark,
                workdir=folder + "/work", shared_folders=[folder],
            )
            answers.append([done.loaded, done.rows, dict(done.types)])
    print(json.dumps(answers))
"""


def check_client(server: Server, kind: str, folder: Path, **environment: str) -> None:
    (folder / "in" / "day=2026-11-01").mkdir(parents=True)
    (folder / "in" / "a.csv").write_text("id;v\n1;1,5\n")
    (folder / "in" / "day=2026-11-01" / "b.jsonl").write_text('{"id": 2, "who": {"name": "x"}}\n')
    said = server.run(CLIENT, kind, str(folder), environment=environment)
    answers = json.loads(said.splitlines()[-1])
    types = {"id": "int32", "v": "text", "who": "struct<name: text>", "day": "date"}
    assert answers == [[2, 2, types], [0, 2, {}], [2, 2, types], [0, 2, {}]]


def test_over_connect(spark_connect: Server, tmp_path: Path) -> None:
    check_client(spark_connect, "remote", tmp_path)


def test_on_a_cluster_whose_workers_have_pyarrow_only(
    standalone_cluster: Server, tmp_path: Path, pyarrow_only: Path
) -> None:
    check_client(standalone_cluster, "master", tmp_path, PYSPARK_PYTHON=str(pyarrow_only))
