"""The graph over all statements: what a column comes from, what it reaches, and by which way.

Nodes are columns; a table as a whole is a node too, so that `filter` and `join` edges have somewhere to end. Building
is linear in the edges, and every question walks only what it reaches, so that ten thousand statements are no matter.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from lakebed.errors import LineageError
from lakebed.lineage.contract import VALUE_ROLES, AnalyzeResult, ColumnEdge, StatementLineage


@dataclass(frozen=True, slots=True, order=True)
class ColumnId:
    """A column of a table, or of the result of a query; without a name it is the table's rows."""

    table: str
    column: str = ""

    def __str__(self) -> str:
        return f"{self.table}.{self.column}" if self.column else self.table


@dataclass(frozen=True, slots=True)
class Step:
    """One edge of the graph, and the statement that makes it."""

    source: ColumnId
    target: ColumnId
    role: str
    approximate: bool
    statement_index: int


@dataclass(frozen=True, slots=True)
class Reached:
    """A column that a walk found: how far away, and whether every way to it is certain."""

    column: ColumnId
    distance: int
    approximate: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "table": self.column.table,
            "column": self.column.column or None,
            "distance": self.distance,
            "approximate": self.approximate,
        }


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change of a column or table reaches."""

    columns: tuple[Reached, ...]
    tables: tuple[str, ...]
    statements: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "columns": [column.to_dict() for column in self.columns],
            "tables": list(self.tables),
            "statements": list(self.statements),
        }


@dataclass(frozen=True, slots=True)
class _Way:
    step: Step
    before: "_Way | None"

    def steps(self) -> tuple[Step, ...]:
        return tuple(reversed([way.step for way in self._back()]))

    def visits(self, column: ColumnId) -> bool:
        return any(way.step.target == column for way in self._back())

    def _back(self) -> "Iterator[_Way]":
        way: _Way | None = self
        while way is not None:
            yield way
            way = way.before


def result_name(statement: StatementLineage) -> str:
    """What the output of a query is called in the graph."""
    return f"<statement {statement.statement_index}>"


class LineageGraph:
    """Columns and the steps between them."""

    def __init__(self, statements: Iterable[StatementLineage]) -> None:
        self._down: dict[ColumnId, list[Step]] = {}
        self._up: dict[ColumnId, list[Step]] = {}
        self._by_table: dict[str, dict[str, ColumnId]] = {}
        self._folded: dict[str, str] = {}
        for statement in statements:
            self._add(statement)

    @classmethod
    def of(cls, result: AnalyzeResult) -> "LineageGraph":
        return cls(result.statements)

    def _add(self, statement: StatementLineage) -> None:
        target = statement.target or result_name(statement)
        seen: set[Step] = set()
        for name in statement.outputs:
            self._column(target, name)
        for edge in statement.column_lineage:
            step = self._step(edge, edge.target_table or target, statement.statement_index)
            if step not in seen:
                seen.add(step)
                self._down.setdefault(step.source, []).append(step)
                self._up.setdefault(step.target, []).append(step)

    def _step(self, edge: ColumnEdge, target: str, index: int) -> Step:
        source = self._column(edge.source_table, edge.source_column)
        end = self._column(target, edge.target_column or "")
        return Step(source, end, edge.role, edge.approximate, index)

    def _column(self, table: str, column: str) -> ColumnId:
        columns = self._by_table.get(table)
        if columns is None:
            columns = self._by_table[table] = {}
            self._folded.setdefault(table.lower(), table)
        known = columns.get(column)
        if known is None:
            known = columns[column] = ColumnId(table, column)
        return known

    def steps(self) -> Iterator[Step]:
        """Every edge of the graph."""
        for steps in self._down.values():
            yield from steps

    def find(self, name: str) -> tuple[ColumnId, ...]:
        """The columns that `table.column` or `table` names, without regard to case; a table stands for all of its."""
        table = self._folded.get(name.lower())
        if table is not None:
            return tuple(column for column in self._by_table[table].values() if column.column)
        head, _, last = name.rpartition(".")
        table = self._folded.get(head.lower())
        if table is not None:
            found = [c for key, c in self._by_table[table].items() if key.lower() == last.lower() and key]
            if found:
                return tuple(found)
            raise LineageError(
                f"{table} has no column {last} in this lineage",
                remedy=f"It has {', '.join(sorted(key for key in self._by_table[table] if key)) or 'none'}.",
            )
        raise LineageError(
            f"{name} does not occur in this lineage", remedy=f"Tables are {', '.join(sorted(self._by_table)[:20])}."
        )

    def upstream(
        self, start: ColumnId | Sequence[ColumnId], *, values_only: bool = False, depth: int | None = None
    ) -> tuple[Reached, ...]:
        """The columns that these come from, nearest first."""
        return self._walk(start, self._up, backwards=True, values_only=values_only, depth=depth)

    def downstream(
        self, start: ColumnId | Sequence[ColumnId], *, values_only: bool = False, depth: int | None = None
    ) -> tuple[Reached, ...]:
        """The columns that these reach, nearest first; filters and joins reach every column of what they decide."""
        return self._walk(start, self._down, backwards=False, values_only=values_only, depth=depth)

    def _walk(
        self,
        start: ColumnId | Sequence[ColumnId],
        steps: dict[ColumnId, list[Step]],
        *,
        backwards: bool,
        values_only: bool,
        depth: int | None,
    ) -> tuple[Reached, ...]:
        begin = [start] if isinstance(start, ColumnId) else list(start)
        # approximate is the weaker state: a column reached again with certainty is walked again, once
        best: dict[ColumnId, tuple[int, bool]] = dict.fromkeys(begin, (0, False))
        queue = deque((column, 0, False) for column in begin)
        while queue:
            column, distance, doubt = queue.popleft()
            if depth is not None and distance >= depth:
                continue
            for step in self._next(column, steps, backwards):
                if values_only and step.role not in VALUE_ROLES:
                    continue
                end = step.source if backwards else step.target
                unsure = doubt or step.approximate
                known = best.get(end)
                if known is None or (known[1] and not unsure):
                    near = distance + 1 if known is None else known[0]
                    # the rows of a table changed: every column of it did
                    whole = [end] if backwards or end.column else [end, *self._by_table[end.table].values()]
                    for reached in whole:
                        seen = best.get(reached)
                        if seen is None or (seen[1] and not unsure):
                            best[reached] = (near if seen is None else seen[0], unsure)
                            queue.append((reached, near, unsure))
        found = [Reached(c, distance, doubt) for c, (distance, doubt) in best.items() if distance > 0 and c.column]
        return tuple(sorted(found, key=lambda reached: (reached.distance, reached.column)))

    def _next(self, column: ColumnId, steps: dict[ColumnId, list[Step]], backwards: bool) -> Iterator[Step]:
        yield from steps.get(column, ())
        if backwards and column.column:
            rows = self._by_table.get(column.table, {}).get("")
            if rows is not None:
                yield from steps.get(rows, ())

    def paths(self, source: ColumnId, target: ColumnId, *, limit: int = 100) -> tuple[tuple[Step, ...], ...]:
        """The ways from one column to another by value, shortest first, at most `limit` of them."""
        useful = {reached.column for reached in self.upstream(target, values_only=True)} | {target}
        useful &= {reached.column for reached in self.downstream(source, values_only=True)} | {source}
        circles = self._has_circle(useful)
        found: list[tuple[Step, ...]] = []
        # a way is its last step and the way before: ways share their beginnings instead of copying them
        queue: deque[_Way] = deque([_Way(step, None) for step in self._values_from(source) if step.target in useful])
        while queue and len(found) < limit:
            way = queue.popleft()
            if way.step.target == target:
                found.append(way.steps())
                continue
            for step in self._values_from(way.step.target):
                if step.target in useful and not (circles and (step.target == source or way.visits(step.target))):
                    queue.append(_Way(step, way))
        return tuple(found)

    def _values_from(self, column: ColumnId) -> Iterator[Step]:
        return (step for step in self._down.get(column, ()) if step.role in VALUE_ROLES)

    def _has_circle(self, columns: set[ColumnId]) -> bool:
        edges = {column: [s.target for s in self._values_from(column) if s.target in columns] for column in columns}
        try:
            TopologicalSorter(edges).prepare()
        except CycleError:
            return True
        return False

    def impact(self, start: ColumnId | Sequence[ColumnId]) -> Impact:
        """What a change reaches: columns, their tables, and the statements on the way."""
        columns = self.downstream(start)
        begin = [start] if isinstance(start, ColumnId) else list(start)
        reached = {*begin, *(column.column for column in columns)}
        statements = {step.statement_index for column in reached for step in self._down.get(column, ())}
        tables = dict.fromkeys(column.column.table for column in columns)
        return Impact(columns, tuple(tables), tuple(sorted(statements)))
