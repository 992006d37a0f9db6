"""The ledger's version and the steps from each version to the next.

A new database is made whole at the newest version; an older one takes the steps it lacks, in the same transaction that
found it old. `tests/state` keeps a dump of every version that was ever released.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, insert, inspect, select, text, update

from lakebed.errors import StateError
from lakebed.state.tables import FILES, METADATA, TABLES, VERSION

Migration: TypeAlias = Callable[[Connection], None]


def _remember_files_and_versions(connection: Connection) -> None:
    """The files of a plain delivery, and the version that the last load left of each table."""
    connection.execute(text("ALTER TABLE lakebed_deliveries ADD COLUMN file_uris JSON"))
    TABLES.create(connection)


def _remember_ingested_files(connection: Connection) -> None:
    """The files that `lakebed ingest` has loaded, by path and checksum."""
    FILES.create(connection)


# Step i leads from version i + 1 to version i + 2.
MIGRATIONS: tuple[Migration, ...] = (_remember_files_and_versions, _remember_ingested_files)


def version_of(connection: Connection | None, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """The version of a database, 0 where it has no ledger yet; without a connection the version of this code."""
    if connection is None:
        return len(migrations) + 1
    if not inspect(connection).has_table(VERSION.name):
        return 0
    return int(connection.execute(select(VERSION.c.version)).scalar_one())


def create_or_migrate(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Brings a database to the version of this code. Refuses one that a newer Lakebed wrote."""
    newest = version_of(None, migrations)
    found = version_of(connection, migrations)
    if found > newest:
        raise StateError(
            f"the ledger has version {found}, and this Lakebed knows up to {newest}",
            remedy="Use the newer Lakebed that wrote it: pip install --upgrade lakebed",
        )
    if found == 0:
        METADATA.create_all(connection)
        connection.execute(insert(VERSION).values(version=newest))
    elif found < newest:
        for migrate in migrations[found - 1 :]:
            migrate(connection)
        connection.execute(update(VERSION).values(version=newest))
