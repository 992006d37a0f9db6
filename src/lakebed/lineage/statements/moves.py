"""Rows that come under another name: renamed, swapped and exchanged tables, renamed columns.

The statement writes no query's result, so it has no target of its own; its edges say which column goes on as which.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from lakebed.lineage.context import Context
from lakebed.lineage.contract import ColumnEdge, StatementLineage, TableEdge, TableUse
from lakebed.lineage.renamed_unknown import UnknownRename
from lakebed.lineage.statements.result import statement_lineage
from lakebed.lineage.tables import NamePart

_NAME = r"(?:[\w$#]+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\])"
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_PART = re.compile(_NAME)


class _Form(NamedTuple):
    """A statement that sqlglot keeps as text: its pattern, and which way the rows go."""

    pattern: re.Pattern[str]
    forth: bool
    back: bool


def _form(pattern: str, *, forth: bool = False, back: bool = False) -> _Form:
    text = pattern.replace("{a}", rf"(?P<a>{_DOTTED})").replace("{b}", rf"(?P<b>{_DOTTED})").replace(" ", r"\s+")
    return _Form(re.compile(rf"\s*{text}", re.IGNORECASE | re.DOTALL), forth, back)


# `a` gives its rows to `b` (forth), or gets those of `b` (back).
_FORMS = (
    _form(r"TABLE {a} EXCHANGE (?:SUB)?PARTITION .+? WITH TABLE {b}", forth=True, back=True),
    _form(r"TABLE {a} (?:ATTACH|REPLACE) PARTITION .+? FROM {b}", back=True),
    _form(r"TABLE {a} MOVE PARTITION .+? TO TABLE {b}", forth=True),
    _form(r"TABLE {a} SWITCH (?:PARTITION .+? )?TO {b}", forth=True),
    _form(r"TABLE {a} ATTACH PARTITION {b} (?:FOR|DEFAULT)", back=True),
    _form(r"TABLES {a} AND {b}", forth=True, back=True),
)
_RENAME_VIEW = _form(r"(?:MATERIALIZED VIEW|VIEW|TABLE)(?: IF EXISTS)? {a} RENAME (?:TO |AS )?{b}")
_STREAM = _form(r"(?:OR REPLACE )?STREAM(?: IF NOT EXISTS)? {a} (?:.+ )?ON (?:EXTERNAL |DYNAMIC )?(?:TABLE|VIEW) {b}")
_SET_SCHEMA = _form(r"(?:MATERIALIZED VIEW|VIEW|TABLE)(?: IF EXISTS)? {a} SET SCHEMA {b}")
_TRANSFER = _form(r"SCHEMA {b} TRANSFER (?:OBJECT\s*::\s*)?{a}")


def name_parts(text: str) -> list[NamePart]:
    """A dotted name as written in text."""
    found = [match.group() for match in _PART.finditer(text)]
    return [NamePart(part.strip('"`[]'), part[:1] in '"`[') for part in found]


def renamed_table(old: Sequence[NamePart], new: Sequence[NamePart], ctx: Context) -> list[StatementLineage]:
    """ALTER TABLE old RENAME TO new: what reads the new name reads what was written under the old one."""
    found = _flow(list(old), list(new), ctx, renamed=True)
    ctx.catalog.rename(old, new, ctx.index)
    return [_result(ctx, [found])]


def renamed_tables(pairs: Sequence[tuple[str, str]], ctx: Context) -> list[StatementLineage]:
    """RENAME TABLE a TO b, b TO c: one after the other."""
    flows = []
    for old, new in pairs:
        flows.append(_flow(name_parts(old), name_parts(new), ctx, renamed=True))
        ctx.catalog.rename(name_parts(old), name_parts(new), ctx.index)
    return [_result(ctx, flows)]


def swapped_tables(one: Sequence[NamePart], other: Sequence[NamePart], ctx: Context) -> list[StatementLineage]:
    """ALTER TABLE one SWAP WITH other."""
    flows = [_flow(list(one), list(other), ctx, renamed=True), _flow(list(other), list(one), ctx, renamed=True)]
    ctx.catalog.swap(one, other)
    return [_result(ctx, flows)]


def copied_rows(source: Sequence[NamePart], target: Sequence[NamePart], ctx: Context) -> list[StatementLineage]:
    """A partition of one table becomes one of another."""
    return [_result(ctx, [_flow(list(source), list(target), ctx)])]


def renamed_columns(table: str, pairs: Sequence[tuple[str, str]], ctx: Context) -> StatementLineage:
    """ALTER TABLE t RENAME COLUMN a TO b."""
    edges = [ColumnEdge(table, old, (), table, new, None, "value", False) for old, new in pairs]
    return _result(ctx, [(edges, TableEdge(table, table, False))] if edges else [])


def moved_as_text(word: str, body: str, ctx: Context) -> list[StatementLineage] | None:
    """Moves in statements that sqlglot keeps as text; None where it is none."""
    if word not in ("ALTER", "EXCHANGE", "CREATE"):
        return None
    for form in _FORMS if word != "CREATE" else ():
        if match := form.pattern.match(body):
            one, other = name_parts(match.group("a")), name_parts(match.group("b"))
            # Hive moves the partition out of the other table, elsewhere both tables change
            forth = form.forth and not ("EXCHANGE" in body.upper() and ctx.dialect.name == "hive" and form.back)
            flows = [_flow(one, other, ctx)] if forth else []
            return [_result(ctx, [*flows, _flow(other, one, ctx)] if form.back else flows)]
    if word == "CREATE":
        match = _STREAM.pattern.match(body)
        return _stream(name_parts(match.group("a")), name_parts(match.group("b")), ctx) if match else None
    if match := _RENAME_VIEW.pattern.match(body):
        return renamed_table(name_parts(match.group("a")), name_parts(match.group("b")), ctx)
    if match := _SET_SCHEMA.pattern.match(body) or _TRANSFER.pattern.match(body):
        old = name_parts(match.group("a"))
        return renamed_table(old, [*name_parts(match.group("b")), old[-1]], ctx)
    return None


def _stream(stream: list[NamePart], table: list[NamePart], ctx: Context) -> list[StatementLineage]:
    """Snowflake's CREATE STREAM s ON TABLE t: the changes of t, with its columns."""
    found = _flow(table, stream, ctx, renamed=True)
    known = ctx.catalog.find(table)
    if known is not None:
        columns = [column._replace(origin="implied") for column in known.columns]
        ctx.catalog.declare(
            stream, columns, kind="view", statement_index=ctx.index, temporary=False, complete=known.complete
        )
    return [replace(_result(ctx, [found]), statement_type="CREATE_STREAM")]


def _flow(
    source: list[NamePart], target: list[NamePart], ctx: Context, *, renamed: bool = False
) -> tuple[list[ColumnEdge], TableEdge]:
    """Every column of one table to the other's, by name where it is renamed, else by position."""
    catalog = ctx.catalog
    known = catalog.find(source)
    name = known.name if known is not None else catalog.name_of(source)
    other = catalog.find(target)
    end = other.name if other is not None else ".".join(catalog.renamed_parts(source, target))
    for use, table in ((name, known), (end, other)):
        ctx.used.setdefault(use, TableUse(use, table.kind if table else "table", table.origin if table else "unknown"))
    if known is None:
        if renamed:
            catalog.unknown_renames.append(UnknownRename(ctx.index, name, end))
        return [], TableEdge(name, end, True)
    columns = known.columns
    ends = other.columns if other is not None and not renamed and len(other.columns) == len(columns) else columns
    edges = [
        ColumnEdge(name, column.name, (), end, to.name, None, "value", False)
        for column, to in zip(columns, ends, strict=True)
    ]
    return edges, TableEdge(name, end, not known.complete)


def _result(ctx: Context, flows: Sequence[tuple[list[ColumnEdge], TableEdge]]) -> StatementLineage:
    columns = tuple(edge for edges, _ in flows for edge in edges)
    tables = tuple(table for _, table in flows)
    return replace(statement_lineage(ctx, "ALTER", None, []), column_lineage=columns, table_lineage=tables)
