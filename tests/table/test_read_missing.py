"""A table that is not there is an error of `lakebed.read`, whatever the target."""

from pathlib import Path

import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import NotFound

PLACES = ["parquet:{}/nothing", "duckdb:{}/nothing.duckdb#costs", "iceberg:ns.nothing"]


@pytest.mark.parametrize("place", PLACES)
def test_reading_it_is_refused_with_its_address(place: str, tmp_path: Path) -> None:
    address = place.format(tmp_path)
    with pytest.raises(NotFound) as refused:
        lakebed.read(address, workdir=tmp_path / "work")
    assert address in refused.value.message
    assert refused.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_so_is_another_table_of_a_file_that_exists(tmp_path: Path) -> None:
    lakebed.evolve(f"duckdb:{tmp_path}/lake.duckdb#costs", {"id": "bigint"}, workdir=tmp_path)
    with pytest.raises(NotFound, match=r"lake\.duckdb#other"):
        lakebed.read(f"duckdb:{tmp_path}/lake.duckdb#other", workdir=tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("place", PLACES)
def test_so_it_is_with_spark(place: str, tmp_path: Path, spark_local: Session) -> None:
    address = place.format(tmp_path)
    with pytest.raises(NotFound) as refused:
        lakebed.read(address, spark=spark_local.spark, workdir=tmp_path / "work")
    assert address in refused.value.message
    assert refused.value.remedy
