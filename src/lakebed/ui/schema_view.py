"""The schema of an analysis: imported, implied and hybrid, where the two contradict, and what is missing."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakebed.lineage.contract import ResolvedTable
from lakebed.lineage.project import trace_project
from lakebed.ui.analyses import STDIN, Analysis


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column; `inferred` where an expression gave its type."""

    name: str
    type: str | None
    origin: str | None
    inferred: bool


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A table of one of the views, and the statement that makes it."""

    name: str
    catalog: str | None
    schema: str | None
    table: str
    origin: str
    temporary: bool
    complete: bool
    conflict: bool
    statement: int | None
    file: str | None
    line: int | None
    start: int | None
    end: int | None
    columns: tuple[SchemaColumn, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A table that the script declares otherwise than the imported schema has it."""

    table: str
    message: str
    hint: str
    imported: tuple[SchemaColumn, ...]
    implied: tuple[SchemaColumn, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A table whose columns nobody knows: what would make its lineage certain."""

    table: str
    catalog: str | None
    schema: str | None
    name: str
    message: str
    hint: str
    # those that statements name; there may be more
    columns: tuple[str, ...]
    file: str | None
    line: int | None
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """The three views, conflicts and prompts."""

    imported: tuple[SchemaTable, ...]
    implied: tuple[SchemaTable, ...]
    hybrid: tuple[SchemaTable, ...]
    conflicts: tuple[Conflict, ...]
    prompts: tuple[Prompt, ...]


def schema_view(analysis: Analysis) -> SchemaAnswer:
    """What the analysis knows of tables, and from where."""
    result = analysis.traced.result
    contradicted = {table.name for table in analysis.traced.tables if table.mismatch}
    tables = [table.resolved(result.updated_at) for table in analysis.traced.tables]
    declared = _declared(analysis) if contradicted else {}
    shown = [_table(analysis, table, contradicted) for table in tables]
    implied = [table for table in shown if table.origin == "implied"]
    implied += [_table(analysis, declared[name], contradicted) for name in sorted(contradicted) if name in declared]
    return SchemaAnswer(
        tuple(table for table in shown if table.origin == "imported"),
        tuple(implied),
        tuple(shown),
        tuple(_conflicts(analysis, tables, declared, contradicted)),
        tuple(_prompts(analysis)),
    )


def _declared(analysis: Analysis) -> dict[str, ResolvedTable]:
    """What the scripts alone declare: an analysis without the imported schema, under which it would not show."""
    alone = trace_project(analysis.project._replace(schema=None), dialect=analysis.dialect)
    return {_dotted(table): table for table in alone.result.resolved_schema.tables}


def _dotted(table: ResolvedTable) -> str:
    return ".".join(part for part in (table.catalog, table.schema, table.name) if part)


def _columns(table: ResolvedTable | None) -> tuple[SchemaColumn, ...]:
    columns = table.columns if table is not None else ()
    return tuple(SchemaColumn(one.name, one.data_type, one.origin, one.inferred) for one in columns)


def _table(analysis: Analysis, table: ResolvedTable, contradicted: Iterable[str]) -> SchemaTable:
    place = _statement_place(analysis, table.source_statement_index)
    name = _dotted(table)
    return SchemaTable(
        name,
        table.catalog,
        table.schema,
        table.name,
        table.origin,
        table.temporary,
        table.complete,
        name in contradicted,
        table.source_statement_index,
        *place,
        _columns(table),
    )


def _statement_place(analysis: Analysis, index: int | None) -> tuple[str | None, int | None, int | None, int | None]:
    """File, line and characters of a statement."""
    for statement in analysis.traced.result.statements if index is not None else ():
        if statement.statement_index == index:
            line, _ = analysis.traced.texts.line_and_column(statement.file, statement.span.start)
            return statement.file or STDIN, line, *statement.span
    return None, None, None, None


def _conflicts(
    analysis: Analysis, tables: Iterable[ResolvedTable], declared: dict[str, ResolvedTable], names: Iterable[str]
) -> Iterator[Conflict]:
    imported = {_dotted(table): table for table in tables}
    issues = [issue for issue in analysis.traced.result.issues if issue.code == "SCHEMA_MISMATCH"]
    for name in sorted(names):
        issue = next((one for one in issues if name.lower() in one.message.lower()), issues[0] if issues else None)
        yield Conflict(
            name,
            issue.message if issue else f"the script declares {name} otherwise than the imported schema",
            issue.hint if issue else "The imported columns are used.",
            _columns(imported.get(name)),
            _columns(declared.get(name)),
        )


def _prompts(analysis: Analysis) -> Iterator[Prompt]:
    lineage = analysis.lineage
    named: dict[str, dict[str, None]] = {}
    first: dict[str, int] = {}
    for statement in analysis.traced.result.statements:
        for use in statement.tables:
            if use.resolution_source == "unknown":
                named.setdefault(use.name, {})
                first.setdefault(use.name, statement.statement_index)
        for reference in statement.references:
            if reference.column and reference.table in named:
                named[reference.table][reference.column] = None
    # what a statement only writes needs no columns to be known
    read = {link.source for link in lineage.links}
    for name, columns in named.items():
        if name not in read:
            continue
        parts = name.split(".")
        plain = len(parts) <= 3 and all(re.fullmatch(r"\w+", part) for part in parts)
        catalog, schema, last = ([None, None, None, *parts][-3:]) if plain else (None, None, name)
        yield Prompt(
            name,
            catalog,
            schema,
            last or name,
            f"nothing is known about the columns of {name}",
            "Add its columns to the imported schema, or put the statement that creates it before those that read it.",
            tuple(columns),
            *_statement_place(analysis, first[name]),
        )
