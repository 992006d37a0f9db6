"""Staging copies whole files, once, and never takes half a file for a whole one."""

import hashlib
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.counted_copies import CountedCopies

from lakebed.errors import Changed, MissingFile, StorageError
from lakebed.model import Delivery, SourceFile
from lakebed.samples import SampleSpec, make_sample
from lakebed.source.discover import find_deliveries
from lakebed.source.filters import DiscoverFilters
from lakebed.source.stage import (
    RECORD_SUFFIX,
    is_unchanged,
    remove_copies,
    remove_old_copies,
    stage_files,
    staging_place,
)
from lakebed.storage import Storage


@pytest.fixture
def delivery(tmp_path: Path) -> Delivery:
    make_sample(tmp_path / "bucket", months=1, rows=400, columns=80, spec=SampleSpec(files=6, restate=False))
    return find_deliveries(str(tmp_path / "bucket"), Storage()).deliveries[0]


@pytest.fixture
def overwritten(tmp_path: Path) -> Delivery:
    make_sample(tmp_path / "bucket", months=1, rows=400, columns=80, spec=SampleSpec(layout="overwrite", restate=False))
    return find_deliveries(str(tmp_path / "bucket"), Storage()).deliveries[0]


def test_the_copies_are_the_files(tmp_path: Path, delivery: Delivery) -> None:
    arrived: dict[str, int] = {}

    def note(file: SourceFile, size_bytes: int) -> None:
        arrived[file.key] = arrived.get(file.key, 0) + size_bytes

    result = stage_files(delivery, Storage(), str(tmp_path / "staging"), parallel=3, progress=note)
    staged = result.delivery
    assert [file.key for file in staged.files] == [file.key for file in delivery.files]
    for copy, file in zip(staged.files, delivery.files, strict=True):
        assert copy.uri.startswith(str(tmp_path / "staging"))
        assert Path(copy.uri).read_bytes() == Path(file.uri).read_bytes()
    assert arrived == {file.key: file.size_bytes for file in delivery.files}
    for kept, file in zip(result.copies, staged.files, strict=True):
        assert (kept.key, kept.uri, kept.size_bytes) == (file.key, file.uri, file.size_bytes)
        assert kept.sha256 == hashlib.sha256(Path(file.uri).read_bytes()).hexdigest()
    assert is_unchanged(staged, Storage())


def test_a_second_run_copies_nothing(tmp_path: Path, delivery: Delivery) -> None:
    storage = CountedCopies()
    first = stage_files(delivery, storage, str(tmp_path / "staging"))
    storage.copied.clear()
    assert stage_files(delivery, storage, str(tmp_path / "staging")) == first
    assert storage.copied == []


def test_a_run_that_broke_off_is_resumed(tmp_path: Path, delivery: Delivery) -> None:
    storage = CountedCopies()
    storage.fail_at = 3
    with pytest.raises(StorageError, match="network is gone"):
        stage_files(delivery, storage, str(tmp_path / "staging"), parallel=1)
    storage.fail_at = None
    stage_files(delivery, storage, str(tmp_path / "staging"), parallel=1)
    assert sorted(storage.copied) == sorted(file.uri for file in delivery.files)


@pytest.mark.parametrize("damage", ["cut", "altered", "no record", "broken record", "gone"])
def test_what_is_not_surely_whole_is_copied_again(tmp_path: Path, delivery: Delivery, damage: str) -> None:
    storage = CountedCopies()
    staged = stage_files(delivery, storage, str(tmp_path / "staging")).delivery
    storage.copied.clear()
    victim = Path(staged.files[2].uri)
    content = victim.read_bytes()
    record = Path(f"{victim}{RECORD_SUFFIX}")
    if damage == "cut":
        victim.write_bytes(content[:-10])
    elif damage == "altered":
        victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "no record":
        record.unlink()
    elif damage == "broken record":
        record.write_text('{"source": "')
    else:
        victim.unlink()
    stage_files(delivery, storage, str(tmp_path / "staging"))
    assert storage.copied == [delivery.files[2].uri]
    assert victim.read_bytes() == content


def test_a_newer_source_is_copied_again(tmp_path: Path, overwritten: Delivery) -> None:
    storage = CountedCopies()
    stage_files(overwritten, storage, str(tmp_path / "staging"))
    storage.copied.clear()
    source = Path(overwritten.files[0].uri)
    content = source.read_bytes()
    source.write_bytes(content)
    os.utime(source, (1_900_000_000, 1_900_000_000))
    again = find_deliveries(str(tmp_path / "bucket"), Storage()).deliveries[0]
    stage_files(again, storage, str(tmp_path / "staging"))
    assert storage.copied == [str(source)]


def test_a_file_written_over_since_discovery_is_refused(tmp_path: Path, overwritten: Delivery) -> None:
    source = Path(overwritten.files[1].uri)
    source.write_bytes(source.read_bytes()[::-1])
    with pytest.raises(Changed, match="written over since it was discovered"):
        stage_files(overwritten, Storage(), str(tmp_path / "staging"))
    place = Path(staging_place(overwritten, str(tmp_path / "staging")))
    assert not any(path.name.startswith("00002") for path in place.iterdir())


def test_a_file_gone_since_discovery_is_missing(tmp_path: Path, delivery: Delivery) -> None:
    Path(delivery.files[1].uri).unlink()
    with pytest.raises(MissingFile) as missing:
        stage_files(delivery, Storage(), str(tmp_path / "staging"))
    assert missing.value.files == (delivery.files[1].key,)


def test_a_check_sees_a_new_manifest_and_new_files(overwritten: Delivery) -> None:
    assert is_unchanged(overwritten, Storage())
    data = Path(overwritten.files[0].uri)
    kept = data.read_bytes()
    data.write_bytes(kept + b"x")
    assert not is_unchanged(overwritten, Storage())


@pytest.mark.parametrize("change", ["rewritten", "gone"])
def test_a_check_sees_that_the_manifest_changed(overwritten: Delivery, change: str) -> None:
    assert overwritten.manifest is not None
    manifest = Path(overwritten.manifest)
    if change == "gone":
        manifest.unlink()
    else:
        facts = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**facts, "assemblyId": "20990101T000000Z"}))
    assert not is_unchanged(overwritten, Storage())


def test_odd_names_stay_inside_the_staging_folder(tmp_path: Path, delivery: Delivery) -> None:
    places = set()
    for report in ("..", ".", "a/../../b", "a b", "a_b", "ünï", "a:b", "a" * 3):
        odd = Delivery(
            type(delivery.slice)("p", report, "2026-10"), "../id", "cur", None, (), delivery.files[:1]
        )  # fmt: skip
        staged = stage_files(odd, Storage(), str(tmp_path / "staging")).delivery
        place = Path(staged.files[0].uri).resolve()
        assert place.is_relative_to((tmp_path / "staging").resolve())
        assert len(place.relative_to((tmp_path / "staging").resolve()).parts) == 5
        places.add(place)
    assert len(places) == 8


def test_old_staging_is_swept_and_kept_deliveries_stay(tmp_path: Path) -> None:
    make_sample(tmp_path / "bucket", months=3, rows=40, columns=80)
    folder = str(tmp_path / "staging")
    deliveries = find_deliveries(str(tmp_path / "bucket"), Storage()).deliveries
    for delivery in deliveries:
        stage_files(delivery, Storage(), folder)
    week = timedelta(days=7)
    assert remove_old_copies(folder, Storage(), older_than=week).files == 0
    later = datetime.now(UTC) + timedelta(days=8)
    swept = remove_old_copies(
        folder, Storage(), older_than=week, keep=[(deliveries[0].slice, deliveries[0].id)], now=later
    )
    assert (swept.deliveries, swept.files) == (2, 8)
    assert swept.size_bytes == sum(delivery.size_bytes for delivery in deliveries[1:])
    left = {Path(entry.uri).parent for entry in Storage().list(folder)}
    assert left == {Path(staging_place(deliveries[0], folder))}
    assert remove_copies(deliveries[0], Storage(), folder).files == 4
    assert list(Path(folder).iterdir()) == []


def test_sweeping_touches_nothing_of_others(tmp_path: Path, delivery: Delivery) -> None:
    folder = tmp_path / "staging"
    stage_files(delivery, Storage(), str(folder))
    (folder / "notes.txt").write_text("mine")
    shutil.copytree(tmp_path / "bucket", folder / "other")
    before = {entry.uri for entry in Storage().list(str(folder / "other"))}
    later = datetime.now(UTC) + timedelta(days=8)
    remove_old_copies(
        str(folder), Storage(), older_than=timedelta(days=1), keep=[(delivery.slice, delivery.id)], now=later
    )
    assert (folder / "notes.txt").exists()
    assert {entry.uri for entry in Storage().list(str(folder / "other"))} == before


def test_a_filtered_discovery_stages_only_what_is_wanted(tmp_path: Path) -> None:
    make_sample(tmp_path / "bucket", months=3, rows=10, columns=80)
    wanted = find_deliveries(str(tmp_path / "bucket"), Storage(), DiscoverFilters(period="2026-10")).deliveries
    for delivery in wanted:
        stage_files(delivery, Storage(), str(tmp_path / "staging"))
    assert [path.name for path in (tmp_path / "staging/000123456789/sample-report").iterdir()] == ["2026-10"]
