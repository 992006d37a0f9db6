"""A worker's next task reads no archive again, and everything can still be imported from them."""

import importlib
import sys
import zipfile
import zipimport
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from lakebed.kernels.archive_cache import SparingArchives

ARCHIVES = ("pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.1.4.jar", "lakebed-kernels-0123456789abcdef.zip")
THEIRS = ("deps.zip", "my-pyspark.zip", "pyspark.zip.zip")


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Archives on the path, from each of which a package and a module in it are imported."""
    places = [tmp_path / name for name in (*ARCHIVES, *THEIRS)]
    before = dict(sys.path_importer_cache)
    monkeypatch.setattr(sys, "path_importer_cache", before)
    for number, place in enumerate(places):
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr(f"held_{number}/__init__.py", "")
            archive.writestr(f"held_{number}/first.py", "")
            archive.writestr(f"held_{number}/second.py", "value = 2")
        monkeypatch.syspath_prepend(str(place))
        for module in ("", ".first", ".second"):
            monkeypatch.delitem(sys.modules, f"held_{number}{module}", raising=False)
        importlib.import_module(f"held_{number}.first")
    return places


def importers(folder: Path) -> set[str]:
    found = sys.path_importer_cache.values()
    archives = [one.archive for one in found if isinstance(one, zipimport.zipimporter)]
    return {Path(one).name for one in archives if Path(one).parent == folder}


def test_only_importers_of_archives_that_never_change_are_forgotten(archives: list[Path]) -> None:
    def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            yield batch

    folder = archives[0].parent
    assert importers(folder) == {*ARCHIVES, *THEIRS}
    batch = pa.RecordBatch.from_pydict({"a": [1]})
    assert list(SparingArchives(doubled)(iter([batch]))) == [batch, batch]
    assert importers(folder) == set(THEIRS)
    importlib.invalidate_caches()
    for number in range(len(archives)):
        assert importlib.import_module(f"held_{number}.second").value == 2


def test_so_it_is_after_a_task_that_failed_or_was_left(archives: list[Path]) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        raise OSError("the storage failed")

    batch = pa.RecordBatch.from_pydict({"a": [1]})
    with pytest.raises(OSError, match="the storage failed"):
        list(SparingArchives(fail)(iter([batch])))
    assert importers(archives[0].parent) == set(THEIRS)
