"""Every engine, merging into DuckDB tables."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lakebed.targets.base import Target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.testing.merge import MergeConformance


class IntoDuckDB(MergeConformance):
    exact_types = False

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "tables.duckdb"

    def create(self, existing: pa.Table | None, partition_by: Sequence[str] = ()) -> Target:
        if existing is not None:
            with duckdb.connect(str(self.file)) as connection:
                connection.register("existing", existing)
                connection.execute('CREATE TABLE "my table" AS SELECT * FROM existing')
        return DuckDBTarget(str(self.file), "my table")

    def snapshot(self, target: Target) -> object:
        return self.file.read_bytes() if self.file.exists() else None


class TestArrowIntoDuckDB(IntoDuckDB):
    engine = "arrow"


class TestDuckDBIntoDuckDB(IntoDuckDB):
    engine = "duckdb"
