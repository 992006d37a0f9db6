"""Which files a source has, and what their names and folders say."""

from pathlib import Path

import pytest

from lakebed.errors import SourceError
from lakebed.source.files import find_files, name_of
from lakebed.storage import Storage


def find(source: Path | str, **options: str) -> dict[str, tuple[str, str, tuple[tuple[str, str | None], ...]]]:
    found = find_files(str(source), Storage(), **options)  # type: ignore[arg-type]
    return {Path(one.uri).name: (one.content, one.compression, one.folders) for one in found.files}


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_names_say_what_files_are(tmp_path: Path) -> None:
    put(tmp_path, "a.CSV", "b.tsv.gz", "c.jsonl", "d.ndjson.gz", "e.parquet", "f.csv.zip", "g.json")
    assert {name: one[:2] for name, one in find(tmp_path).items()} == {
        "a.CSV": ("csv", "none"),
        "b.tsv.gz": ("csv", "gzip"),
        "c.jsonl": ("json", "none"),
        "d.ndjson.gz": ("json", "gzip"),
        "e.parquet": ("parquet", "none"),
        "f.csv.zip": ("csv", "zip"),
        "g.json": ("json", "none"),
    }


def test_a_format_is_taken_for_all(tmp_path: Path) -> None:
    put(tmp_path, "a", "b.log.gz", "_c", ".d", "e/_f/g")
    assert {name: one[:2] for name, one in find(tmp_path, format_="json").items()} == {
        "a": ("json", "none"),
        "b.log.gz": ("json", "gzip"),
    }


def test_parquet_is_not_unpacked(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet.gz")
    with pytest.raises(SourceError, match=r"a\.parquet\.gz.*gzip"):
        find(tmp_path)


def test_folders_are_columns(tmp_path: Path) -> None:
    put(tmp_path, "x/day=2026-11-01/who=a%2Fb/f.csv", "x/day=__HIVE_DEFAULT_PARTITION__/=/g.csv", "x/day=/h.csv")
    found = find(tmp_path / "x")
    assert found["f.csv"][2] == (("day", "2026-11-01"), ("who", "a/b"))
    assert found["g.csv"][2] == (("day", None),)
    assert found["h.csv"][2] == (("day", None),)
    # However the source is given, a file is the same.
    assert find(tmp_path / "x" / "day=2026-11-01")["f.csv"][2] == found["f.csv"][2]
    assert find(tmp_path / "x/*/who=*/*.csv")["f.csv"][2] == found["f.csv"][2]
    assert find(tmp_path / "x/day=2026-11-01/who=a%2Fb/f.csv")["f.csv"][2] == found["f.csv"][2]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.csv", {"a.csv", "b.csv"}),
        ("[!a].csv", {"b.csv"}),
        ("?.csv", {"a.csv", "b.csv"}),
        ("**/*.csv", {"a.csv", "b.csv", "c.csv", "d.csv"}),
        ("*/c.csv", {"c.csv"}),
        ("in*", {"c.csv", "d.csv"}),
        ("inner/**", {"c.csv", "d.csv"}),
    ],
)
def test_patterns(pattern: str, expected: set[str], tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "b.csv", "inner/c.csv", "inner/most/d.csv", "b.csvx")
    assert set(find(tmp_path / pattern)) - {"b.csvx"} == expected


def test_a_folder_that_looks_like_a_pattern_is_a_folder(tmp_path: Path) -> None:
    put(tmp_path, "in [1]/a.csv", "in 1/b.csv")
    assert set(find(tmp_path / "in [1]")) == {"a.csv"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("exports/", "exports"),
        ("s3://bucket/prefix/orders.csv.gz", "orders"),
        ("exports/day=2026-11-01", "exports"),
        ("exports/*.csv", "exports"),
        ("s3://bucket/events/day=*/", "events"),
    ],
)
def test_a_table_is_named_after_its_source(source: str, expected: str) -> None:
    assert name_of(source) == expected
