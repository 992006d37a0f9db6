"""Iceberg keeps the promises of every target: on SQLite and on a real REST catalog over S3, plain and partitioned."""

import itertools
from pathlib import Path

import pytest
from tests.support.s3_server import S3Server

from lakebed.model import PERIOD
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.testing.target import OpenTable, TargetSuite

_names = itertools.count(1)


class TestIceberg(TargetSuite):
    @pytest.fixture
    def table(self, tmp_path: Path) -> OpenTable:
        return lambda: IcebergTarget("billing", "costs", CatalogSettings.for_workdir(tmp_path / "work dir"))


class TestPartitionedIceberg(TestIceberg):
    partition_by = (PERIOD,)


@pytest.mark.server
class TestIcebergOnRest(TargetSuite):
    partition_by = (PERIOD,)

    @pytest.fixture
    def table(self, s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenTable:
        monkeypatch.setattr(type(self), "settings", s3_server.settings)
        catalog = CatalogSettings.for_workdir(
            tmp_path, properties=s3_server.catalog_properties, storage=s3_server.settings
        )
        name = f"costs_{next(_names)}"
        return lambda: IcebergTarget("conformance", name, catalog)
