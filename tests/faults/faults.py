"""What befalls a writer: it dies, its disk is full, its ledger is locked, its storage is gone, its clock goes back."""

import contextlib
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import partial

from tests.faults.places import Place
from tests.faults.points import die

from lakebed import storage
from lakebed.state import database

Strike = Callable[[], object]


@dataclass(frozen=True)
class Fault:
    """`during` surrounds the writer and gives what happens at the point; `mend` is done then, and `after` surrounds the
    next run."""

    during: Callable[[Place], AbstractContextManager[Strike]]
    after: Callable[[Place], AbstractContextManager[object]] = lambda place: nullcontext()
    mend: Callable[[Place], object] = lambda place: None


@contextlib.contextmanager
def killed(place: Place) -> Iterator[Strike]:
    yield die


@contextlib.contextmanager
def disk_full(place: Place) -> Iterator[Strike]:
    """Fills the disk to the last byte: the place must be one of its own."""
    ballast = place.folder / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file:
            size = 1 << 20
            while size:
                try:
                    file.write(b"\0" * size)
                except OSError:
                    size //= 2

    try:
        yield fill
    finally:
        ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def ledger_locked(place: Place) -> Iterator[Strike]:
    """Another process holds the ledger in a transaction that does not end, until this one has given up."""
    database.BUSY_SECONDS = 0
    held: list[sqlite3.Connection] = []

    def lock() -> None:
        other = sqlite3.connect(place.workdir / "ledger.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        held.append(other)

    try:
        yield lock
    finally:
        for other in held:
            other.close()


@contextlib.contextmanager
def clock_back(place: Place) -> Iterator[None]:
    """For this process it is a year ago."""
    turn_back(timedelta(days=365))
    yield


def turn_back(by: timedelta) -> None:
    """In every module that asks for the time."""
    import time

    class AnyDatetime(type):
        """Values that were made before, or elsewhere, are of the class too."""

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, datetime)

    class Earlier(datetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) - by

    real_time, real_ns = time.time, time.time_ns
    time.time = lambda: real_time() - by.total_seconds()
    time.time_ns = lambda: real_ns() - int(by.total_seconds() * 1e9)
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("lakebed", "pyiceberg") and getattr(module, "datetime", None) is datetime:
            module.datetime = Earlier  # type: ignore[attr-defined]


@contextlib.contextmanager
def storage_gone(place: Place) -> Iterator[Strike]:
    """The storage's process is killed; `Fault.mend` starts it again."""
    assert place.stoppable is not None
    number = place.stoppable.process.pid
    # Three minutes of trying again at every request would be an hour.
    few = {"max_retries": 1, "backoff": {"init_backoff": timedelta(milliseconds=10)}}
    storage.S3Store = partial(storage.S3Store, retry_config=few)  # type: ignore[misc, assignment]
    yield lambda: os.kill(number, signal.SIGKILL)


def bring_storage_back(place: Place) -> None:
    assert place.stoppable is not None
    place.stoppable.start_again()


FAULTS = {
    "killed": Fault(killed),
    "the disk is full": Fault(disk_full),
    "the ledger is locked": Fault(ledger_locked),
    "the clock goes back": Fault(killed, clock_back),
    "the storage is gone": Fault(storage_gone, mend=bring_storage_back),
}
