"""The journal's lock on a real object store: a lease outlives its owner only so long."""

import os
import time

import pytest
from tests.support.s3_server import S3Server
from tests.support.steps import SteppedClock

from lakebed import retry
from lakebed.errors import TargetLocked
from lakebed.storage import Storage
from lakebed.targets.parquet import lock

pytestmark = pytest.mark.server


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
    monkeypatch.setattr(retry, "CLOCK", SteppedClock(when_asleep=await_a_renewal).of_retries())
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
    clock = SteppedClock()
    monkeypatch.setattr(retry, "CLOCK", clock.of_retries())
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
