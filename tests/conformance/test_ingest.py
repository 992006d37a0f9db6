"""Files of any kind into every target, by the kernels that Spark's workers run, in this process."""

from pathlib import Path

import pytest
from tests.support.arrow_runs import use_arrow
from tests.support.s3_server import S3Server

from lakebed.testing.ingest import IngestConformance, Place


class InThisProcess(IngestConformance):
    @pytest.fixture(autouse=True)
    def without_spark(self, monkeypatch: pytest.MonkeyPatch) -> None:
        use_arrow(monkeypatch)


class TestParquet(InThisProcess):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(f"parquet:{tmp_path / 'lake' / 'data set'}")


class TestDuckDB(InThisProcess):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(f"duckdb:{tmp_path / 'events [1].duckdb'}#select")


class TestIceberg(InThisProcess):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place("iceberg:web.events")


def reaching(server: S3Server) -> dict[str, object]:
    settings = server.settings
    return {
        "endpoint_url": settings.endpoint_url,
        "region": settings.region,
        "access_key_id": settings.access_key_id,
        "secret_access_key": settings.secret_access_key,
    }


@pytest.mark.server
class TestParquetOnS3(InThisProcess):
    @pytest.fixture
    def place(self, s3_server: S3Server, s3_bucket: str) -> Place:
        return Place(f"parquet:{s3_bucket}/lake/events", reaching(s3_server))


@pytest.mark.full
@pytest.mark.server
class TestIcebergOnRest(InThisProcess):
    @pytest.fixture
    def place(self, s3_server: S3Server, s3_bucket: str) -> Place:
        catalog = {"mine": dict(s3_server.catalog_properties)}
        namespace = s3_bucket.rsplit("/", 1)[-1].replace("-", "_")
        return Place(f"iceberg:mine:{namespace}.events", {**reaching(s3_server), "catalog": catalog})
