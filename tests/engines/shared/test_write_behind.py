"""Finished files are synced while others are written, and a disk that fails there is not forgotten."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.engines.shared.write_behind import WriteBehind
from lakebed.errors import LakebedError, StorageError
from lakebed.model import WrittenFile


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def fill() -> None:
        def refuse(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", refuse)

    return fill


def test_a_failure_is_raised_when_the_files_are_done(tmp_path: Path, full_disk: Callable[[], None]) -> None:
    (tmp_path / "one.parquet").write_bytes(b"rows")
    full_disk()
    with pytest.raises(StorageError, match=r"one\.parquet.*No space left"), WriteBehind(str(tmp_path)) as disk:
        disk.add(WrittenFile("one.parquet", 1, 4))


def test_another_failure_is_not_hidden_by_it(tmp_path: Path, full_disk: Callable[[], None]) -> None:
    (tmp_path / "one.parquet").write_bytes(b"rows")
    full_disk()

    def fail_in_between() -> None:
        with WriteBehind(str(tmp_path)) as disk:
            disk.add(WrittenFile("one.parquet", 1, 4))
            raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        fail_in_between()


def test_files_of_object_stores_are_left_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("lakebed.engines.shared.write_behind.sync_file", synced.append)
    for folder in ("s3://bucket/staging", str(tmp_path)):
        with WriteBehind(folder) as disk:
            disk.add(WrittenFile("one.parquet", 1, 4))
    assert synced == [tmp_path / "one.parquet"]


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_full_disk_leaves_the_table_as_it_was(tmp_path: Path, engine: str, full_disk: Callable[[], None]) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "v": ["a", "b"]}), folder / "0.parquet")
    before = (folder / "0.parquet").read_bytes()
    full_disk()
    with pytest.raises(LakebedError, match="No space left"):
        lakebed.merge(pa.table({"id": [2, 3], "v": ["B", "C"]}), str(folder), keys="id", engine=engine)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"0.parquet": before}
