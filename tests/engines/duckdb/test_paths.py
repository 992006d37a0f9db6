"""PathValidator and IncrementalFileManager, as the specification names them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.datasets import IncrementalFileManager, PathValidator


@pytest.mark.parametrize(
    "path",
    [
        "/lake/table/part-0.parquet",
        "s3://bucket/year=2026/month=01/a_b-c.parquet",
        "C:/data/x.parquet",
        "/with space/100%+@,()~#.parquet",
        "/größe/数据/مجلد/दिन.parquet",
    ],
)
def test_real_paths_are_allowed(path: str) -> None:
    PathValidator.validate_path_for_sql(path)
    assert PathValidator.escape_for_sql(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/x'; DROP TABLE t; --",
        '/x".parquet',
        "/x;y",
        "/x--y",
        "/x/*y*/",
        "/lake/../etc/passwd",
        "../x",
        "/x\x00y",
        "/x\ny",
        "/x\u202ey",
        "/x\u200by",
        "/x\ufeffy",
    ],
)
def test_dangerous_paths_are_refused(path: str) -> None:
    with pytest.raises(ValueError):
        PathValidator.validate_path_for_sql(path)
    with pytest.raises(ValueError):
        PathValidator.escape_for_sql(path)


def test_two_dots_inside_a_name_are_no_climb() -> None:
    assert PathValidator.escape_for_sql("/lake/part..0.parquet") == "/lake/part..0.parquet"


def make(folder: Path, name: str, value: int) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"v": [value]}), folder / name)
    return str(folder / name)


def values(folder: Path) -> list[int]:
    return sorted(pq.read_table(path).column("v")[0].as_py() for path in folder.glob("*.parquet"))


def test_files_are_replaced_together(tmp_path: Path) -> None:
    dataset = tmp_path / "t"
    originals = [make(dataset, f"{n}.parquet", n) for n in range(3)]
    manager = IncrementalFileManager(dataset)
    staging = Path(manager.create_staging_directory())
    assert dataset not in staging.parents
    staged = [make(staging, f"new-{n}.parquet", n + 10) for n in range(2)]
    assert values(dataset) == [0, 1, 2]
    manager.atomic_replace_files(staged, originals)
    assert values(dataset) == [10, 11]
    manager.cleanup_staging_files()
    assert not staging.exists()


def test_what_is_staged_and_not_wanted_is_removed(tmp_path: Path) -> None:
    dataset = tmp_path / "t"
    make(dataset, "0.parquet", 0)
    manager = IncrementalFileManager(dataset)
    staging = Path(manager.create_staging_directory())
    make(staging, "new.parquet", 1)
    manager.cleanup_staging_files()
    assert not staging.exists()
    assert values(dataset) == [0]
    manager.cleanup_staging_files()


def test_a_file_outside_of_the_dataset_is_refused(tmp_path: Path) -> None:
    manager = IncrementalFileManager(tmp_path / "t")
    staged = make(Path(manager.create_staging_directory()), "new.parquet", 1)
    with pytest.raises(ValueError, match="does not lie in the dataset"):
        manager.atomic_replace_files([staged], [str(tmp_path / "elsewhere.parquet")])
