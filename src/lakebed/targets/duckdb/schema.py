"""A table through a DuckDB connection: its schema with the original names, and how it takes a plan.

`information_schema` tells the columns, as the specification asks; the originals are the columns' comments.
"""

from collections.abc import Iterable

from lakebed.errors import TargetError
from lakebed.schema.duckdb import from_duckdb, quote_identifier, quote_literal, to_duckdb, to_duckdb_columns
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.originals import originals_text, read_originals
from lakebed.schema.types import Column, Schema
from lakebed.targets.duckdb.file import Connection


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
    if connection.execute("SELECT 1 FROM duckdb_views() WHERE lower(view_name) = lower(?)", [table]).fetchone():
        raise TargetError(f"{table} is a view", remedy="Name a table, or a table that does not exist yet.")
    comments = dict(
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
        _comment(connection, quoted, plan.final)
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
    _comment(connection, quoted, (*new, *plan.renamed_sources))


def _comment(connection: Connection, quoted: str, columns: Iterable[Column]) -> None:
    for column in columns:
        if (text := originals_text(column)) is not None:
            name = f"{quoted}.{quote_identifier(column.name)}"
            connection.execute(f"COMMENT ON COLUMN {name} IS {quote_literal(text)}")
