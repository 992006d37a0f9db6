"""The walk from what changes to all that depends on it, over the lineage of a project.

A statement is looked at when the walk comes to a table that it reads, so that a question costs what it reaches and not
what the project has.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lakebed.changes.result import Breakage, ColumnChange, Place, ReachedColumn
from lakebed.lineage.contract import AnalyzeResult, ColumnEdge, Issue, StatementLineage
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.graph import result_name

# Statements that need their target to be there.
_WRITERS = frozenset({"INSERT", "UPDATE", "MERGE", "DELETE", "ALTER", "TRUNCATE", "COPY"})

ColumnKey = tuple[str, str]
# Where a star of one branch must be as wide as the others.
_SET_OPERATION = re.compile(r"\b(UNION|INTERSECT|EXCEPT|MINUS)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Visit:
    """A column on the way; `gone` where it is no longer there under its name, else its values change."""

    table: str
    column: str
    gone: bool
    path: tuple[str, ...]
    approximate: bool


class StatementIndex:
    """Which statements read a table, and which of their edges start at a column."""

    def __init__(self, result: AnalyzeResult, texts: ScriptTexts, fold: Callable[[str], str]) -> None:
        self.statements = result.statements
        self.texts = texts
        self.fold = fold
        self._readers: dict[str, list[int]] = {}
        self._edges: dict[int, dict[ColumnKey, list[ColumnEdge]]] = {}
        self._named: dict[int, dict[ColumnKey, int]] = {}
        for place, statement in enumerate(result.statements):
            tables = {reference.table for reference in statement.references}
            tables.update(edge.source for edge in statement.table_lineage)
            for table in {fold(table) for table in tables}:
                self._readers.setdefault(table, []).append(place)
        self._writers: dict[str, list[int]] = {}
        for place, statement in enumerate(result.statements):
            if statement.target is not None:
                self._writers.setdefault(fold(statement.target), []).append(place)

    def readers(self, table: str) -> list[int]:
        return self._readers.get(self.fold(table), [])

    def writers(self, table: str) -> list[int]:
        """The statements that need a table to write into it; the one that makes it does not."""
        places = self._writers.get(self.fold(table), [])
        return [place for place in places if self.statements[place].statement_type in _WRITERS]

    def touching(self, table: str) -> list[StatementLineage]:
        """The statements that read, make or write a table."""
        places = dict.fromkeys([*self._readers.get(self.fold(table), []), *self._writers.get(self.fold(table), [])])
        return [self.statements[place] for place in places]

    def edges(self, place: int, table: str, column: str) -> list[ColumnEdge]:
        """The edges of a statement that start at a column."""
        index = self._edges.get(place)
        if index is None:
            index = self._edges[place] = {}
            for edge in self.statements[place].column_lineage:
                index.setdefault((self.fold(edge.source_table), self.fold(edge.source_column)), []).append(edge)
        return index.get((self.fold(table), self.fold(column)), [])

    def named_at(self, place: int, table: str, column: str) -> int | None:
        """Where a statement names a column, or with an empty column the table."""
        named = self._named.get(place)
        if named is None:
            named = self._named[place] = {
                (self.fold(one.table), self.fold(one.column)): one.start for one in self.statements[place].references
            }
        return named.get((self.fold(table), self.fold(column)))

    def place(self, statement: StatementLineage, start: int | None) -> Place:
        line, _ = self.texts.line_and_column(statement.file, statement.span.start if start is None else start)
        return Place(statement.statement_index, statement.statement_type, statement.file, line)


class ImpactWalk:
    """The walk of one change."""

    def __init__(
        self,
        index: StatementIndex,
        change: ColumnChange,
        count_conflicts: Callable[[StatementLineage, str, str], list[Issue]],
    ) -> None:
        self._index = index
        self._change = change
        self._count_conflicts = count_conflicts
        self.reached: dict[tuple[str, str | None, str, int], ReachedColumn] = {}
        self.breaks: dict[tuple[int, str, str | None], Breakage] = {}
        self._seen: set[tuple[str, str, bool]] = set()
        self._queue: deque[_Visit] = deque()

    def run(self, columns: Iterable[str]) -> None:
        """Follows the change of these columns of the table, and where it is the whole table, of the table."""
        change = self._change
        gone = change.kind in ("drop", "rename")
        if change.column is None and gone:
            self._table_goes(change.table)
        for column in [change.column] if change.column is not None else columns:
            # whoever names a table that goes is broken by the table, whatever columns it names
            self._visit(
                _Visit(change.table, column, gone and change.column is not None, (change.table + "." + column,), False)
            )
        while self._queue:
            self._step(self._queue.popleft())

    def _table_goes(self, table: str) -> None:
        index = self._index
        for place in index.readers(table):
            start = index.named_at(place, table, "")
            if start is not None:
                self._break(place, table, None, ("table",), f"it reads {table}", start)
        for place in index.writers(table):
            self._break(place, table, None, ("target",), f"it writes {table}", None)

    def _visit(self, visit: _Visit) -> None:
        fold = self._index.fold
        key = (fold(visit.table), fold(visit.column), visit.gone)
        if key not in self._seen:
            self._seen.add(key)
            self._queue.append(visit)

    def _step(self, visit: _Visit) -> None:
        index = self._index
        change_of_width = self._change.kind == "drop"
        for place in index.readers(visit.table):
            edges = index.edges(place, visit.table, visit.column)
            start = index.named_at(place, visit.table, visit.column)
            statement = index.statements[place]
            gone = visit.gone
            if gone and start is not None:
                roles = tuple(dict.fromkeys(edge.role for edge in edges)) or ("named",)
                self._break(place, visit.table, visit.column, roles, self._reason(visit), start)
                gone = False
            elif self._shifts(gone, statement, edges):
                reason = f"its star gives {statement.target} other columns than it takes, once {visit.path[0]} is gone"
                self._break(place, visit.table, visit.column, ("value",), reason, None)
                gone = False
            elif gone and edges and change_of_width and _SET_OPERATION.search(index.texts.sql(statement)):
                for issue in self._count_conflicts(statement, visit.table, visit.column):
                    where = statement.span.start + (issue.span.start if issue.span is not None else 0)
                    self._break(place, visit.table, visit.column, ("value",), issue.message, where)
            for edge in edges:
                self._follow(visit, statement, edge, gone, start)
            if not edges:
                self._follow_star(visit, statement, place, gone)

    def _shifts(self, gone: bool, statement: StatementLineage, edges: list[ColumnEdge]) -> bool:
        """Whether a star gives an INSERT one column less than it takes by position."""
        by_position = statement.statement_type == "INSERT" and any(edge.position is not None for edge in edges)
        return gone and by_position and self._change.kind == "drop"

    def _reason(self, visit: _Visit) -> str:
        name = f"{visit.table}.{visit.column}"
        change = self._change
        if change.kind == "rename" and len(visit.path) == 1:
            return f"it names {name}, which is called {change.to} then"
        if len(visit.path) == 1:
            return f"it names {name}, which is gone"
        became = f"is called {change.to} then" if change.kind == "rename" else "is gone too"
        return f"it names {name}, which {became}: a star passes it on from {visit.path[0]}"

    def _follow(
        self, visit: _Visit, statement: StatementLineage, edge: ColumnEdge, gone: bool, start: int | None
    ) -> None:
        target = statement.target or result_name(statement)
        approximate = visit.approximate or edge.approximate
        end = f"{target}.{edge.target_column}" if edge.target_column is not None else target
        path = (*visit.path, end)
        self._reach(target, edge.target_column, edge.role, path, statement, start, approximate)
        if edge.target_column is not None:
            # a table that is there already keeps its columns, whatever is written into it
            passed_on = gone and edge.role == "value" and statement.statement_type not in _WRITERS
            self._visit(_Visit(target, edge.target_column, passed_on, path, approximate))
        else:
            # which rows there are: every column of the target depends on it
            for column in dict.fromkeys(statement.outputs):
                self._visit(_Visit(target, column, False, path, approximate))

    def _follow_star(self, visit: _Visit, statement: StatementLineage, place: int, gone: bool) -> None:
        """A star that could not be expanded passes the column on under its own name, as far as anyone knows."""
        passes = any(
            e.approximate and self._index.fold(e.source) == self._index.fold(visit.table)
            for e in statement.table_lineage
        )
        if not passes or statement.target is None or statement.star_expansion not in ("none", "partial"):
            return
        path = (*visit.path, f"{statement.target}.{visit.column}")
        self._reach(statement.target, visit.column, "value", path, statement, None, True)
        self._visit(_Visit(statement.target, visit.column, gone, path, True))

    def _reach(
        self,
        table: str,
        column: str | None,
        role: str,
        path: tuple[str, ...],
        statement: StatementLineage,
        start: int | None,
        approximate: bool,
    ) -> None:
        key = (table, column, role, statement.statement_index)
        known = self.reached.get(key)
        if known is None or (known.approximate and not approximate):
            place = self._index.place(statement, start)
            self.reached[key] = ReachedColumn(self._change, table, column, role, path, place, approximate)

    def _break(
        self, place: int, table: str, column: str | None, roles: tuple[str, ...], reason: str, start: int | None
    ) -> None:
        statement = self._index.statements[place]
        key = (statement.statement_index, self._index.fold(table), column)
        if key not in self.breaks:
            where = self._index.place(statement, start)
            self.breaks[key] = Breakage(self._change, table, column, roles, reason, where)


def unanalysed(index: StatementIndex) -> Iterator[Place]:
    """Statements of which nothing is known: a change may break them too."""
    for statement in index.statements:
        if statement.statement_type == "UNKNOWN":
            yield index.place(statement, None)
