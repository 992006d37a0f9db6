"""One committer at a time: a lock of the operating system locally, a lease on object stores."""

import contextlib
import fcntl
import json
import os
import secrets
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from lakebed.errors import AlreadyExists, Changed, NotFound, StorageError, TargetError, TargetLocked
from lakebed.retry import Backoff, retry, waiting
from lakebed.storage import Storage, is_local, local_path

WAIT_SECONDS = 120.0
LEASE_SECONDS = 30.0
# Every look at a lease is two requests.
LONGEST_REMOTE_PAUSE_SECONDS = 0.5
LONGEST_OWNER = 200


class Held(Protocol):
    """A lock while it is held."""

    def confirm(self) -> None:
        """Raises TargetLocked if the lock was lost: a machine may have slept longer than its lease."""
        ...


class _ByProcess:
    """The system frees the lock of a process that dies, so it cannot be lost while we run."""

    def confirm(self) -> None:
        return


@contextlib.contextmanager
def exclusive(uri: str, storage: Storage, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[Held]:
    """Holds the lock at this address for the block, or raises TargetLocked after waiting."""
    if is_local(uri):
        with _flock(uri, wait_seconds):
            yield _ByProcess()
        return
    lease = _Lease(uri, storage, wait_seconds)
    lease.acquire()
    try:
        yield lease
    finally:
        lease.release()


def wait_until_free(uri: str, storage: Storage, *, wait_seconds: float = WAIT_SECONDS) -> None:
    """Returns when nobody who lives holds the lock, or after waiting. Leaves no trace."""
    with contextlib.suppress(_Taken):
        look = _free_locally(uri) if is_local(uri) else _free_remotely(uri, storage)
        retry(look, what=f"the lock {uri}", on=_Taken, backoff=_backoff(uri, wait_seconds))


def _free_locally(uri: str) -> Callable[[], None]:
    def look() -> None:
        try:
            descriptor = _open_plain(uri, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as held:
            raise _Taken from held
        finally:
            os.close(descriptor)

    return look


def _free_remotely(uri: str, storage: Storage) -> Callable[[], None]:
    lease = _Lease(uri, storage, 0.0)

    def look() -> None:
        if lease.is_held():
            raise _Taken

    return look


def _backoff(uri: str, wait_seconds: float) -> Backoff:
    backoff = waiting(wait_seconds)
    return backoff if is_local(uri) else replace(backoff, longest_seconds=LONGEST_REMOTE_PAUSE_SECONDS)


def _open_plain(uri: str, flags: int) -> int:
    """The lock file itself: neither what a link leads to nor a pipe or a device. Raises FileNotFoundError."""
    try:
        descriptor = os.open(local_path(uri), flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unusable(uri, f"cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unusable(uri, "is not a plain file")
    return descriptor


def _unusable(uri: str, why: str) -> TargetError:
    return TargetError(
        f"the lock {uri} {why}",
        remedy="It is a plain file that Lakebed makes. Find out who put a link or another thing there, or who owns it.",
    )


@contextlib.contextmanager
def _flock(uri: str, wait_seconds: float) -> Iterator[None]:
    path = local_path(uri)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _open_plain(uri, os.O_RDWR | os.O_CREAT)
    # The file stays when the lock goes: removing it would let two processes lock two files of one name.
    with open(descriptor, "r+", errors="replace") as handle:
        try:
            retry(
                lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB),
                what=f"the lock {uri}",
                on=BlockingIOError,
                backoff=waiting(wait_seconds),
            )
        except BlockingIOError:
            raise _locked(uri, handle.read(LONGEST_OWNER) or "another process", wait_seconds) from None
        handle.truncate(0)
        handle.write(_me())
        handle.flush()
        yield


class _Taken(Exception):
    """Another holds the lease at the moment."""


class _Lease:
    """An object that only one can create, renewed while its owner lives.

    A waiter takes it over when it has not changed for a whole lease by the waiter's own clock, so that clocks of
    different machines need not agree.
    """

    def __init__(self, uri: str, storage: Storage, wait_seconds: float) -> None:
        self._uri = uri
        self._storage = storage
        self._wait_seconds = wait_seconds
        self._etag: str | None = None
        # What another's lease was when it last changed, and when that was.
        self._watched: tuple[str | None, float] = (None, time.monotonic())
        self._guard = threading.Lock()
        self._released = threading.Event()
        self._renewal = threading.Thread(target=self._renew, name="lakebed-lease", daemon=True)

    def acquire(self) -> None:
        backoff = _backoff(self._uri, self._wait_seconds)
        try:
            self._etag = retry(self._take, what=f"the lease {self._uri}", on=_Taken, backoff=backoff)
        except _Taken:
            raise _locked(self._uri, self._owner(), self._wait_seconds) from None
        self._renewal.start()

    def _take(self) -> str | None:
        """Creates the object, or takes over one that was not renewed; returns its ETag."""
        try:
            return self._storage.put(self._uri, self._content(), create_only=True).etag
        except AlreadyExists:
            pass
        if self.is_held() or self._watched[0] is None:
            raise _Taken
        try:
            return self._storage.put(self._uri, self._content(), if_match=self._watched[0]).etag
        except (Changed, NotFound) as moved:
            raise _Taken from moved

    def is_held(self) -> bool:
        """Whether the lease of another was renewed within a lease's time, as far as this one has watched it."""
        try:
            seen = self._storage.head(self._uri).etag
        except NotFound:
            return False
        watched, since = self._watched
        if seen != watched:
            self._watched = (seen, time.monotonic())
            return True
        return time.monotonic() - since < LEASE_SECONDS

    def release(self) -> None:
        self._released.set()
        self._renewal.join()
        if self._mine():
            self._storage.delete([self._uri])

    def confirm(self) -> None:
        with self._guard:
            if not self._mine():
                raise _locked(self._uri, self._owner(), 0.0)

    def _renew(self) -> None:
        while not self._released.wait(LEASE_SECONDS / 3):
            with self._guard:
                try:
                    self._etag = self._storage.put(self._uri, self._content(), if_match=self._etag).etag
                except (Changed, NotFound):
                    return
                except StorageError:
                    # The store did not answer: the lease is still ours until another takes it, and `confirm` asks.
                    continue

    def _mine(self) -> bool:
        try:
            return self._storage.head(self._uri).etag == self._etag
        except NotFound:
            return False

    def _owner(self) -> str:
        try:
            return str(json.loads(self._storage.read(self._uri))["owner"])[:LONGEST_OWNER]
        except (NotFound, ValueError, KeyError, TypeError, RecursionError):
            return "another process"

    def _content(self) -> bytes:
        # The random part makes every renewal another ETag.
        return json.dumps({"owner": _me(), "renewal": secrets.token_hex(8)}).encode()


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _locked(uri: str, owner: str, wait_seconds: float) -> TargetLocked:
    waited = f" after waiting {wait_seconds:.0f} s" if wait_seconds else ""
    return TargetLocked(
        f"{uri} is held by {owner}{waited}",
        remedy="Wait until that process has committed, or end it; its lock goes with it.",
    )
