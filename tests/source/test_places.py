"""Where the files of a manifest lie, wherever the mirror of its bucket begins."""

from collections.abc import Sequence

import pytest

from lakebed.source.manifest import Manifest
from lakebed.source.places import locate
from lakebed.storage import Entry

MONTH = "20261001-20261101"
ID = "20261103T053621Z"
KEYS = tuple(f"exports/bill/{MONTH}/{ID}/bill-{number}.csv.gz" for number in (1, 2))


def found(manifest: str, *files: str, keys: Sequence[str] = KEYS) -> list[str | None]:
    """Where the keys of a manifest at this place are, among these files."""
    read = Manifest(manifest, None, None, "cur", ID, "1", "bill", "2026-10", (), tuple(keys), (), None)
    entries = locate(read, {file: Entry(file, 1, None, None) for file in files})
    return [entry.uri if entry is not None else None for entry in entries]


# The mirror begins at the bucket, at its prefix, at the report, at the month or at the delivery.
STARTS = ["/".join(KEYS[0].split("/")[skipped:-1]) for skipped in range(5)]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("root", ["", "/lake", "/lake/deep", "s3://bucket", "s3://bucket/some/prefix"])
def test_files_are_found_beside_their_manifest_wherever_the_mirror_begins(root: str, start: str) -> None:
    folder = "/".join(filter(None, [root, start])) if root else f"/{start}".rstrip("/")
    files = [f"{folder}/bill-1.csv.gz", f"{folder}/bill-2.csv.gz"]
    assert found(f"{folder}/bill-Manifest.json", *files) == files


@pytest.mark.parametrize("root", ["", "/lake", "/lake/deep/er"])
def test_a_manifest_of_the_month_finds_the_files_of_its_delivery(root: str) -> None:
    files = [f"{root}/{key}" for key in KEYS]
    assert found(f"{root}/exports/bill/{MONTH}/bill-Manifest.json", *files) == files
    lost = f"{root}/exports/bill/{MONTH}/bill-1.csv.gz"
    assert found(f"{root}/exports/bill/{MONTH}/bill-Manifest.json", lost) == [None, None]


def test_of_several_places_the_nearest_counts_and_holds_all_files() -> None:
    near, far = f"/a/exports/bill/{MONTH}/exports/bill/{MONTH}/{ID}", f"/a/exports/bill/{MONTH}/{ID}"
    manifest = f"/a/exports/bill/{MONTH}/bill-Manifest.json"
    assert found(manifest, f"{far}/bill-1.csv.gz", f"{far}/bill-2.csv.gz") == [
        f"{far}/bill-1.csv.gz",
        f"{far}/bill-2.csv.gz",
    ]
    assert found(manifest, f"{far}/bill-1.csv.gz", f"{near}/bill-2.csv.gz") == [f"{far}/bill-1.csv.gz", None]


def test_a_file_of_another_month_or_delivery_is_never_taken() -> None:
    manifest = f"/a/exports/bill/{MONTH}/bill-Manifest.json"
    for elsewhere in (f"/a/exports/bill/20260901-20261001/{ID}", "/a/exports/bill", f"/a/exports/bill/{MONTH}/other"):
        assert found(manifest, f"{elsewhere}/bill-1.csv.gz") == [None, None], elsewhere


def test_a_file_beside_its_manifest_is_its_file() -> None:
    assert found("/a/mine/bill-Manifest.json", "/a/mine/bill-1.csv.gz") == ["/a/mine/bill-1.csv.gz", None]
