"""The same load on this machine, on Spark Connect and on a cluster, from S3 to S3: equal rows, schemas and sums."""

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from tests.support.s3_server import S3Server
from tests.support.spark_cluster import Server

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.samples import SampleSpec, make_sample
from lakebed.samples.truth import SampleTruth
from lakebed.storage import Storage, join

pytestmark = [pytest.mark.spark, pytest.mark.server]

SPEC = SampleSpec(months=2, rows=80, columns=70, files=3)
TEXTS = ("identity_line_item_id", "lakebed_delivery", "resource_tags_user_environment")

# A driver: takes its jobs as JSON, runs them one after the other on one session, prints what each reported.
DRIVER = """
import json, os, sys
import lakebed
from lakebed.errors import LakebedError

settings = json.loads(sys.argv[2])
os.chdir(sys.argv[4] if len(sys.argv) > 4 else ".")
if os.environ.get("NO_COPIES_HERE"):
    from lakebed.storage import Storage
    def copy(self, source, target, **_):
        raise AssertionError(f"the driver copied {source}")
    Storage.copy = copy
for job in json.loads(sys.argv[3]):
    try:
        report = lakebed.run(job["source"], job["target"], **settings, **job.get("settings", {}))
        print(json.dumps(report.to_dict()))
    except LakebedError as error:
        print(json.dumps({"refused": str(error)}))
"""


@dataclass(frozen=True)
class Bucket:
    """Deliveries on a real S3, and what they add up to."""

    server: S3Server
    source: str
    truth: SampleTruth

    @property
    def settings(self) -> dict[str, object]:
        return {
            "endpoint_url": self.server.endpoint,
            "region": self.server.region,
            "access_key_id": self.server.access_key,
            "secret_access_key": self.server.secret_key,
        }

    def parquet(self, target: str) -> pa.Table:
        """All rows of a dataset on S3, read by PyArrow alone."""
        place = target.removeprefix("parquet:s3://")
        dataset = pads.dataset(place, filesystem=self.server.filesystem(), format="parquet", partitioning="hive")
        return dataset.to_table()


@pytest.fixture(scope="module")
def bucket(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Bucket:
    folder = tmp_path_factory.mktemp("deliveries")
    truth = make_sample(folder, months=SPEC.months, rows=SPEC.rows, columns=SPEC.columns, spec=SPEC)
    storage, source = Storage(s3_server.settings), s3_server.new_bucket("bills")
    for path in sorted(folder.rglob("*"), key=lambda path: path.suffix == ".json"):
        if path.is_file():
            storage.copy(str(path), join(source, str(path.relative_to(folder))))
    return Bucket(s3_server, source, truth)


@pytest.fixture(scope="module")
def loaded_here(bucket: Bucket, spark_local: Session, tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """The table as a local session loads it, from S3 to S3, and loads it again as nothing."""
    target = f"parquet:{bucket.server.new_bucket('local')}/bill"
    work = str(tmp_path_factory.mktemp("work"))
    report = lakebed.run(bucket.source, target, spark=spark_local.spark, workdir=work, **bucket.settings)
    assert [(one.state, one.reconciled) for one in report.deliveries] == [("loaded", True)] * 2
    again = lakebed.run(bucket.source, target, spark=spark_local.spark, workdir=work, **bucket.settings)
    assert all(one.skipped for one in again.deliveries)
    assert again.rows == report.rows
    return bucket.parquet(target)


def sums(table: pa.Table) -> dict[str, Decimal]:
    decimals = [field.name for field in table.schema if pa.types.is_decimal(field.type)]
    return {name: sum(filter(None, table.column(name).to_pylist()), Decimal(0)) for name in decimals}


def assert_equal_tables(one: pa.Table, other: pa.Table) -> None:
    assert one.num_rows == other.num_rows
    assert sorted(zip(one.schema.names, map(str, one.schema.types), strict=True)) == sorted(
        zip(other.schema.names, map(str, other.schema.types), strict=True)
    )
    assert sums(one) == sums(other)
    for name in TEXTS:
        assert sorted(map(str, one.column(name).to_pylist())) == sorted(map(str, other.column(name).to_pylist()))


def test_from_s3_to_s3_equals_the_truth(bucket: Bucket, loaded_here: pa.Table) -> None:
    truth = bucket.truth.current
    assert loaded_here.num_rows == sum(made.totals.rows for made in truth)
    assert set(loaded_here.column("lakebed_delivery").to_pylist()) == {made.delivery for made in truth}
    expected = sum((made.totals.sums["lineItem/UnblendedCost"] for made in truth), Decimal(0))
    assert sums(loaded_here)["line_item_unblended_cost"] == expected


def test_from_s3_to_duckdb(bucket: Bucket, loaded_here: pa.Table, spark_local: Session, tmp_path: Path) -> None:
    lakebed.run(
        bucket.source,
        f"duckdb:{tmp_path / 'costs'}#bill",
        spark=spark_local.spark,
        workdir=str(tmp_path / "work"),
        no_stage=True,
        **bucket.settings,
    )
    assert not (tmp_path / "work" / "staging").exists()
    with duckdb.connect(tmp_path / "costs", read_only=True) as connection:
        assert_equal_tables(connection.execute("SELECT * FROM bill").to_arrow_table(), loaded_here)


def test_spark_connect_loads_the_same(
    bucket: Bucket, loaded_here: pa.Table, spark_connect: Server, tmp_path: Path
) -> None:
    target = f"parquet:{bucket.server.new_bucket('connect')}/bill"
    settings = {"remote": spark_connect.url, "workdir": str(tmp_path), **bucket.settings}
    said = spark_connect.run(DRIVER, json.dumps(settings), json.dumps([{"source": bucket.source, "target": target}]))
    assert [one["reconciled"] for one in json.loads(said)["deliveries"]] == [True, True]
    assert_equal_tables(bucket.parquet(target), loaded_here)


@pytest.mark.full
def test_a_cluster_loads_the_same_with_nothing_of_the_driver_s_disk(
    bucket: Bucket, loaded_here: pa.Table, standalone_cluster: Server, pyarrow_only: Path, tmp_path: Path
) -> None:
    """Workers have disks of their own, pyarrow and not lakebed; keys and kernels reach them with the job."""
    work, private = tmp_path / "work", tmp_path / "private"
    place = bucket.server.new_bucket("cluster")
    jobs = [
        {"source": bucket.source, "target": f"parquet:{place}/bill"},
        {"source": bucket.source, "target": f"duckdb:{tmp_path / 'costs'}#bill"},
        {"source": bucket.source, "target": f"parquet:{private}"},
        {"source": bucket.source, "target": f"parquet:{place}/other", "settings": {"location": str(tmp_path / "s")}},
        {"source": bucket.source, "target": "iceberg:billing"},
        {"source": bucket.source, "target": "iceberg:lake:billing"},
    ]
    settings = {
        "master": standalone_cluster.url,
        "workdir": str(work),
        "conf": {"spark.executor.memory": "512m"},
        **bucket.settings,
    }
    for job in jobs:
        job.setdefault("settings", {"location": f"{place}/staging"})
    (tmp_path / "lakebed.toml").write_text(
        f'[catalog.lake]\ntype = "sql"\nuri = "sqlite:///{tmp_path}/lake.db"\nwarehouse = "{place}/warehouse"\n'
    )
    said = standalone_cluster.run(
        DRIVER,
        json.dumps(settings),
        json.dumps(jobs),
        str(tmp_path),
        environment={"PYSPARK_PYTHON": str(pyarrow_only), "NO_COPIES_HERE": "1"},
    )
    parquet, database, to_private, from_private, to_warehouse, to_lake = map(json.loads, said.splitlines())
    for report in (parquet, database, to_lake):
        assert [(one["state"], one["reconciled"]) for one in report["deliveries"]] == [("loaded", True)] * 2
    assert_equal_tables(bucket.parquet(f"parquet:{place}/bill"), loaded_here)
    with duckdb.connect(tmp_path / "costs", read_only=True) as connection:
        assert_equal_tables(connection.execute("SELECT * FROM bill").to_arrow_table(), loaded_here)
    [table] = to_lake["tables"]
    assert table["rows"] == loaded_here.num_rows
    for report in (to_private, from_private, to_warehouse):
        for one in report["deliveries"]:
            assert one["state"] == "failed"
            assert "is a path on this machine, and the workers of spark://" in one["error"]
            assert "spark.shared_folders" in one["error"]
    assert not private.exists()
    assert {path.name for path in work.iterdir()} == {"ledger.db"}
