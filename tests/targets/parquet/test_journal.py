"""The lock and the stagings of a dataset on a local disk."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.steps import SteppedClock

from lakebed import retry
from lakebed.errors import TargetError, TargetLocked
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.retry import Clock
from lakebed.storage import Storage
from lakebed.targets.parquet.journal import Journal
from lakebed.targets.parquet.lock import exclusive
from lakebed.targets.parquet.record import Put, Record
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, rows

STAGES_AND_DIES = """
import os, sys
from lakebed.storage import Storage
from lakebed.targets.parquet.journal import Journal
print(Journal(sys.argv[1], Storage()).begin(), flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_lock_names_its_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SteppedClock()
    monkeypatch.setattr(retry, "CLOCK", Clock(clock.monotonic, clock.sleep))
    uri = str(tmp_path / "lock")
    with (
        exclusive(uri, Storage()),
        pytest.raises(TargetLocked, match=f"held by process {os.getpid()} on .* after waiting 7 s"),
        exclusive(uri, Storage(), wait_seconds=7),
    ):
        pass
    assert clock.now == pytest.approx(7)
    with exclusive(uri, Storage(), wait_seconds=0):
        pass


def test_a_commit_waits_for_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    prepared = Loader(target, StorageSettings(), ()).prepare(rows(OCTOBER, [1]))
    impatient = ParquetTarget(str(tmp_path / "t"), wait_seconds=0)
    with ExitStack() as holding:
        # Whoever sleeps until the lock is free finds it freed.
        clock = SteppedClock(when_asleep=holding.close)
        monkeypatch.setattr(retry, "CLOCK", Clock(clock.monotonic, clock.sleep))
        holding.enter_context(exclusive(str(tmp_path / ".t.txn/lock"), Storage()))
        with pytest.raises(TargetLocked):
            impatient.commit(prepared.state, prepared.staging, prepared.change)
        assert clock.now == 0
        target.commit(prepared.state, prepared.staging, prepared.change)
        assert 0 < clock.now < 1
    assert target.state().rows == 1


def test_living_stagings_stay_and_dead_ones_go(tmp_path: Path) -> None:
    dataset = str(tmp_path / "t")
    dead = subprocess.run(
        [sys.executable, "-c", STAGES_AND_DIES, dataset], stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()
    assert (tmp_path / ".t.txn" / dead / "owner").exists()
    first, second = Journal(dataset, Storage()), Journal(dataset, Storage())
    living = first.begin()
    other = second.begin()
    assert {path.name for path in (tmp_path / ".t.txn").iterdir()} == {living, other}
    first.abandon(living)
    second.abandon(other)
    assert list(tmp_path.iterdir()) == []


def test_a_file_shorter_than_its_writer_said_is_not_committed(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "t"), Storage())
    id_ = journal.begin()
    (Path(journal.staging(id_)) / "a.parquet").write_bytes(b"torn")
    with pytest.raises(TargetError, match="has 4 bytes, its writer said 5"):
        journal.commit(id_, [Put("a.parquet", "a.parquet", 5)], [], verify=lambda: None)
    assert not (tmp_path / "t").exists()


def test_records_round_trip_and_strangers_are_refused(tmp_path: Path) -> None:
    record = Record("20261001T120000-0123abcd", "pending", (Put("a", "b/ü.parquet", 1, "crc32:00000000"),))
    assert Record.from_bytes(record.to_bytes(uri="u"), uri="u") == record
    for wrong in (b"", b"{}", b"[]", b'{"format": 1}'):
        with pytest.raises(TargetError, match="u is not a commit record"):
            Record.from_bytes(wrong, uri="u")
    with pytest.raises(TargetError, match="Upgrade"):
        Record.from_bytes(b'{"format": 2}', uri="u")
