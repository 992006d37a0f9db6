"""A DuckDB table as plans see it, and the record of our commits that tells its versions apart."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC

from lakebed.schema.duckdb import quote_identifier
from lakebed.schema.types import Schema
from lakebed.targets.base import PastCommit, TableState, Txn
from lakebed.targets.duckdb.file import DEFAULT_SCHEMA, Connection, first_row
from lakebed.targets.duckdb.schema import read_schema
from lakebed.targets.load_log import NO_LOADS, LoadLog
from lakebed.targets.shared.refusals import unreadable_log

# What Lakebed keeps about its commits lies in a schema of its own, beside the user's tables.
COMMITS = "lakebed.commits"
TXNS = "lakebed.txns"
LOADS = "lakebed.loads"
ABSENT = TableState(False, Schema(), 0, "absent")


def table_state(connection: Connection, table: str) -> TableState:
    """The table now."""
    schema = read_schema(connection, table)
    if schema is None:
        return ABSENT
    counted = first_row(connection, f"SELECT count(*) FROM {quote_identifier(table)}")
    count = int(counted[0]) if counted else 0
    facts = hashlib.sha256(repr(schema).encode()).hexdigest()[:16]
    # Our own commits have ids; a stranger's change shows in the schema or, nearly always, in the number of rows.
    last = last_commit(connection, table)
    version = f"{last.id if last is not None else ''}:{count}:{facts}"
    return TableState(True, schema, count, version, txns=_txns(connection, table), log=_log(connection, table))


def record_commit(
    connection: Connection,
    table: str,
    id_: str,
    properties: Mapping[str, str],
    *,
    txn: Txn | None = None,
    created: bool = False,
    log: LoadLog | None = None,
) -> TableState:
    """Writes a commit down inside its transaction and returns the table after it.

    A table that the commit `created` knows nothing of the versions and loads that an earlier one of its name held.
    """
    commits, txns, loads = (_own(connection, own) for own in (COMMITS, TXNS, LOADS))
    name = _recorded_name(connection, table)
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {commits.rpartition('.')[0]}")
    for place in (TXNS, LOADS):
        if created and _exists(connection, place):
            connection.execute(f"DELETE FROM {_own(connection, place)} WHERE lower(table_name) = lower(?)", [name])
    if log is not None:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {loads} (table_name VARCHAR, log VARCHAR)")
        connection.execute(f"DELETE FROM {loads} WHERE lower(table_name) = lower(?)", [name])
        connection.execute(f"INSERT INTO {loads} VALUES (?, ?)", [name, log.to_text()])
    if txn is not None:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {txns} (table_name VARCHAR, app VARCHAR, version BIGINT)")
        connection.execute(f"DELETE FROM {txns} WHERE lower(table_name) = lower(?) AND app = ?", [name, txn.app])
        connection.execute(f"INSERT INTO {txns} VALUES (?, ?, ?)", [name, txn.app, txn.version])
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {commits} (number BIGINT, table_name VARCHAR, id VARCHAR,"
        " committed_at TIMESTAMP, rows BIGINT, properties VARCHAR)"
    )
    after = table_state(connection, table)
    connection.execute(
        f"INSERT INTO {commits} SELECT coalesce(max(number), 0) + 1, ?, ?, (now() AT TIME ZONE 'UTC'), ?, ?"
        f" FROM {commits}",
        [name, id_, after.rows, json.dumps(dict(properties))],
    )
    return replace(after, version=f"{id_}:{after.version.partition(':')[2]}")


def last_commit(connection: Connection, table: str) -> PastCommit | None:
    """The last commit to the table; None where there is none of ours."""
    if not _exists(connection, COMMITS):
        return None
    last = first_row(
        connection,
        f"SELECT id, committed_at, properties FROM {_own(connection, COMMITS)} WHERE lower(table_name) = lower(?)"
        " ORDER BY number DESC LIMIT 1",
        [_recorded_name(connection, table)],
    )
    if last is None:
        return None
    id_, at, properties = last
    return PastCommit(str(id_), at.replace(tzinfo=UTC), json.loads(properties))


def _txns(connection: Connection, table: str) -> dict[str, int]:
    if not _exists(connection, TXNS):
        return {}
    found = connection.execute(
        f"SELECT app, version FROM {_own(connection, TXNS)} WHERE lower(table_name) = lower(?)",
        [_recorded_name(connection, table)],
    )
    return {str(app): int(version) for app, version in found.fetchall()}


def _log(connection: Connection, table: str) -> LoadLog:
    if not _exists(connection, LOADS):
        return NO_LOADS
    found = first_row(
        connection,
        f"SELECT log FROM {_own(connection, LOADS)} WHERE lower(table_name) = lower(?)",
        [_recorded_name(connection, table)],
    )
    if found is None:
        return NO_LOADS
    try:
        return LoadLog.from_text(found[0])
    except ValueError as error:
        raise unreadable_log(table, LOADS, error) from error


def _own(connection: Connection, table: str) -> str:
    """A table of ours with the name of its database, which may be that of its schema too (`lakebed.duckdb`)."""
    [database] = first_row(connection, "SELECT current_database()") or (None,)
    return f"{quote_identifier(str(database))}.{table}"


def _recorded_name(connection: Connection, table: str) -> str:
    """The table as our tables name it: with its schema, where that is not the one that every database begins with."""
    [schema] = first_row(connection, "SELECT current_schema()") or (DEFAULT_SCHEMA,)
    return table if schema == DEFAULT_SCHEMA else f"{schema}.{table}"


def _exists(connection: Connection, table: str) -> bool:
    known = first_row(
        connection,
        "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database()"
        " AND table_schema = ? AND table_name = ?",
        table.split("."),
    )
    return known is not None
