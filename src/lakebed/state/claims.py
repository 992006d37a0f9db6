"""Claims: two runs never work on one thing at once, and a crashed run's claim is taken over.

On one machine the operating system knows whether the holder lives. From another machine its heartbeat tells: a claim
that was not renewed for LEASE is free.
"""

import os
import secrets
import socket
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import TracebackType

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from lakebed.errors import ClaimHeld, StateError
from lakebed.state.database import transaction
from lakebed.state.records import ClaimRecord
from lakebed.state.tables import CLAIMS

LEASE = timedelta(seconds=90)
HEARTBEAT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, distinct from every other one that ever ran."""

    owner: str
    host: str
    pid: int
    process_started: str

    @classmethod
    def this_process(cls) -> "Holder":
        pid = os.getpid()
        return cls(secrets.token_hex(8), _host(), pid, _started(pid))

    def certainly_dead(self) -> bool:
        """On this host, and no longer there, or its pid belongs to another process by now."""
        if self.host != _host():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        if _is_zombie(self.pid):
            return True
        return bool(self.process_started) and _started(self.pid) != self.process_started


class Claim:
    """Held while its `with` block runs; a thread keeps it fresh."""

    def __init__(self, engine: Engine, resource: str, holder: Holder) -> None:
        self.resource = resource
        self.holder = holder
        self._engine = engine
        self._released = threading.Event()
        self._heart = threading.Thread(target=self._beat, name=f"claim {resource}", daemon=True)

    def __enter__(self) -> "Claim":
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Gives the claim back; a claim that was taken over meanwhile stays with its new holder."""
        self._released.set()
        if self._heart.is_alive():
            self._heart.join()
        with transaction(self._engine) as connection:
            connection.execute(delete(CLAIMS).where(self._is_ours()))

    def require(self, connection: Connection) -> None:
        """Raises unless the claim is still ours, inside the transaction that relies on it."""
        row = connection.execute(select(CLAIMS).where(CLAIMS.c.resource == self.resource).with_for_update()).first()
        if row is None or row.owner != self.holder.owner:
            raise StateError(
                f"the claim to {self.resource} was lost: this process stood still for longer than {LEASE.seconds} s",
                remedy="Run again: what another run has finished meanwhile will be skipped.",
            )

    def _is_ours(self) -> ColumnElement[bool]:
        return (CLAIMS.c.resource == self.resource) & (CLAIMS.c.owner == self.holder.owner)

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT_SECONDS):
            try:
                with transaction(self._engine) as connection:
                    connection.execute(update(CLAIMS).where(self._is_ours()).values(seen_at=datetime.now(UTC)))
            except StateError:
                # The database was busy or away for a moment: the next beat tries again, `require` has the last word.
                continue


def acquire(engine: Engine, resource: str) -> Claim:
    """The claim to a resource, or ClaimHeld with who has it."""
    holder = Holder.this_process()
    now = datetime.now(UTC)
    values = {
        "owner": holder.owner,
        "host": holder.host,
        "pid": holder.pid,
        "process_started": holder.process_started,
        "claimed_at": now,
        "seen_at": now,
    }
    while True:
        with transaction(engine) as connection:
            row = connection.execute(select(CLAIMS).where(CLAIMS.c.resource == resource)).first()
            if row is None:
                try:
                    with connection.begin_nested():
                        connection.execute(insert(CLAIMS).values(resource=resource, **values))
                except IntegrityError:
                    continue  # another process was faster: see which
                return Claim(engine, resource, holder)
            if not _is_free(row, now):
                raise ClaimHeld(
                    resource=resource, host=row.host, pid=row.pid, since=f"{row.claimed_at:%Y-%m-%d %H:%M:%S} UTC"
                )
            # Compare and swap: of several who find the same dead holder, one gets the claim.
            taken = connection.execute(
                update(CLAIMS).where((CLAIMS.c.resource == resource) & (CLAIMS.c.owner == row.owner)).values(values)
            )
            if taken.rowcount == 1:
                return Claim(engine, resource, holder)


def all_claims(connection: Connection) -> tuple[ClaimRecord, ...]:
    """Every claim that was not given back, the oldest first."""
    now = datetime.now(UTC)
    return tuple(
        ClaimRecord(row.resource, row.host.partition("/")[0], row.pid, row.claimed_at, alive=not _is_free(row, now))
        for row in connection.execute(select(CLAIMS).order_by(CLAIMS.c.claimed_at, CLAIMS.c.resource))
    )


def live_owners(connection: Connection) -> frozenset[str]:
    """The owners of claims that are still held."""
    now = datetime.now(UTC)
    return frozenset(row.owner for row in connection.execute(select(CLAIMS)) if not _is_free(row, now))


def _is_free(row: Row[tuple[object, ...]], now: datetime) -> bool:
    holder = Holder(row.owner, row.host, row.pid, row.process_started)
    if holder.host == _host():
        return holder.certainly_dead()
    return bool(row.seen_at + LEASE < now)


@cache
def _host() -> str:
    """This machine since its last start: after a restart the pids of before mean nothing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        boot = ""
    return f"{socket.gethostname()}/{boot}" if boot else socket.gethostname()


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty where the system does not say."""
    fields = _stat(pid)
    return fields[19] if fields else ""


def _is_zombie(pid: int) -> bool:
    """It was killed, and its parent has not waited for it yet."""
    return _stat(pid)[:1] in (["Z"], ["X"])


def _stat(pid: int) -> list[str]:
    """What the kernel says of a process; empty where it does not. The state is the first field, the start the 20th."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The command's name stands before it, in parentheses, and may hold anything.
    return stat.rpartition(")")[2].split()
