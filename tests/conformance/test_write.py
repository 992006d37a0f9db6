"""Rows written in this process, into every target."""

from pathlib import Path

import pytest
from tests.support.s3_server import S3Server

from lakebed.storage import Storage
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OpenTable
from lakebed.testing.write import WriteConformance


class IntoParquet(WriteConformance):
    @pytest.fixture
    def table(self, tmp_path: Path) -> OpenTable:
        return lambda: ParquetTarget(str(tmp_path / "data set"))


class IntoDuckDB(WriteConformance):
    exact_types = False

    @pytest.fixture
    def table(self, tmp_path: Path) -> OpenTable:
        return lambda: DuckDBTarget(str(tmp_path / "costs [1].duckdb"), "select")


class IntoIceberg(WriteConformance):
    exact_types = False

    @pytest.fixture
    def table(self, tmp_path: Path) -> OpenTable:
        return lambda: IcebergTarget("events", "written", CatalogSettings.for_workdir(tmp_path))


class TestParquet(IntoParquet):
    pass


class TestPartitionedParquet(IntoParquet):
    partition_by = ("day",)


class TestDuckDB(IntoDuckDB):
    pass


class TestIceberg(IntoIceberg):
    pass


class TestPartitionedIceberg(IntoIceberg):
    partition_by = ("day",)


@pytest.mark.server
class TestParquetOnS3(WriteConformance):
    partition_by = ("day",)

    @pytest.fixture
    def table(self, s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> OpenTable:
        monkeypatch.setattr(type(self), "settings", s3_server.settings)
        return lambda: ParquetTarget(f"{s3_bucket}/lake/events", Storage(s3_server.settings))
