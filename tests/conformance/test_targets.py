"""Every target keeps the same promises: Parquet on disk and on S3, plain and partitioned, and DuckDB."""

from pathlib import Path

import pytest
from tests.support.s3_server import S3Server

from lakebed.model import PERIOD
from lakebed.storage import Storage
from lakebed.targets.address import open_target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, OpenTable, TargetSuite, contents, rows


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


@pytest.mark.server
def test_duckdb_takes_files_that_workers_staged_elsewhere(tmp_path: Path, s3_server: S3Server, s3_bucket: str) -> None:
    storage = Storage(s3_server.settings)
    address = f"duckdb:{tmp_path}/lake.duckdb#costs"
    target = open_target(address, workdir=tmp_path, storage=storage, staging=f"{s3_bucket}/staging")
    loader = Loader(target, s3_server.settings, ())
    loader.load(rows(OCTOBER, [1, 2]))
    loader.load(rows(OCTOBER, [3]), replacing=OCTOBER)
    assert contents(target) == rows(OCTOBER, [3])
    assert list(storage.list(f"{s3_bucket}/staging")) == []
