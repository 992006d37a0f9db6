"""A column with another type, followed to where its type matters.

Statements that read it are resolved again with the new type: what their columns become is followed further, and what
no longer fits is told. Statements of which nothing changes end the walk, however many read them.
"""

from collections import deque
from collections.abc import Iterable

from lakebed.changes.names import ProjectNames
from lakebed.changes.resolve_again import ChangedColumns, StatementResolver
from lakebed.changes.result import Breakage, ColumnChange, ReachedColumn
from lakebed.changes.walk import ColumnKey, StatementIndex
from lakebed.lineage.contract import Issue, StatementLineage
from lakebed.lineage.data_types import same_name
from lakebed.lineage.type_checks import TYPE_CONFLICT


class RetypeWalk:
    """The walk of one new type."""

    def __init__(
        self,
        index: StatementIndex,
        names: ProjectNames,
        resolver: StatementResolver,
        change: ColumnChange,
    ) -> None:
        self._index = index
        self._names = names
        self._resolver = resolver
        self._change = change
        # the types that columns have by now, and how the walk came to them
        self._types: dict[ColumnKey, str] = {}
        self._paths: dict[ColumnKey, tuple[str, ...]] = {}
        self.reached: list[ReachedColumn] = []
        self.breaks: list[Breakage] = []

    def run(self) -> None:
        """Follows the change."""
        change = self._change
        column, new = change.column or "", change.to or ""
        old = self._names.type_of(change.table, column)
        if old is not None and same_name(old, new):
            return
        self._set(change.table, column, new, (change.subject,))
        queue = deque(self._index.readers(change.table))
        waiting = set(queue)
        turns: dict[int, int] = {}
        while queue:
            place = queue.popleft()
            waiting.discard(place)
            turns[place] = turns.get(place, 0) + 1
            statement = self._index.statements[place]
            # in a circle of views types settle after a turn or two
            if not self._reads_changed(place, statement) or turns[place] > 3:
                continue
            for target in self._look_again(place, statement):
                for reader in self._index.readers(target):
                    if reader not in waiting:
                        waiting.add(reader)
                        queue.append(reader)

    def _set(self, table: str, column: str, kind: str, path: tuple[str, ...]) -> None:
        key = self._key(table, column)
        self._types[key] = kind
        self._paths.setdefault(key, path)

    def _key(self, table: str, column: str) -> ColumnKey:
        return self._index.fold(table), self._index.fold(column)

    def _reads_changed(self, place: int, statement: StatementLineage) -> bool:
        return any(
            self._index.edges(place, *key) or self._index.named_at(place, *key) is not None
            for key in self._changed_in(statement, self._types)
        )

    def _changed_in(self, statement: StatementLineage, keys: Iterable[ColumnKey]) -> list[ColumnKey]:
        """Those of the columns that belong to tables which the statement reads."""
        tables = {self._index.fold(use.name) for use in statement.tables}
        return [key for key in keys if key[0] in tables]

    def _look_again(self, place: int, statement: StatementLineage) -> set[str]:
        """Resolves a statement with the new types; returns its target where columns of it got other types."""
        after = self._resolver.resolve(statement, ChangedColumns(self._types))
        if any(issue.code == TYPE_CONFLICT for issue in after.issues):
            before = self._resolver.resolve(statement, ChangedColumns())
            for issue in after.new_issues(before, [TYPE_CONFLICT]):
                self._break(statement, issue)
        target = statement.target
        if target is None:
            return set()
        changed: set[str] = set()
        for column, kind in after.types.items():
            old = self._names.type_of(target, column)
            key = self._key(target, column)
            if kind is None or (old is not None and same_name(old, kind)) or self._types.get(key) == kind:
                continue
            path = (*self._path_to(place, statement, column), f"{target}.{column}")
            if key not in self._types:
                where = self._index.place(statement, None)
                self.reached.append(ReachedColumn(self._change, target, column, "value", path, where, old is None))
            self._set(target, column, kind, path)
            changed.add(target)
        return changed

    def _path_to(self, place: int, statement: StatementLineage, column: str) -> tuple[str, ...]:
        for key in self._changed_in(statement, self._paths):
            if any(edge.target_column == column for edge in self._index.edges(place, *key)):
                return self._paths[key]
        return (self._change.subject,)

    def _break(self, statement: StatementLineage, issue: Issue) -> None:
        start = statement.span.start + (issue.span.start if issue.span is not None else 0)
        where = self._index.place(statement, start)
        broken = Breakage(self._change, self._change.table, self._change.column, ("type",), issue.message, where)
        if broken not in self.breaks:
            self.breaks.append(broken)
