"""A merge into one table: which files it rewrites, what it takes as a source, how much memory it needs."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.table.merge import merge


def test_only_affected_files_are_rewritten(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(10):
        pq.write_table(
            pa.table({"id": range(number * 10, number * 10 + 10), "v": ["a"] * 10}), folder / f"{number}.parquet"
        )
    before = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    result = merge(pa.table({"id": [35, 200], "v": ["b", "b"]}), str(folder), keys="id", engine="arrow")
    assert (result.files_rewritten, result.files_kept) == (1, 9)
    after = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    assert [name for name in before if after[name] != before[name]] == ["3.parquet"]


def test_nearly_all_files_are_repacked_into_fewer(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(10):
        pq.write_table(pa.table({"id": range(number * 10, number * 10 + 10)}), folder / f"{number}.parquet")
    source = pa.table({"id": range(0, 100, 5)})
    plan = merge(source, str(folder), keys="id", dry_run=True).plan
    assert plan is not None
    assert plan.repack
    with pytest.raises(FrozenInstanceError):
        plan.before = 0  # type: ignore[misc]
    assert "10 rewritten into new ones" in str(plan)
    assert plan.to_dict()["expected"] == {"inserted": 0, "updated": 20, "deleted": 0, "total": 100}
    for engine in ("arrow", "duckdb"):
        merge(source, str(folder), keys="id", engine=engine)
        assert len(list(folder.glob("*.parquet"))) == 1
        assert pq.read_table(folder).num_rows == 100


def test_sources_of_every_kind(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "p": ["01", "02"]})
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["p"])
    pq.write_table(table, tmp_path / "one.parquet")
    sources = [
        table,
        table.to_reader(),
        table.to_batches()[0],
        tmp_path / "one.parquet",
        str(tmp_path / "hive"),
    ]
    for number, source in enumerate(sources):
        for engine in ("arrow", "duckdb"):
            given = table.to_reader() if isinstance(source, pa.RecordBatchReader) else source
            result = merge(given, str(tmp_path / f"{engine}{number}"), keys="id", engine=engine)
            assert result.inserted == 2
            assert set(pq.read_table(tmp_path / f"{engine}{number}").column("p").to_pylist()) == {"01", "02"}


def test_memory_is_bounded_by_batches_and_not_by_the_target(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    rows = 1_500_000
    numbers = pa.array(range(rows))
    wide = pa.table(dict.fromkeys(("id", *(f"c{n}" for n in range(8))), numbers))
    pq.write_table(wide, folder / "0.parquet", row_group_size=100_000)
    size = rows * 8 * wide.num_columns
    del wide, numbers
    # A pool of its own: the peak of the process's pool is that of whatever ran before.
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        merge(pa.table({"id": [5], "c0": [0]}), str(folder), keys="id", engine="arrow")
    finally:
        pa.set_memory_pool(usual)
    assert 0 < pool.max_memory() < size / 2
