"""`lakebed.read(..., spark=)` on Iceberg: without jars, equal to every other reader, pruned where it can be."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.typedef import Record
from pyspark.sql import DataFrame, SparkSession
from tests.support.equality_deletes import delete_by_value
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, of_slice, open_table, rows_of
from tests.support.s3_server import S3Server
from tests.support.spark_cluster import Server
from tests.support.strangers import attach_rest, duckdb_with_iceberg

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.model import Slice

pytestmark = pytest.mark.spark


@pytest.fixture
def spark(spark_local: Session) -> SparkSession:
    return spark_local.spark


def collected(frame: DataFrame) -> list[dict[str, object]]:
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=str)


def plain(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Maps as dictionaries, as Spark gives them."""
    return [
        {key: dict(value) if isinstance(value, list) and key == "m" else value for key, value in row.items()}
        for row in rows
    ]


def evolved(workdir: Path) -> None:
    """A table whose files have different columns and types."""
    target = open_table(workdir)
    first = {
        "id": pa.array([1, 2], pa.int32()),
        "cost": pa.array([Decimal("1.5"), None], pa.decimal128(9, 2)),
        "s": pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())])),
        "m": pa.array([[("k", "v")], None], pa.map_(pa.string(), pa.string())),
    }
    load(target, pa.table(first), OCTOBER, partition_by=["lakebed_period"])
    second = {
        "id": pa.array([2**40], pa.int64()),
        "cost": pa.array([Decimal("12345678901.25")], pa.decimal128(18, 2)),
        "s": pa.array([{"a": 2, "b": "x"}], pa.struct([("a", pa.int32()), ("b", pa.string())])),
        "m": pa.array([[("k2", "v2")]], pa.map_(pa.string(), pa.string())),
        "late": ["column"],
    }
    load(target, pa.table(second), NOVEMBER)


def test_spark_duckdb_and_pyiceberg_read_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    evolved(tmp_path)
    target = open_table(tmp_path)
    ours = collected(lakebed.read("iceberg:billing.costs", spark=spark, workdir=tmp_path))
    theirs = sorted(target.existing_table().scan().to_arrow().to_pylist(), key=str)
    assert ours == plain(theirs)
    duck = duckdb_with_iceberg()
    metadata = target.existing_table().metadata_location.removeprefix("file://")
    found = duck.execute(f"SELECT * FROM iceberg_scan('{metadata}')").to_arrow_table().to_pylist()
    assert plain(sorted(found, key=str)) == ours
    local = lakebed.read("iceberg:billing.costs", workdir=tmp_path)
    assert plain(sorted(local.to_table().to_pylist(), key=str)) == ours


def test_a_filter_on_the_period_drops_the_other_files_before_they_are_opened(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evolved(tmp_path)
    frame = lakebed.read("iceberg:billing.costs", spark=spark, workdir=tmp_path)
    assert len(frame.inputFiles()) == 2
    october = frame.where("lakebed_period = '2026-10'").select("id")
    assert len(october.inputFiles()) == 1
    october.explain()
    assert "ReadSchema: struct<id:bigint>" in capsys.readouterr().out, "only the column that is asked for is read"
    assert sorted(row.id for row in october.collect()) == [1, 2]


@pytest.mark.parametrize("address", ["parquet:costs", "duckdb:costs.duckdb#costs", "iceberg:billing.costs"])
def test_every_target_reads_as_a_dataframe(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pa.table({"id": [1, 2, 3], "month": ["2026-10", "2026-11", None], "cost": [Decimal("1.5")] * 3})
    lakebed.merge(rows, address, keys="id", **({} if address.startswith("duckdb") else {"partition_columns": "month"}))
    lakebed.merge(pa.table({"id": [4], "late": ["x"]}), address, keys="id")
    frame = lakebed.read(address, spark=spark)
    assert collected(frame.select("id", "month", "cost", "late")) == [
        {"id": 1, "month": "2026-10", "cost": Decimal("1.5"), "late": None},
        {"id": 2, "month": "2026-11", "cost": Decimal("1.5"), "late": None},
        {"id": 3, "month": None, "cost": Decimal("1.5"), "late": None},
        {"id": 4, "month": None, "cost": None, "late": "x"},
    ]
    assert [row.id for row in frame.where("month = '2026-11'").collect()] == [2]


def test_an_empty_table_has_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    load(open_table(tmp_path), pa.table({"id": pa.array([], pa.int64())}))
    frame = lakebed.read("iceberg:billing.costs", spark=spark, workdir=tmp_path)
    assert frame.columns == ["id"]
    assert frame.count() == 0


def test_columns_in_the_order_that_was_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    evolved(tmp_path)
    frame = lakebed.read("iceberg:billing.costs", spark=spark, workdir=tmp_path, columns=["late", "ID"])
    assert frame.columns == ["late", "id"]
    assert collected(frame) == [
        {"late": "column", "id": 2**40},
        {"late": None, "id": 1},
        {"late": None, "id": 2},
    ]


@pytest.mark.server
def test_after_strangers_spark_reads_what_they_left_and_our_next_load_loses_nothing(
    spark: SparkSession, tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB alters, inserts, merges, deletes and renames on REST; Spark reads it by field id, and so do we."""
    monkeypatch.chdir(tmp_path)
    catalog = "\n".join(f'"{key}" = "{value}"' for key, value in s3_server.catalog_properties.items())
    storage = (
        f'endpoint_url = "{s3_server.endpoint}"\nregion = "{s3_server.region}"\n'
        f'access_key_id = "{s3_server.access_key}"\nsecret_access_key = "{s3_server.secret_key}"'
    )
    Path("lakebed.toml").write_text(f"[storage]\n{storage}\n[catalog.lakebed]\n{catalog}\n")
    address = "iceberg:strangers.people"
    target = open_table(tmp_path, "strangers.people", storage=s3_server.settings, **s3_server.catalog_properties)
    load(target, of_slice(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), OCTOBER))

    duck = duckdb_with_iceberg()
    attach_rest(duck, s3_server)
    table = "lake.strangers.people"
    duck.execute(f"ALTER TABLE {table} ADD COLUMN extra VARCHAR")
    duck.execute(f"INSERT INTO {table} BY NAME SELECT 4 AS id, 'd' AS name, 'x' AS extra")
    duck.execute(
        f"MERGE INTO {table} t USING (SELECT 2 AS id, 'B' AS name) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name"
    )
    duck.execute(f"DELETE FROM {table} WHERE id = 1")
    duck.execute(f"ALTER TABLE {table} RENAME COLUMN name TO title")
    expected = [(2, "B", None), (3, "c", None), (4, "d", "x")]

    def seen(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
        return sorted((row["id"], row["title"], row["extra"]) for row in rows)

    assert seen(rows_of(target)) == expected
    assert seen(collected(lakebed.read(address, spark=spark))) == expected

    from lakebed.errors import ConcurrentModification

    new = of_slice(pa.table({"id": [9], "mine": ["m"]}), Slice("p", "report", "2026-11"))
    with pytest.raises(ConcurrentModification, match="rewritten"):
        load(target, new)
    load(target, new)
    assert seen(rows_of(target)) == [*expected, (9, None, None)]
    assert seen(collected(lakebed.read(address, spark=spark))) == [*expected, (9, None, None)]
    assert sorted(duck.execute(f"SELECT id, title, extra FROM {table}").fetchall()) == [*expected, (9, None, None)]


CONNECT = """
import json, sys
import lakebed
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session

url, workdir = sys.argv[1:3]
with open_session(load_settings({"remote": url})) as session:
    frame = lakebed.read("iceberg:billing.costs", spark=session.spark, workdir=workdir)
    rows = sorted([row.id, row.late, row.lakebed_period] for row in frame.collect())
    october = frame.where("lakebed_period = '2026-10'")
    print(json.dumps({"rows": rows, "files": len(october.inputFiles()), "october": october.count()}))
"""


def test_on_spark_connect(spark_connect: Server, tmp_path: Path) -> None:
    evolved(tmp_path)
    answer = json.loads(spark_connect.run(CONNECT, str(tmp_path)).splitlines()[-1])
    assert answer == {
        "rows": [[1, None, "2026-10"], [2, None, "2026-10"], [2**40, "column", "2026-11"]],
        "files": 1,
        "october": 2,
    }


def test_workers_leave_out_what_others_deleted_by_value(spark: SparkSession, tmp_path: Path) -> None:
    evolved(tmp_path)
    target = open_table(tmp_path)
    delete_by_value(target, pa.table({"id": pa.array([2], pa.int64())}), partition=Record("2026-10"))
    both = pa.table({"late": ["column"], "id": pa.array([2**40], pa.int64())})
    delete_by_value(target, both, partition=Record("2026-11"))
    frame = lakebed.read("iceberg:billing.costs", spark=spark, workdir=tmp_path)
    assert [row["id"] for row in collected(frame)] == [1]
    some = lakebed.read("iceberg:billing.costs", spark=spark, workdir=tmp_path, columns=["cost"])
    assert collected(some) == [{"cost": Decimal("1.50")}]
    source = spark.read.format("lakebed").option("workdir", str(tmp_path)).load("iceberg:billing.costs")
    assert [row["id"] for row in collected(source.select("id", "m"))] == [1]
