"""A dataset's files alone say what its columns are, also where no row is left."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.kernels.storage_settings import StorageSettings
from lakebed.schema.types import Column, Text
from lakebed.table.merge import merge
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import BASE, NOVEMBER, OCTOBER, Loader, contents, rows

WIDER = BASE.with_columns([Column("tag", Text(), original="Tag")])


def carriers(folder: Path) -> list[str]:
    """The files without rows that hold the columns; a file with rows may take the name of one that goes."""
    return [path.name for path in folder.rglob("schema-*.parquet") if pq.read_metadata(path).num_rows == 0]


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_full_merge_with_an_empty_source_keeps_every_column(tmp_path: Path, engine: str) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    table = pa.table({"id": [1, 2], "cost": ["1", "2"], "tag": ["a", "b"]})
    pq.write_table(table, folder / "a.parquet")
    for _ in range(3):
        merge(table.slice(0, 0).select(["id", "cost"]), str(folder), keys="id", strategy="full_merge", engine=engine)
        state = ParquetTarget(str(folder)).state()
        assert (state.rows, state.schema.names) == (0, ("id", "cost", "tag"))
        assert len(carriers(folder)) == 1
    merge(table.select(["id", "cost"]), str(folder), keys="id", engine=engine)
    state = ParquetTarget(str(folder)).state()
    assert (state.rows, state.schema.names) == (2, ("id", "cost", "tag"))


def test_the_only_file_that_has_a_column_stays_until_another_has_it(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    loader.load([], schema=WIDER)
    [carrier] = carriers(tmp_path / "t")
    # Files without the column: the carrier is needed still, and the same one serves.
    narrow = pa.table({"id": [1]})
    pq.write_table(narrow, tmp_path / "t" / "others.parquet")
    loader.load([], schema=WIDER)
    assert carriers(tmp_path / "t") == [carrier]
    assert target.state().schema.names == WIDER.names
    loader.load(rows(OCTOBER, [2], tag="x"), schema=WIDER)
    assert carriers(tmp_path / "t") == []
    assert target.state().schema["tag"].original == "Tag"
    assert [row["id"] for row in contents(target)] == [1, 2]


def test_the_last_rows_of_a_column_may_go_but_not_the_column(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    loader.load(rows(OCTOBER, [1], tag="x"), schema=WIDER)
    loader.load(rows(NOVEMBER, [2]))
    assert len(carriers(tmp_path / "t")) == 0
    loader.load([], replacing=OCTOBER)
    assert target.state().schema["tag"].original == "Tag"
    assert [row["id"] for row in contents(target)] == [2]


def test_columns_of_a_later_file_count_though_earlier_ones_are_alike(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    for number in (1, 2, 3):
        loader.load(rows(OCTOBER, [number]))
    loader.load(rows(NOVEMBER, [4], tag="x"), schema=WIDER)
    names = sorted((tmp_path / "t").rglob("*.parquet"))
    # The file with the column comes last, after several of one schema.
    wide = next(path for path in names if "tag" in pq.read_schema(path).names)
    wide.rename(wide.with_name("zzz.parquet"))
    loader.load(rows(NOVEMBER, [5]))
    assert carriers(tmp_path / "t") == []
    assert target.state().schema["tag"].original == "Tag"
