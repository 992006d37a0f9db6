"""Every target keeps the same promises: Parquet on disk and on S3, plain and partitioned, and DuckDB."""

from pathlib import Path

import pytest

from lakebed.model import PERIOD
from lakebed.storage import Storage
from lakebed.targets.duckdb import DuckDBTarget
from lakebed.targets.parquet import ParquetTarget
from lakebed.testing.server import S3Server
from lakebed.testing.target import OpenTable, TargetSuite


class TestParquet(TargetSuite):
    @pytest.fixture
    def table(self, tmp_path: Path) -> OpenTable:
        return lambda: ParquetTarget(str(tmp_path / "data set"))


class TestPartitionedParquet(TestParquet):
    partition_by = (PERIOD,)


@pytest.mark.server
class TestParquetOnS3(TargetSuite):
    partition_by = (PERIOD,)

    @pytest.fixture
    def table(self, s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> OpenTable:
        monkeypatch.setattr(type(self), "settings", s3_server.settings)
        return lambda: ParquetTarget(f"{s3_bucket}/lake/costs", Storage(s3_server.settings))


class TestDuckDB(TargetSuite):
    @pytest.fixture
    def table(self, tmp_path: Path) -> OpenTable:
        return lambda: DuckDBTarget(str(tmp_path / "costs [1].duckdb"), "select")
