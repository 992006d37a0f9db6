"""The journal on a real object store: killed anywhere, old or new; a lease outlives its owner only so long."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict

import pytest
from tests.support import ROOT
from tests.support.s3_server import S3Server
from tests.support.steps import SteppedClock

from lakebed import retry
from lakebed.errors import TargetLocked
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DELIVERY
from lakebed.retry import Clock
from lakebed.storage import Storage
from lakebed.targets.parquet import lock
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, contents, rows

pytestmark = pytest.mark.server

PROGRAM = """
import json, os, sys
from tests.support import dying
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.storage import Storage
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, rows
settings = StorageSettings(**json.loads(os.environ["SETTINGS"]))
place, name = sys.argv[1:]
def checkpoint(passed):
    if passed.startswith(name):
        os.kill(os.getpid(), 9)
loader = Loader(ParquetTarget(place, Storage(settings), checkpoint=checkpoint), settings, ())
loader.load(rows(OCTOBER, range(100, 103), delivery="new"), replacing=OCTOBER)
"""


def die_at(name: str, place: str, settings: StorageSettings) -> None:
    environment = {
        **os.environ,
        "SETTINGS": json.dumps(asdict(settings.resolved())),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM, place, name], env=environment, check=False)
    assert done.returncode == -9


def step_the_clock(clock: SteppedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both who watches a lease and who waits for it go by this clock, with the longest pauses there are."""
    monkeypatch.setattr(lock, "time", clock)
    monkeypatch.setattr(retry, "CLOCK", Clock(clock.monotonic, clock.sleep, lambda _, longest: longest))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("synced", "old"),
        ("recorded", "new"),
        ("put ", "new"),
        ("replaced", "new"),
        ("delete ", "new"),
        ("retired", "new"),
    ],
)
def test_killed_on_s3(
    step: str, expected: str, s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LEASE_SECONDS", 1.0)
    storage = Storage(s3_server.settings)
    place = f"{s3_bucket}/costs"
    loader = Loader(ParquetTarget(place, storage), s3_server.settings, ())
    prepared = loader.prepare(rows(OCTOBER, range(5), delivery="old"), rows_per_file=1)
    loader.target.commit(prepared.state, prepared.staging, prepared.change)
    die_at(step, place, s3_server.settings)
    before = [(entry.uri, entry.etag) for entry in storage.list(s3_bucket)]
    seen = contents(ParquetTarget(place, storage, read_only=True))
    assert [(entry.uri, entry.etag) for entry in storage.list(s3_bucket)] == before
    table = ParquetTarget(place, storage)
    found = contents(table)
    assert seen == found
    assert {row[DELIVERY] for row in found} == {expected}
    assert len(found) == (5 if expected == "old" else 3)
    # The lock of the dead is taken over, and the next commit goes through.
    Loader(table, s3_server.settings, ()).load(rows(OCTOBER, [7]), replacing=OCTOBER)
    assert [row["id"] for row in contents(table)] == [7]


def test_a_lease_is_held_while_its_owner_lives(
    s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LEASE_SECONDS", 0.3)
    uri = f"{s3_bucket}/lock"
    storage = Storage(s3_server.settings)
    renewals: list[str | None] = []

    def await_a_renewal() -> None:
        while (seen := storage.head(uri).etag) in renewals[-1:]:
            time.sleep(0.01)
        renewals.append(seen)

    # Whoever waits sees the lease renewed within a lease by its own clock, however long that takes here.
    step_the_clock(SteppedClock(when_asleep=await_a_renewal), monkeypatch)
    with lock.exclusive(uri, storage):
        with (
            pytest.raises(TargetLocked, match=f"held by process {os.getpid()} on"),
            lock.exclusive(uri, storage, wait_seconds=1),
        ):
            pass
        assert len(set(renewals)) == len(renewals) >= 1 / 0.3
    with lock.exclusive(uri, storage, wait_seconds=0) as held:
        held.confirm()
    assert not storage.exists(uri)


def test_a_lease_that_is_not_renewed_is_taken_over_after_its_time(
    s3_server: S3Server, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step_the_clock(SteppedClock(), monkeypatch)
    uri = f"{s3_bucket}/lock"
    storage = Storage(s3_server.settings)
    storage.put(uri, b'{"owner": "a process that was killed"}')
    with (
        pytest.raises(TargetLocked, match="held by a process that was killed after waiting 29 s"),
        lock.exclusive(uri, storage, wait_seconds=lock.LEASE_SECONDS - 1),
    ):
        pass
    with lock.exclusive(uri, storage, wait_seconds=lock.LEASE_SECONDS + 1) as held:
        held.confirm()
    assert not storage.exists(uri)


def test_a_lost_lease_is_noticed(s3_server: S3Server, s3_bucket: str) -> None:
    uri = f"{s3_bucket}/lock"
    storage = Storage(s3_server.settings)
    with lock.exclusive(uri, storage) as held:
        storage.put(uri, b'{"owner": "another process"}')
        with pytest.raises(TargetLocked, match="another process"):
            held.confirm()
    # What is not ours is not ours to remove.
    assert storage.exists(uri)
