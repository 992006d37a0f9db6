"""Where the SQL says that one column goes into another: the place that names the source, and the one that makes it."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from lakebed.lineage.contract import Span, StatementLineage
from lakebed.lineage.dialects import find_dialect
from lakebed.lineage.parse import ScriptParser
from lakebed.lineage.project import ProjectLineage
from lakebed.ui.analyses import STDIN


@dataclass(frozen=True, slots=True)
class EdgePlace:
    """A statement that makes an edge, with the characters that name its source and those that make its target."""

    statement: int
    statement_type: str
    file: str
    line: int
    start: int
    end: int
    source: Span | None
    target: Span | None


def edge_places(
    traced: ProjectLineage,
    dialect: str,
    *,
    source: tuple[str, str | None],
    target: tuple[str, str | None],
) -> tuple[EdgePlace, ...]:
    """The statements that lead from a column to another, in their order."""
    return tuple(_places(traced, dialect, source, target))


def _places(
    traced: ProjectLineage, dialect: str, source: tuple[str, str | None], target: tuple[str, str | None]
) -> Iterator[EdgePlace]:
    texts = traced.texts
    for statement in traced.result.statements:
        if not _leads(statement, source, target):
            continue
        line, _ = texts.line_and_column(statement.file, statement.span.start)
        yield EdgePlace(
            statement.statement_index,
            statement.statement_type,
            statement.file or STDIN,
            line,
            *statement.span,
            _named(statement, *source),
            output_places(texts.sql(statement), statement, dialect).get(target[1] or ""),
        )


def _leads(statement: StatementLineage, source: tuple[str, str | None], target: tuple[str, str | None]) -> bool:
    own = statement.target or f"<statement {statement.statement_index}>"
    if source[1] is None and target[1] is None:
        return any(edge.source == source[0] and (edge.target or own) == target[0] for edge in statement.table_lineage)
    return any(
        edge.source_table == source[0]
        and (edge.target_table or own) == target[0]
        and source[1] in (None, edge.source_column)
        and target[1] in (None, edge.target_column)
        for edge in statement.column_lineage
    )


def _named(statement: StatementLineage, table: str, column: str | None) -> Span | None:
    """Where the statement names the column first, or the table where it names no column of it."""
    for wanted in (column or "", ""):
        for one in statement.references:
            if one.table == table and one.column == wanted and one.start >= 0:
                name = one.column or one.table.rpartition(".")[2]
                return Span(one.start, one.start + len(name))
    return None


def output_places(sql: str, statement: StatementLineage, dialect: str) -> dict[str, Span]:
    """The expressions of the outermost query that give each column of a statement, as the syntax tree has them."""
    found = find_dialect(dialect)
    places: dict[str, Span] = {}
    for parsed in ScriptParser(found).statements(sql) if found is not None else ():
        query = _query(parsed.tree)
        if query is None:
            continue
        selects = query.selects
        by_name = {one.alias_or_name.lower(): one for one in reversed(selects)}
        star = next((one for one in selects if one.is_star), None)
        for position, column in enumerate(statement.outputs):
            chosen = by_name.get(column.lower())
            if chosen is None and star is None and position < len(selects):
                chosen = selects[position]
            # a column that only a star brings is made there
            span = _extent(star if chosen is None else chosen)
            if span is not None:
                begin = statement.span.start + parsed.offset
                places.setdefault(column, Span(begin + span.start, begin + span.end))
    return places


def _query(tree: exp.Expr | None) -> exp.Query | None:
    if isinstance(tree, exp.Query):
        return tree
    query = tree.args.get("expression") if tree is not None else None
    return query if isinstance(query, exp.Query) else None


def _extent(expression: exp.Expr | None) -> Span | None:
    """From the first to the last name in an expression."""
    places = [
        (int(node.meta["start"]), int(node.meta["end"]))
        for node in (expression.walk() if expression is not None else ())
        if node.meta.get("start") is not None and node.meta.get("end") is not None
    ]
    if not places:
        return None
    return Span(min(start for start, _ in places), max(end for _, end in places) + 1)
