"""A DuckDB table as plans see it, and the record of our commits that tells its versions apart."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC

from lakebed.schema.duckdb import quote_identifier
from lakebed.schema.types import Schema
from lakebed.targets.base import PastCommit, TableState
from lakebed.targets.duckdb.file import Connection, first_row
from lakebed.targets.duckdb.schema import read_schema

# What Lakebed keeps about its commits lies in a schema of its own, beside the user's tables.
COMMITS = "lakebed.commits"
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
    return TableState(True, schema, count, f"{last.id if last is not None else ''}:{count}:{facts}")


def record_commit(connection: Connection, table: str, id_: str, properties: Mapping[str, str]) -> TableState:
    """Writes a commit down inside its transaction and returns the table after it."""
    connection.execute("CREATE SCHEMA IF NOT EXISTS lakebed")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {COMMITS} (number BIGINT, table_name VARCHAR, id VARCHAR,"
        " committed_at TIMESTAMP, rows BIGINT, properties VARCHAR)"
    )
    after = table_state(connection, table)
    connection.execute(
        f"INSERT INTO {COMMITS} SELECT coalesce(max(number), 0) + 1, ?, ?, (now() AT TIME ZONE 'UTC'), ?, ?"
        f" FROM {COMMITS}",
        [table, id_, after.rows, json.dumps(dict(properties))],
    )
    return replace(after, version=f"{id_}:{after.version.partition(':')[2]}")


def last_commit(connection: Connection, table: str) -> PastCommit | None:
    """The last commit to the table; None where there is none of ours."""
    known = first_row(
        connection,
        "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database()"
        " AND table_schema = 'lakebed' AND table_name = 'commits'",
    )
    if known is None:
        return None
    last = first_row(
        connection,
        f"SELECT id, committed_at, properties FROM {COMMITS} WHERE lower(table_name) = lower(?)"
        " ORDER BY number DESC LIMIT 1",
        [table],
    )
    if last is None:
        return None
    id_, at, properties = last
    return PastCommit(str(id_), at.replace(tzinfo=UTC), json.loads(properties))
