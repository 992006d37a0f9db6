"""Staging copies whole files, once, and never takes half a file for a whole one."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakebed.errors import Changed, MissingFile, StorageError
from lakebed.model import Delivery, SourceFile
from lakebed.samples import SampleSpec, make_sample
from lakebed.source.discover import DiscoverFilters, discover
from lakebed.source.stage import RECORD_SUFFIX, StagedFile, recheck, remove_staged, stage, staging_place, sweep_staged
from lakebed.storage import Copied, Storage


class Copies(Storage):
    """Real storage that remembers what it copied, and can be made to fail half way."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[str] = []
        self.fail_at: int | None = None

    def copy(self, source: str, target: str, *, progress: object = None) -> Copied:
        if self.fail_at is not None and len(self.copied) >= self.fail_at:
            raise StorageError("the network is gone", uri=source)
        self.copied.append(source)
        return super().copy(source, target, progress=progress)  # type: ignore[arg-type]


@pytest.fixture
def delivery(tmp_path: Path) -> Delivery:
    make_sample(tmp_path / "bucket", months=1, rows=400, columns=80, spec=SampleSpec(files=6, restate=False))
    return discover(str(tmp_path / "bucket"), Storage()).deliveries[0]


@pytest.fixture
def overwritten(tmp_path: Path) -> Delivery:
    make_sample(tmp_path / "bucket", months=1, rows=400, columns=80, spec=SampleSpec(layout="overwrite", restate=False))
    return discover(str(tmp_path / "bucket"), Storage()).deliveries[0]


def test_the_copies_are_the_files(tmp_path: Path, delivery: Delivery) -> None:
    arrived: dict[str, int] = {}
    done: list[StagedFile] = []

    def note(file: SourceFile, size_bytes: int) -> None:
        arrived[file.key] = arrived.get(file.key, 0) + size_bytes

    staged = stage(delivery, Storage(), str(tmp_path / "staging"), parallel=3, progress=note, on_file=done.append)
    assert [file.key for file in staged.files] == [file.key for file in delivery.files]
    for copy, file in zip(staged.files, delivery.files, strict=True):
        assert copy.uri.startswith(str(tmp_path / "staging"))
        assert Path(copy.uri).read_bytes() == Path(file.uri).read_bytes()
    assert arrived == {file.key: file.size_bytes for file in delivery.files}
    assert len(done) == 6
    assert not any(each.reused for each in done)
    assert recheck(staged, Storage())


def test_a_second_run_copies_nothing(tmp_path: Path, delivery: Delivery) -> None:
    storage = Copies()
    first = stage(delivery, storage, str(tmp_path / "staging"))
    storage.copied.clear()
    done: list[StagedFile] = []
    assert stage(delivery, storage, str(tmp_path / "staging"), on_file=done.append) == first
    assert storage.copied == []
    assert all(each.reused for each in done)


def test_a_run_that_broke_off_is_resumed(tmp_path: Path, delivery: Delivery) -> None:
    storage = Copies()
    storage.fail_at = 3
    with pytest.raises(StorageError, match="network is gone"):
        stage(delivery, storage, str(tmp_path / "staging"), parallel=1)
    storage.fail_at = None
    stage(delivery, storage, str(tmp_path / "staging"), parallel=1)
    assert sorted(storage.copied) == sorted(file.uri for file in delivery.files)


@pytest.mark.parametrize("damage", ["cut", "altered", "no record", "broken record", "gone"])
def test_what_is_not_surely_whole_is_copied_again(tmp_path: Path, delivery: Delivery, damage: str) -> None:
    storage = Copies()
    staged = stage(delivery, storage, str(tmp_path / "staging"))
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
    stage(delivery, storage, str(tmp_path / "staging"))
    assert storage.copied == [delivery.files[2].uri]
    assert victim.read_bytes() == content


def test_a_newer_source_is_copied_again(tmp_path: Path, overwritten: Delivery) -> None:
    storage = Copies()
    stage(overwritten, storage, str(tmp_path / "staging"))
    storage.copied.clear()
    source = Path(overwritten.files[0].uri)
    content = source.read_bytes()
    source.write_bytes(content)
    os.utime(source, (1_900_000_000, 1_900_000_000))
    again = discover(str(tmp_path / "bucket"), Storage()).deliveries[0]
    stage(again, storage, str(tmp_path / "staging"))
    assert storage.copied == [str(source)]


def test_a_file_written_over_since_discovery_is_refused(tmp_path: Path, overwritten: Delivery) -> None:
    source = Path(overwritten.files[1].uri)
    source.write_bytes(source.read_bytes()[::-1])
    with pytest.raises(Changed, match="written over since it was discovered"):
        stage(overwritten, Storage(), str(tmp_path / "staging"))
    place = Path(staging_place(overwritten, str(tmp_path / "staging")))
    assert not any(path.name.startswith("00002") for path in place.iterdir())


def test_a_file_gone_since_discovery_is_missing(tmp_path: Path, delivery: Delivery) -> None:
    Path(delivery.files[1].uri).unlink()
    with pytest.raises(MissingFile) as missing:
        stage(delivery, Storage(), str(tmp_path / "staging"))
    assert missing.value.files == (delivery.files[1].key,)


def test_recheck_sees_a_new_manifest_and_new_files(overwritten: Delivery) -> None:
    assert recheck(overwritten, Storage())
    data = Path(overwritten.files[0].uri)
    kept = data.read_bytes()
    data.write_bytes(kept + b"x")
    assert not recheck(overwritten, Storage())


@pytest.mark.parametrize("change", ["rewritten", "gone"])
def test_recheck_sees_that_the_manifest_changed(overwritten: Delivery, change: str) -> None:
    assert overwritten.manifest is not None
    manifest = Path(overwritten.manifest)
    if change == "gone":
        manifest.unlink()
    else:
        facts = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**facts, "assemblyId": "20990101T000000Z"}))
    assert not recheck(overwritten, Storage())


def test_odd_names_stay_inside_the_staging_folder(tmp_path: Path, delivery: Delivery) -> None:
    places = set()
    for report in ("..", ".", "a/../../b", "a b", "a_b", "ünï", "a:b", "a" * 3):
        odd = Delivery(
            type(delivery.slice)("p", report, "2026-10"), "../id", "cur", None, (), delivery.files[:1]
        )  # fmt: skip
        staged = stage(odd, Storage(), str(tmp_path / "staging"))
        place = Path(staged.files[0].uri).resolve()
        assert place.is_relative_to((tmp_path / "staging").resolve())
        assert len(place.relative_to((tmp_path / "staging").resolve()).parts) == 5
        places.add(place)
    assert len(places) == 8


def test_old_staging_is_swept_and_kept_deliveries_stay(tmp_path: Path) -> None:
    make_sample(tmp_path / "bucket", months=3, rows=40, columns=80)
    folder = str(tmp_path / "staging")
    deliveries = discover(str(tmp_path / "bucket"), Storage()).deliveries
    for delivery in deliveries:
        stage(delivery, Storage(), folder)
    week = timedelta(days=7)
    assert sweep_staged(folder, Storage(), older_than=week).files == 0
    later = datetime.now(UTC) + timedelta(days=8)
    swept = sweep_staged(folder, Storage(), older_than=week, keep=[(deliveries[0].slice, deliveries[0].id)], now=later)
    assert (swept.deliveries, swept.files) == (2, 8)
    assert swept.size_bytes == sum(delivery.size_bytes for delivery in deliveries[1:])
    left = {Path(entry.uri).parent for entry in Storage().list(folder)}
    assert left == {Path(staging_place(deliveries[0], folder))}
    assert remove_staged(deliveries[0], Storage(), folder).files == 4
    assert list(Path(folder).iterdir()) == []


def test_sweeping_touches_nothing_of_others(tmp_path: Path, delivery: Delivery) -> None:
    folder = tmp_path / "staging"
    stage(delivery, Storage(), str(folder))
    (folder / "notes.txt").write_text("mine")
    shutil.copytree(tmp_path / "bucket", folder / "other")
    before = {entry.uri for entry in Storage().list(str(folder / "other"))}
    later = datetime.now(UTC) + timedelta(days=8)
    sweep_staged(str(folder), Storage(), older_than=timedelta(days=1), keep=[(delivery.slice, delivery.id)], now=later)
    assert (folder / "notes.txt").exists()
    assert {entry.uri for entry in Storage().list(str(folder / "other"))} == before


def test_a_filtered_discovery_stages_only_what_is_wanted(tmp_path: Path) -> None:
    make_sample(tmp_path / "bucket", months=3, rows=10, columns=80)
    wanted = discover(str(tmp_path / "bucket"), Storage(), DiscoverFilters(period="2026-10")).deliveries
    for delivery in wanted:
        stage(delivery, Storage(), str(tmp_path / "staging"))
    assert [path.name for path in (tmp_path / "staging/000123456789/sample-report").iterdir()] == ["2026-10"]
