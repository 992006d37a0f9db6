"""Discovering and staging on a real S3 server, as on a disk."""

import pickle
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.counted_copies import CountedCopies
from tests.support.s3_server import S3Server

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.errors import Changed, LakebedError, MissingFile
from lakebed.kernels.copy import CopiedBytes
from lakebed.model import Delivery
from lakebed.samples import SampleSpec, SampleTruth, make_sample
from lakebed.source.discover import find_deliveries
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import with_columns
from lakebed.source.stage import is_unchanged, remove_old_copies, stage_files
from lakebed.storage import Storage, join

pytestmark = pytest.mark.server


@pytest.fixture
def storage(s3_server: S3Server) -> Storage:
    return Storage(s3_server.settings)


@pytest.fixture
def delivery(tmp_path: Path, storage: Storage, s3_bucket: str) -> Delivery:
    delivered(tmp_path, storage, f"{s3_bucket}/bills", SampleSpec(layout="overwrite", files=3), months=1)
    return find_deliveries(f"{s3_bucket}/bills", storage).deliveries[0]


def upload(storage: Storage, folder: Path, bucket: str) -> None:
    # Manifests come last, as AWS delivers them.
    files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.suffix == ".json")
    for path in files:
        storage.copy(str(path), join(bucket, str(path.relative_to(folder))))


def delivered(tmp_path: Path, storage: Storage, bucket: str, spec: SampleSpec, months: int = 2) -> SampleTruth:
    truth = make_sample(tmp_path / "made", months=months, rows=60, columns=80, spec=spec)
    upload(storage, tmp_path / "made", bucket)
    return truth


@pytest.mark.parametrize(
    "spec",
    [
        SampleSpec(report="odd (report)+*"),
        SampleSpec(layout="overwrite", format="zip"),
        SampleSpec(format="parquet", prefix=""),
        SampleSpec(kind="cur2"),
        SampleSpec(kind="focus", format="parquet"),
    ],
    ids=["cur", "overwritten zip", "parquet", "cur2", "focus parquet"],
)
def test_every_layout_on_s3(tmp_path: Path, s3_server: S3Server, s3_bucket: str, spec: SampleSpec) -> None:
    storage = Storage(s3_server.settings)
    truth = delivered(tmp_path, storage, s3_bucket, spec)
    discovered = find_deliveries(s3_bucket, storage)
    expected = sorted(truth.current, key=lambda each: each.period, reverse=True)
    assert [each.id for each in discovered.deliveries] == [each.delivery for each in expected]
    for delivery, made in zip(discovered.deliveries, expected, strict=True):
        assert delivery.complete
        assert [file.uri for file in delivery.files] == [join(s3_bucket, key) for key in made.files]
        assert tuple(column.original for column in with_columns(delivery, storage).columns) == made.columns
        assert is_unchanged(delivery, storage)


def test_a_prefix_of_the_bucket(tmp_path: Path, s3_server: S3Server, s3_bucket: str) -> None:
    storage = Storage(s3_server.settings)
    delivered(tmp_path, storage, s3_bucket, SampleSpec())
    for source in (f"{s3_bucket}/billing", f"{s3_bucket}/billing/sample-report/"):
        discovered = find_deliveries(source, storage, DiscoverFilters(since="2026-10"))
        assert [each.slice.period for each in discovered.deliveries] == ["2026-10"]
        assert discovered.deliveries[0].complete


@pytest.mark.parametrize("to", ["disk", "s3"])
def test_staging_from_s3(tmp_path: Path, s3_server: S3Server, s3_bucket: str, to: str) -> None:
    storage = CountedCopies(s3_server.settings)
    delivered(tmp_path, storage, s3_bucket, SampleSpec(restate=False), months=1)
    (delivery,) = find_deliveries(s3_bucket, storage).deliveries
    folder = str(tmp_path / "staging") if to == "disk" else s3_server.new_bucket("staging") + "/work"
    first = stage_files(delivery, storage, folder)
    staged = first.delivery
    for copy, file in zip(staged.files, delivery.files, strict=True):
        assert storage.read(copy.uri) == storage.read(file.uri)
    storage.copied.clear()
    assert stage_files(delivery, storage, folder) == first
    assert storage.copied == []
    assert is_unchanged(staged, storage)
    storage.put(staged.files[0].uri, storage.read(staged.files[0].uri)[:-5])
    stage_files(delivery, storage, folder)
    assert storage.copied == [delivery.files[0].uri]


def test_a_month_written_over_while_it_is_read(tmp_path: Path, s3_server: S3Server, s3_bucket: str) -> None:
    storage = Storage(s3_server.settings)
    delivered(tmp_path, storage, s3_bucket, SampleSpec(layout="overwrite", restate=False), months=1)
    (before,) = find_deliveries(s3_bucket, storage).deliveries
    assert before.overwritten_in_place
    # S3 tells times in whole seconds.
    time.sleep(1.1)
    storage.put(before.files[1].uri, b"the next delivery has begun")
    assert not is_unchanged(before, storage)
    with pytest.raises(Changed, match="written over"):
        stage_files(before, storage, str(tmp_path / "staging"))
    assert any("newer than their manifest" in warning for warning in find_deliveries(s3_bucket, storage).warnings)


def test_sweeping_on_s3(tmp_path: Path, s3_server: S3Server, s3_bucket: str) -> None:
    storage = Storage(s3_server.settings)
    delivered(tmp_path, storage, s3_bucket, SampleSpec(restate=False), months=1)
    (delivery,) = find_deliveries(s3_bucket, storage).deliveries
    folder = s3_server.new_bucket("staging")
    stage_files(delivery, storage, folder)
    later = datetime.now(UTC) + timedelta(days=2)
    assert remove_old_copies(folder, storage, older_than=timedelta(days=1), now=later).files == 4
    assert list(storage.list(folder)) == []


def test_an_engine_s_workers_copy_what_is_not_there_yet(
    storage: Storage, delivery: Delivery, s3_server: S3Server, s3_bucket: str
) -> None:
    folder = f"{s3_bucket}/staging"
    copied: list[str] = []

    def copy_all(pairs: Sequence[tuple[str, str]]) -> Sequence[CopiedBytes | LakebedError]:
        copied.extend(source for source, _ in pairs)
        return [pickle.loads(pickle.dumps(one)) for one in ArrowEngine(s3_server.settings).copy(pairs)]

    here = stage_files(delivery, storage, f"{s3_bucket}/here")
    there = stage_files(delivery, storage, folder, copy_all=copy_all)
    assert [(one.key, one.sha256, one.size_bytes) for one in there.copies] == [
        (one.key, one.sha256, one.size_bytes) for one in here.copies
    ]
    assert copied == [file.uri for file in delivery.files]
    assert stage_files(delivery, storage, folder, copy_all=copy_all) == there
    assert len(copied) == len(delivery.files)


@pytest.mark.parametrize("what", ["written over", "gone"])
def test_what_changed_while_workers_copied_it_is_refused(
    storage: Storage, delivery: Delivery, s3_server: S3Server, s3_bucket: str, what: str
) -> None:
    folder, victim = f"{s3_bucket}/staging", delivery.files[0]

    def copy_all(pairs: Sequence[tuple[str, str]]) -> Sequence[CopiedBytes | LakebedError]:
        found = ArrowEngine(s3_server.settings).copy(pairs) if what == "written over" else None
        if what == "written over":
            storage.put(victim.uri, b"something else")
        else:
            storage.delete([victim.uri])
        return found or ArrowEngine(s3_server.settings).copy(pairs)

    before = storage.read(victim.uri)
    try:
        with pytest.raises(Changed if what == "written over" else MissingFile):
            stage_files(delivery, storage, folder, copy_all=copy_all)
    finally:
        storage.put(victim.uri, before)
