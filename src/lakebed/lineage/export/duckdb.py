"""Lineage as a DuckDB file: tables to query, and views that follow columns up and down the graph."""

from pathlib import Path

import duckdb
import pyarrow as pa

from lakebed.errors import LineageError, first_line
from lakebed.lineage.contract import AnalyzeResult
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.graph import result_name

_TABLES = """
CREATE TABLE statements (
    statement_index INTEGER, statement_type VARCHAR, target VARCHAR, file VARCHAR, span_start BIGINT, span_end BIGINT,
    star_expansion VARCHAR, sql VARCHAR
);
CREATE TABLE outputs (statement_index INTEGER, target VARCHAR, position INTEGER, name VARCHAR);
CREATE TABLE column_lineage (
    statement_index INTEGER, source_table VARCHAR, source_column VARCHAR, source_path VARCHAR, target_table VARCHAR,
    target_column VARCHAR, position INTEGER, role VARCHAR, approximate BOOLEAN
);
CREATE TABLE table_lineage (statement_index INTEGER, source VARCHAR, target VARCHAR, approximate BOOLEAN);
CREATE TABLE issues (
    code VARCHAR, severity VARCHAR, message VARCHAR, hint VARCHAR, statement_index INTEGER, file VARCHAR,
    span_start BIGINT, span_end BIGINT
);
CREATE TABLE resolved_schema (
    table_name VARCHAR, column_name VARCHAR, data_type VARCHAR, origin VARCHAR, table_origin VARCHAR, position INTEGER,
    source_statement_index INTEGER, temporary BOOLEAN, complete BOOLEAN
);
"""

# UNION, not UNION ALL: a table that reads itself must not turn the walk into a circle.
_VIEWS = """
CREATE VIEW value_flow AS
SELECT source_table, source_column, target_table, target_column, bool_and(approximate) AS approximate
FROM column_lineage WHERE target_column IS NOT NULL GROUP BY ALL;

CREATE VIEW upstream AS
WITH RECURSIVE walk AS (
    SELECT target_table AS table_name, target_column AS column_name, source_table, source_column, approximate
    FROM value_flow
    UNION
    SELECT walk.table_name, walk.column_name, flow.source_table, flow.source_column,
           walk.approximate OR flow.approximate
    FROM walk JOIN value_flow AS flow
      ON flow.target_table = walk.source_table AND flow.target_column = walk.source_column
)
SELECT table_name, column_name, source_table, source_column, bool_and(approximate) AS approximate
FROM walk GROUP BY ALL;

CREATE VIEW downstream AS
SELECT source_table AS table_name, source_column AS column_name, table_name AS target_table,
       column_name AS target_column, approximate
FROM upstream;

CREATE VIEW origins AS
SELECT * FROM upstream AS u
WHERE NOT EXISTS (
    FROM value_flow AS flow WHERE flow.target_table = u.source_table AND flow.target_column = u.source_column
);
"""


def to_duckdb(result: AnalyzeResult, sources: ScriptTexts, path: Path) -> None:
    """Writes a new file; one that is there already is not overwritten."""
    if path.exists():
        raise LineageError(f"{path} is there already", remedy="Remove it, or name another file with --output.")
    try:
        connection = duckdb.connect(str(path))
    except duckdb.Error as error:
        raise LineageError(
            f"{path} cannot be written: {first_line(error)}", remedy="Name another file with --output."
        ) from error
    try:
        connection.execute(_TABLES)
        for name, rows in _rows(result, sources).items():
            if rows:
                columns = {f"c{place}": list(values) for place, values in enumerate(zip(*rows, strict=True))}
                connection.register("new_rows", pa.table(columns))
                connection.execute(f"INSERT INTO {name} FROM new_rows")
                connection.unregister("new_rows")
        connection.execute(_VIEWS)
    finally:
        connection.close()


def _rows(result: AnalyzeResult, sources: ScriptTexts) -> dict[str, list[tuple[object, ...]]]:
    rows: dict[str, list[tuple[object, ...]]] = {
        name: [] for name in ("statements", "outputs", "column_lineage", "table_lineage", "issues", "resolved_schema")
    }
    for statement in result.statements:
        index = statement.statement_index
        target = statement.target or result_name(statement)
        rows["statements"].append(
            (
                index,
                statement.statement_type,
                statement.target,
                statement.file,
                statement.span.start,
                statement.span.end,
                statement.star_expansion,
                sources.sql(statement),
            )
        )
        rows["outputs"] += [(index, target, place, name) for place, name in enumerate(statement.outputs)]
        rows["column_lineage"] += [
            (
                index,
                edge.source_table,
                edge.source_column,
                ".".join(edge.path) or None,
                target,
                edge.target_column,
                edge.position,
                edge.role,
                edge.approximate,
            )
            for edge in statement.column_lineage
        ]
        rows["table_lineage"] += [(index, edge.source, target, edge.approximate) for edge in statement.table_lineage]
    for issue in result.issues:
        span = issue.span or (None, None)
        rows["issues"].append(
            (issue.code, issue.severity, issue.message, issue.hint, issue.statement_index, issue.file, *span)
        )
    for table in result.resolved_schema.tables:
        name = ".".join(part for part in (table.catalog, table.schema, table.name) if part)
        rows["resolved_schema"] += [
            (
                name,
                column.name,
                column.data_type,
                column.origin,
                table.origin,
                place,
                table.source_statement_index,
                table.temporary,
                table.complete,
            )
            for place, column in enumerate(table.columns)
        ]
    return rows
