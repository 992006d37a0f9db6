"""Every engine, merging into Parquet datasets."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.duckdb.merge import DuckDBMerge
from lakebed.engines.protocols.merge import MergeEngine
from lakebed.engines.shared import arrow_source
from lakebed.kernels import key_shares, merge_files, merge_inserts, source_rows
from lakebed.targets.base import Target
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.merge import MergeConformance


class IntoParquet(MergeConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "data set"

    def create(self, existing: pa.Table | None, partition_by: Sequence[str] = ()) -> Target:
        if existing is not None and partition_by:
            pads.write_dataset(
                existing,
                self.folder,
                format="parquet",
                partitioning=pads.partitioning(
                    pa.schema([existing.schema.field(name) for name in partition_by]), flavor="hive"
                ),
            )
        elif existing is not None:
            self.folder.mkdir()
            half = (existing.num_rows + 1) // 2
            for number, part in enumerate([existing.slice(0, half), existing.slice(half)]):
                pq.write_table(part, self.folder / f"part-{number}.parquet")
        return ParquetTarget(str(self.folder))

    def snapshot(self, target: Target) -> object:
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


class TestArrowIntoParquet(IntoParquet):
    engine = "arrow"


class TestDuckDBIntoParquet(IntoParquet):
    engine = "duckdb"


class TestDuckDBFallbackIntoParquet(IntoParquet):
    engine = "duckdb"

    def make_engine(self) -> DuckDBMerge:
        return DuckDBMerge(use_merge=False, connection=duckdb.connect())


class TestLargeSourceIntoParquet(IntoParquet):
    """Every source taken for a large one: its keys in shares on disk, its rows fetched a few at a time."""

    engine = "arrow"

    @pytest.fixture(autouse=True)
    def _small_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(key_shares, "BLOCK_ROWS", 3)
        monkeypatch.setattr(arrow_source, "PUT_DOWN_ROWS", 2)
        monkeypatch.setattr(source_rows, "FETCHED_ROWS", 2)
        monkeypatch.setattr(source_rows, "LET_GO_BYTES", 1)
        monkeypatch.setattr(merge_inserts, "WINDOW_ROWS", 2)
        monkeypatch.setattr(merge_files, "BATCH_ROWS", 2)

    def make_engine(self) -> MergeEngine:
        return ArrowMerge(large_rows=0)


class TestLargeStreamIntoParquet(TestLargeSourceIntoParquet):
    """The same from a stream of batches of different lengths, on the engine that leaves large ones to Arrow."""

    def make_engine(self) -> MergeEngine:
        return DuckDBMerge(large_rows=0)

    def make_source(self, table: pa.Table) -> pa.RecordBatchReader:
        batches = [*table.slice(0, 1).to_batches(), *table.slice(1).to_batches()]
        return pa.RecordBatchReader.from_batches(table.schema, batches)
