"""`lakebed.read` of what is not there is an error, on every target and with Spark too; an empty table is none."""

from pathlib import Path

import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import NotFound

ADDRESSES = ["duckdb:costs.duckdb#costs", "parquet:costs", "iceberg:billing.costs"]


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("columns", [None, ["id"]])
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_missing_table_is_an_error(address: str, columns: list[str] | None, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no table") as refused:
        lakebed.read(address, columns=columns, workdir=tmp_path)
    assert address.partition(":")[2] in refused.value.message
    assert refused.value.remedy
    assert list(tmp_path.iterdir()) == []
    lakebed.evolve("duckdb:costs.duckdb#other", "id int", workdir=tmp_path)
    with pytest.raises(NotFound, match="there is no table"):
        lakebed.read(address, columns=columns, workdir=tmp_path)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_empty_table_is_read(address: str, tmp_path: Path) -> None:
    lakebed.evolve(address, "id int, cost decimal(38,18)", workdir=tmp_path)
    found = lakebed.read(address, columns=["cost"], workdir=tmp_path)
    assert found.schema.names == ["cost"]


@pytest.mark.spark
@pytest.mark.parametrize("address", ADDRESSES)
def test_spark_reads_no_missing_table(address: str, spark_local: Session, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no table"):
        lakebed.read(address, spark=spark_local.spark, workdir=tmp_path)
