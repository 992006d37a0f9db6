"""A table through a DuckDB connection: its schema with the original names, and how it takes a plan.

`information_schema` tells the columns, as the specification asks; the originals are the columns' comments. DuckDB
copies the whole entry of a table for each comment, so that those of thousands of columns are one comment, the table's.
"""

import json
from collections.abc import Iterable

from lakebed.errors import TargetError
from lakebed.schema.duckdb import from_duckdb, quote_identifier, quote_literal, to_duckdb, to_duckdb_columns
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.originals import originals_text, read_originals
from lakebed.schema.types import Column, Schema
from lakebed.targets.duckdb.file import Connection, first_row

# 5,008 comments took three minutes on two busy cores, and the 250 of an ordinary report a second.
MOST_COMMENTS = 1_000
_ORIGINALS = "lakebed_originals"


def read_schema(connection: Connection, table: str) -> Schema | None:
    """The columns of a table of the connection's current schema, or None where there is no such table."""
    rows = connection.execute(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_catalog = current_database() AND table_schema = current_schema() AND lower(table_name) ="
        " lower(?) ORDER BY ordinal_position",
        [table],
    ).fetchall()
    if not rows:
        return None
    is_view = first_row(
        connection,
        "SELECT 1 FROM duckdb_views() WHERE database_name = current_database() AND schema_name = current_schema()"
        " AND lower(view_name) = lower(?)",
        [table],
    )
    if is_view:
        raise TargetError(f"{table} is a view", remedy="Name a table, or a table that does not exist yet.")
    comments = _table_originals(connection, table) or {}
    comments |= dict(
        connection.execute(
            "SELECT column_name, comment FROM duckdb_columns() WHERE database_name = current_database() AND"
            " schema_name = current_schema() AND lower(table_name) = lower(?) AND comment IS NOT NULL",
            [table],
        ).fetchall()
    )
    return Schema.of(
        Column(name, from_duckdb(type_, column=name), nullable == "YES", *read_originals(comments.get(name)))
        for name, type_, nullable in rows
    )


def evolve(connection: Connection, table: str, current: Schema | None, plan: EvolutionPlan) -> None:
    """Creates the table, or adds and widens its columns, as the plan says; original names become comments."""
    quoted = quote_identifier(table)
    if current is None:
        connection.execute(f"CREATE TABLE {quoted} ({to_duckdb_columns(plan.final)})")
        _comment(connection, table, plan.final)
        return
    alter = f"ALTER TABLE {quoted}"
    for name in sorted({step.path[0] for step in plan.relaxations if len(step.path) == 1}):
        if not current[name].nullable:
            connection.execute(f"{alter} ALTER COLUMN {quote_identifier(current[name].name)} DROP NOT NULL")
    for column in plan.final:
        present = current.get(column.name)
        name = quote_identifier(column.name if present is None else present.name)
        type_ = to_duckdb(column.type, column=column.name)
        if present is None:
            connection.execute(f"{alter} ADD COLUMN {name} {type_}")
        elif to_duckdb(present.type, column=column.name) != type_:
            connection.execute(f"{alter} ALTER COLUMN {name} SET DATA TYPE {type_}")
    new = (column for column in plan.final if column.name not in current)
    _comment(connection, table, (*new, *plan.renamed_sources))


def _comment(connection: Connection, table: str, columns: Iterable[Column]) -> None:
    quoted = quote_identifier(table)
    originals = {column.name: text for column in columns if (text := originals_text(column)) is not None}
    known = _table_originals(connection, table) if len(originals) > MOST_COMMENTS else None
    if known is not None:
        together = json.dumps({_ORIGINALS: known | originals}, ensure_ascii=False)
        connection.execute(f"COMMENT ON TABLE {quoted} IS {quote_literal(together)}")
        return
    for name, original in originals.items():
        connection.execute(f"COMMENT ON COLUMN {quoted}.{quote_identifier(name)} IS {quote_literal(original)}")


def _table_originals(connection: Connection, table: str) -> dict[str, str] | None:
    """The originals in the comment of the table; None where that comment is the user's own."""
    found = connection.execute(
        "SELECT comment FROM duckdb_tables() WHERE database_name = current_database() AND"
        " schema_name = current_schema() AND lower(table_name) = lower(?)",
        [table],
    ).fetchone()
    if found is None or found[0] is None:
        return {}
    try:
        written = json.loads(found[0])
        return {str(name): str(original) for name, original in written[_ORIGINALS].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
