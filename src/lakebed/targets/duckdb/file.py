"""Opens a DuckDB file for one reading or one transaction, and says plainly who holds it when that is not possible."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from lakebed.errors import ConcurrentModification, TargetError, TargetLocked, first_line
from lakebed.retry import retry, waiting
from lakebed.storage import system_errors

log = logging.getLogger(__name__)

Connection: TypeAlias = duckdb.DuckDBPyConnection

# Eight processes that commit one after the other fit into it, each with a few seconds of work.
WAIT_SECONDS = 30.0
DEFAULT_SCHEMA = "main"
# How DuckDB speaks of a transaction that another overtook. One that failed otherwise, or that the disk does not take,
# raises the same exception, and is no better tried again.
_OVERTAKEN = re.compile(r"conflict|another transaction|altered", re.IGNORECASE)
_DISK_FAILED = re.compile(r"Could not \w+ file|Cannot \w+ file|No space left|IO Error")


class DuckDBFile:
    """A database file that is open only inside the blocks below."""

    def __init__(self, path: Path, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self.path = path
        self._wait_seconds = wait_seconds
        self.schema = DEFAULT_SCHEMA
        self.left = ""  # the fingerprint that the last transaction left

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def fingerprint(self) -> str:
        """What changes when anybody writes into the file, to whichever table.

        The system's facts alone: opening the file, and closing it, would end the lock that DuckDB holds on it.
        """
        log = self.path.with_name(f"{self.path.name}.wal")
        return ",".join(_facts(path) for path in (self.path, log))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading; several processes can have one at a time."""
        with self._translated_errors():
            connection = self._connect(read_only=True)
            try:
                connection.execute("SET TimeZone = 'UTC'")
                yield connection
            finally:
                connection.close()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection inside a transaction that commits at the end of the block, or rolls back if it raises."""
        with self._translated_errors():
            with system_errors(str(self.path)):
                self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._connect(read_only=False)
            try:
                connection.execute("SET TimeZone = 'UTC'")
                ordered = first_row(connection, "SELECT current_setting('preserve_insertion_order')")
                # Rows need no order here, and without one DuckDB inserts in parallel and in less memory.
                connection.execute("SET preserve_insertion_order = false")
                try:
                    connection.execute("BEGIN")
                    yield connection
                    connection.execute("COMMIT")
                    self._settle(connection)
                except BaseException:
                    _roll_back(connection)
                    raise
                finally:
                    # Another connection of this process may share the database, and with it the setting.
                    connection.execute(f"SET preserve_insertion_order = {bool(ordered and ordered[0])}")
            finally:
                connection.close()

    def _settle(self, connection: Connection) -> None:
        """Brings what was committed into the file now, so that closing it changes nothing more."""
        try:
            connection.execute("CHECKPOINT")
        except duckdb.Error as error:
            # Another connection of this process is at work; the file is settled when that one closes.
            log.debug("%s is not settled yet: %s", self.path, error)
        self.left = self.fingerprint()

    def _connect(self, *, read_only: bool) -> Connection:
        return retry(
            lambda: self._try_to_connect(read_only=read_only),
            what=f"opening {self.path}",
            on=TargetLocked,
            backoff=waiting(self._wait_seconds),
        )

    def _try_to_connect(self, *, read_only: bool) -> Connection:
        try:
            return duckdb.connect(str(self.path), read_only=read_only)
        except duckdb.ConnectionException:
            # This process has the file open in the other mode already; connections of one process must agree.
            return duckdb.connect(str(self.path), read_only=not read_only)
        except duckdb.IOException as error:
            if "lock" not in str(error):
                raise
            raise self._locked(error) from error

    def _locked(self, error: duckdb.IOException) -> TargetLocked:
        holder = re.search(r"held in (.+?) \(PID (\d+)\)", str(error))
        who = f"process {holder[2]} ({holder[1]})" if holder else "another process"
        return TargetLocked(
            f"{self.path} is open in {who}",
            remedy="DuckDB lets one process write at a time. Close the file there, or end that process, and run again.",
        )

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """DuckDB's errors as ours."""
        try:
            yield
        except duckdb.TransactionException as error:
            if _DISK_FAILED.search(str(error)):
                raise TargetError(
                    f"{self.path}: {first_line(error)}",
                    remedy="Nothing was committed. See that the disk has room and can be written, and run again.",
                ) from error
            if not _OVERTAKEN.search(str(error)):
                raise TargetError(f"{self.path}: {first_line(error)}", remedy="Nothing was committed.") from error
            raise ConcurrentModification(
                f"{self.path}: another transaction changed the table: {first_line(error)}",
                remedy="Nothing was committed. Read the table again and repeat the change.",
            ) from error
        except duckdb.Error as error:
            said = first_line(error)
            named = said if str(self.path) in said else f"{self.path}: {said}"
            raise TargetError(named, remedy=self._remedy(said)) from error

    def _remedy(self, said: str) -> str | None:
        if "ermission denied" in said or "read-only" in said.lower():
            return f"Give this user the right to write {self.path} and its folder, or choose another target."
        if "Not a directory" in said or "No such file or directory" in said:
            return "The folder is not there and cannot be made: choose another target."
        return None


class OpenDatabase(DuckDBFile):
    """A database that this process has open for other work: each block has a connection of its own to it.

    `connect` gives one that is in this schema of the right database. Settings belong to whoever opened it, and are left
    alone; so is the moment in which the file is settled.
    """

    def __init__(self, path: Path, schema: str, connect: Callable[[], Connection]) -> None:
        super().__init__(path)
        self.schema = schema
        self._new_connection = connect

    @property
    def exists(self) -> bool:
        return True

    def fingerprint(self) -> str:
        """Nothing: others in this process write to it all the time, and only versions tell the table's own commits."""
        return ""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._translated_errors():
            connection = self._new_connection()
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.reading() as connection:
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise


def _facts(path: Path) -> str:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return "none"
    return f"{facts.st_ino:x}-{facts.st_size:x}-{facts.st_mtime_ns:x}-{facts.st_ctime_ns:x}"


def first_row(connection: Connection, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
    """The first row of a short answer, or None. All is fetched: until then DuckDB 2 refuses other work."""
    rows: list[tuple[Any, ...]] = connection.execute(statement, list(values)).fetchall()
    return rows[0] if rows else None


def _roll_back(connection: Connection) -> None:
    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        # The error that brought us here has ended the transaction already.
        return
