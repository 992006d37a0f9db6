"""The merge entry points of the specifications."""

from pathlib import Path

import pyarrow as pa

from lakebed.datasets import DuckDBParquetHandler, MergeStats, merge_parquet_dataset_pyarrow


def test_both_specified_entry_points_agree(tmp_path: Path) -> None:
    source = pa.table({"id": [1, 2]})
    found = [
        DuckDBParquetHandler().merge_parquet_dataset(source, tmp_path / "a", ["id"]),
        merge_parquet_dataset_pyarrow(source, tmp_path / "b", "id", "upsert"),
    ]
    assert found == [MergeStats(inserted=2, updated=0, deleted=0, total=2)] * 2
