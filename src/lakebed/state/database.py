"""Opens the ledger's database: SQLite safely under several processes, anything else by its URL."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, StaticPool

from lakebed.errors import ConfigError, StateError
from lakebed.state.migrations import create_or_migrate, version_of
from lakebed.storage import make_private_folder

# How long one process waits for another's transaction; ours take milliseconds.
BUSY_SECONDS = 30


def open_database(place: str | Path) -> Engine:
    """The database in an SQLite file or behind a URL, made and brought to our version where it is not yet."""
    path = _sqlite_path(place)
    if path is not None:
        try:
            make_private_folder(path.parent)
            # SQLite would make it as the umask says; its journals get the rights of the database.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except OSError as refused:
            raise StateError(
                f"the ledger {path} cannot be made: {refused.strerror}",
                remedy="Choose another with --workdir.",
            ) from refused
    engine = _file_engine(path, read_only=False) if path is not None else _server_engine(str(place), read_only=False)
    with transaction(engine) as connection:
        create_or_migrate(connection)
    return engine


def open_database_read_only(place: str | Path) -> Engine:
    """The database for reading, which creates and changes nothing.

    Where there is none yet an empty one in memory stands for it; one of an older version is read into memory and
    brought to ours there.
    """
    path = _sqlite_path(place)
    if path is None:
        return _read_server(str(place))
    if not path.exists():
        return _in_memory(None)
    if _journal(path).exists() and (recovered := _recovered_copy(path)) is not None:
        return recovered
    engine = _file_engine(path, read_only=True)
    with transaction(engine) as connection:
        current = version_of(connection) == version_of(None)
    return engine if current else _in_memory(path)


def _sqlite_path(place: str | Path) -> Path | None:
    """The file that is meant, or None for another database."""
    if isinstance(place, Path):
        return place
    try:
        parsed = make_url(place)
    except (ArgumentError, ValueError):
        # Not even a part of it is repeated: where the password begins and ends is what is not known.
        raise ConfigError(
            "the ledger's setting is no database URL", remedy="Write for example postgresql+psycopg://user@host/db."
        ) from None
    if parsed.get_backend_name() != "sqlite":
        return None
    if not parsed.database or parsed.database == ":memory:":
        raise ConfigError("the ledger's SQLite URL names no file", remedy="Write sqlite:////absolute/path/ledger.db.")
    return Path(parsed.database)


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One transaction; what the database refuses becomes a StateError that names it and leaves it as it was."""
    try:
        with engine.begin() as connection:
            yield connection
    except SQLAlchemyError as failure:
        place = engine.url.render_as_string(hide_password=True)
        raise StateError(f"the ledger {place} cannot be used: {_reason(failure)}", remedy=_remedy(failure)) from failure


def _reason(failure: SQLAlchemyError) -> str:
    return str(getattr(failure, "orig", None) or failure).strip()


def _remedy(failure: SQLAlchemyError) -> str | None:
    text = _reason(failure)
    if "locked" in text:
        return "Another process holds it; wait for it to finish, or see who runs with `lakebed status`."
    if "not a database" in text or "malformed" in text:
        return "Move the file away; `lakebed status --rebuild` writes a new ledger from the tables."
    if "readonly" in text or "unable to open" in text:
        return "Check that the folder exists and may be written, or choose another with --workdir."
    return None


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _recovered_copy(path: Path) -> Engine | None:
    """What the next writer will find: a process that was killed in a transaction left a journal to roll back.

    Only a writer may do that, so it is done to a copy. None where the journal belongs to a transaction that is under
    way: that one the database waits for by itself.
    """
    with closing(_connect(path, "ro")) as connection:
        try:
            connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            pass
        else:
            return None
    with tempfile.TemporaryDirectory(prefix="lakebed-ledger-") as folder:
        copy = Path(folder) / path.name
        for file in (path, _journal(path)):
            shutil.copy2(file, copy.with_name(file.name))
        with closing(_connect(copy, "rw")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
        return _in_memory(copy)


def _read_server(url: str) -> Engine:
    engine = _server_engine(url, read_only=True)
    with transaction(engine) as connection:
        found = version_of(connection)
    if found == 0:
        return _in_memory(None)
    if found != version_of(None):
        raise StateError(
            f"the ledger has version {found}, and this Lakebed has {version_of(None)}",
            remedy="A command that loads brings an older one to it; a newer one needs the Lakebed that wrote it.",
        )
    return engine


def _server_engine(url: str, *, read_only: bool) -> Engine:
    try:
        engine = create_engine(url, poolclass=NullPool)
    except (NoSuchModuleError, ImportError) as missing:
        raise ConfigError(
            f"the ledger's database needs a driver that is not installed: {missing}",
            remedy='For PostgreSQL: pip install "lakebed[postgres]" and write postgresql+psycopg://...',
        ) from missing
    return engine.execution_options(postgresql_readonly=True) if read_only else engine


def _file_engine(path: Path, *, read_only: bool) -> Engine:
    # No pool: a connection that outlives its transaction would outlive a fork, too. No write-ahead log: a reader would
    # have to create files beside the database, and network file systems cannot carry one.
    mode = "ro" if read_only else "rwc"
    engine = create_engine(
        URL.create("sqlite", database=str(path)), creator=lambda: _connect(path, mode), poolclass=NullPool
    )
    _begin_ourselves(engine, "BEGIN" if read_only else "BEGIN IMMEDIATE")
    return engine


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # The path's own letters may mean something in a URI.
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)


def _in_memory(copy_of: Path | None) -> Engine:
    memory = sqlite3.connect(":memory:", check_same_thread=False)
    if copy_of is not None:
        source = _connect(copy_of, "ro")
        try:
            source.backup(memory)
        finally:
            source.close()
    engine = create_engine("sqlite://", creator=lambda: memory, poolclass=StaticPool)
    _begin_ourselves(engine, "BEGIN")
    with transaction(engine) as connection:
        create_or_migrate(connection)
    return engine


def _begin_ourselves(engine: Engine, statement: str) -> None:
    """Python's driver begins transactions when it sees fit, which lets two processes read before either writes."""

    @event.listens_for(engine, "connect")
    def _connected(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _began(connection: Connection) -> None:
        connection.exec_driver_sql(statement)
