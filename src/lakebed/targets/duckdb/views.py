"""Views beside a table. Each carries a mark of ours with a digest of its text: so it is known as ours, and as new."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from lakebed.errors import TargetError
from lakebed.schema.duckdb import quote_identifier, quote_literal
from lakebed.targets.duckdb.file import Connection, first_row

_MARK = "made by lakebed views "


def outdated_views(connection: Connection, file: Path, views: Mapping[str, str]) -> tuple[str, ...]:
    """The views that are not there, or not with this text. Raises TargetError where a name is somebody else's."""
    return tuple(name for name, select in views.items() if _found(connection, file, name) != _mark(select))


def create_views(connection: Connection, views: Mapping[str, str]) -> None:
    """Creates or replaces them, inside the caller's transaction."""
    for name, select in views.items():
        quoted = quote_identifier(name)
        connection.execute(f"CREATE OR REPLACE VIEW {quoted} AS {select}")
        connection.execute(f"COMMENT ON VIEW {quoted} IS {quote_literal(_mark(select))}")


def map_keys(connection: Connection, table: str, column: str) -> tuple[str, ...]:
    """The keys of a column of maps, in their order by text."""
    found = connection.execute(
        f"SELECT DISTINCT unnest(map_keys({quote_identifier(column)})) AS key FROM {quote_identifier(table)} ORDER BY 1"
    ).fetchall()
    return tuple(str(key) for (key,) in found)


def _mark(select: str) -> str:
    return _MARK + hashlib.sha256(select.encode()).hexdigest()


def _found(connection: Connection, file: Path, name: str) -> str | None:
    """The mark of the view of this name, or None where nothing has the name."""
    here = "database_name = current_database() AND schema_name = current_schema()"
    if first_row(connection, f"SELECT 1 FROM duckdb_tables() WHERE {here} AND lower(table_name) = lower(?)", [name]):
        raise _taken(file, name, "a table")
    view = first_row(
        connection, f"SELECT comment FROM duckdb_views() WHERE {here} AND lower(view_name) = lower(?)", [name]
    )
    if view is None:
        return None
    comment = str(view[0] or "")
    if not comment.startswith(_MARK):
        raise _taken(file, name, "a view that lakebed did not make")
    return comment


def _taken(file: Path, name: str, what: str) -> TargetError:
    return TargetError(
        f"{file} has {what} called {name}", remedy="Rename or drop it, or take the SQL of `lakebed views --print`."
    )
