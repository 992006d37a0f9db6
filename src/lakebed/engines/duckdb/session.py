"""Names and connections that leave nothing behind."""

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import duckdb
import pyarrow as pa

from lakebed.engines.duckdb.extensions import load_extension
from lakebed.kernels.storage_settings import KeyRing, StorageSettings
from lakebed.schema.duckdb import quote_identifier, quote_literal

log = logging.getLogger("lakebed.engines.duckdb.merge")


class Scratch:
    """Temporary tables, views and secrets under unique names, all gone when the context ends, however it ends."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._tables: list[str] = []
        self._views: list[str] = []
        self._secrets: dict[str | None, tuple[StorageSettings, str]] = {}

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            self._remove_all()
        except duckdb.Error as error:
            if failed is None:
                raise
            # After an internal error of DuckDB its connection refuses everything; what broke it matters more.
            log.debug("scratch tables could not be dropped: %s", error)

    def _remove_all(self) -> None:
        for name in self._tables:
            self.connection.execute(f"DROP TABLE IF EXISTS {quote_identifier(name)}")
        for name in self._views:
            _unregister_duckdb_table_safely(self.connection, name)
        for _, name in self._secrets.values():
            self.connection.execute(f"DROP TEMPORARY SECRET IF EXISTS {name}")

    def reach_object_store(self, storage: StorageSettings) -> None:
        """Lets the connection read and write s3:// addresses, until the context ends."""
        wanted: dict[str | None, StorageSettings] = {None: storage.for_uri("")}
        if isinstance(storage, KeyRing):
            wanted.update(storage.by_place().items())
        for place, settings in wanted.items():
            known, name = self._secrets.get(place, (None, None))
            if known == settings:
                continue
            # Keys that a catalog lends are others each time they are asked for.
            if name is not None:
                self.connection.execute(f"DROP TEMPORARY SECRET IF EXISTS {name}")
            self._secrets[place] = (settings, create_secret(self.connection, settings, place=place))

    def register(self, prefix: str, table: pa.Table) -> str:
        """The table as a view under a new name, without a copy."""
        name = f"{prefix}_view_{uuid4().hex}"
        self._views.append(name)
        self.connection.register(name, table)
        return name

    @contextmanager
    def temporary_views(self) -> Iterator[None]:
        """Views registered in this context are gone when it ends, and so is the memory of what they show."""
        kept = len(self._views)
        try:
            yield
        finally:
            for name in self._views[kept:]:
                _unregister_duckdb_table_safely(self.connection, name)
            del self._views[kept:]

    def table(self, prefix: str, query: str) -> str:
        """A temporary table of the rows of a query."""
        name = f"{prefix}_{uuid4().hex}"
        self._tables.append(name)
        self.connection.execute(f"CREATE TEMP TABLE {quote_identifier(name)} AS {query}")
        return name

    def spooled(self, prefix: str, reader: pa.RecordBatchReader) -> str:
        """A temporary table of the rows of a stream."""
        name = f"{prefix}_stream_{uuid4().hex}"
        self.connection.register(name, reader)
        try:
            return self.table(prefix, f"SELECT * FROM {quote_identifier(name)}")
        finally:
            _unregister_duckdb_table_safely(self.connection, name)

    def drop(self, name: str) -> None:
        """Drops a temporary table before the context ends."""
        self.connection.execute(f"DROP TABLE IF EXISTS {quote_identifier(name)}")
        self._tables.remove(name)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        return self.connection.execute(query).fetchall()

    def arrow(self, query: str) -> pa.Table:
        """The rows of a query as an Arrow table."""
        # A relation, not a result: of a result DuckDB 2 copies the rows once more, and older ones call this otherwise.
        return self.connection.sql(query).to_arrow_table()

    def number(self, query: str) -> int:
        """The one number that a query returns."""
        (number,) = self.rows(query)[0]
        return int(str(number))


def _unregister_duckdb_table_safely(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Unregisters a view; one that was never registered is fine."""
    try:
        connection.unregister(name)
    except duckdb.Error as error:
        log.debug("view %s was not registered: %s", name, error)


@contextmanager
def private_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of our own that spills to a temporary folder rather than to where the user happens to be."""
    with tempfile.TemporaryDirectory(prefix="lakebed-duckdb-") as folder:
        connection = duckdb.connect(config={"temp_directory": folder})
        try:
            yield connection
        finally:
            connection.close()


def create_secret(connection: duckdb.DuckDBPyConnection, storage: StorageSettings, *, place: str | None = None) -> str:
    """The name of a new secret with which the connection reaches s3:// addresses, or only those below a place."""
    load_extension(connection, "httpfs")
    endpoint = storage.endpoint_url or ""
    options = {
        "KEY_ID": storage.access_key_id,
        "SECRET": storage.secret_access_key,
        "SESSION_TOKEN": storage.session_token,
        "REGION": storage.region,
        "ENDPOINT": endpoint.partition("://")[2] or None,
        "USE_SSL": "false" if endpoint.startswith("http://") else None,
        "URL_STYLE": "path" if endpoint else None,
        "SCOPE": None if place is None else f"{place}/",
    }
    given = ", ".join(f"{name} {quote_literal(value)}" for name, value in options.items() if value is not None)
    name = f"lakebed_{uuid4().hex}"
    connection.execute(f"CREATE TEMPORARY SECRET {name} (TYPE s3{', ' + given if given else ''})")
    return name
