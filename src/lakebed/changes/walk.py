"""The walk from what changes to all that depends on it, over the lineage of a project.

What reads a column is filed once, under the column, so that a question costs what it reaches and not what the project
has.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, overload

from lakebed.changes.result import Breakage, ColumnChange, Place, ReachedColumn
from lakebed.lineage.contract import AnalyzeResult, ColumnEdge, Issue, StatementLineage
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.graph import result_name

# Statements that need their target to be there.
_WRITERS = frozenset({"INSERT", "UPDATE", "MERGE", "DELETE", "ALTER", "TRUNCATE", "COPY"})

# Issues of files that have no statement at all.
_UNREAD = frozenset({"UNREADABLE_FILE", "TEMPLATE_ERROR"})
ColumnKey = tuple[str, str]
# Where a star of one branch must be as wide as the others.
_SET_OPERATION = re.compile(r"\b(UNION|INTERSECT|EXCEPT|MINUS)\b", re.IGNORECASE)


# A column, and the one before it on the way: (table, column, the way before).
Way: TypeAlias = "tuple[str, str | None, Way | None]"
# An edge as a walk needs it: target, its column or None for its rows, role, approximate or not, the number of the
# column that it ends in, and the number of what is reached by it: the same end in the same role of the same statement.
Flow: TypeAlias = "tuple[str, str | None, str, bool, int, int]"
# What names or reads a column: a statement's place, where it names the column first, and what flows from the column.
Reader: TypeAlias = "tuple[int, int | None, list[Flow]]"
# A column on the way: its number, table and name; whether it is gone under its name, else its values change; how a walk
# came to it, and whether that is certain. Bare tuples, here and below: a walk may make a hundred thousand.
Visit: TypeAlias = "tuple[int, str, str, bool, Way, bool]"
# What was reached: table, column, role, way, the statement's place, where it names what reached it, approximate.
Record: TypeAlias = "tuple[str, str | None, str, Way, int, int | None, bool]"


class ReachedColumns(Sequence[ReachedColumn]):
    """What a walk reached: each is made when it is looked at, because a change may reach all that there is."""

    def __init__(self, index: "StatementIndex", change: ColumnChange, records: list[Record]) -> None:
        self._index = index
        self._change = change
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, place: int) -> ReachedColumn: ...

    @overload
    def __getitem__(self, place: slice) -> list[ReachedColumn]: ...

    def __getitem__(self, place: int | slice) -> ReachedColumn | list[ReachedColumn]:
        if isinstance(place, slice):
            return [self._made(record) for record in self._records[place]]
        return self._made(self._records[place])

    def _made(self, record: Record) -> ReachedColumn:
        table, column, role, way, place, start, approximate = record
        where = self._index.place(self._index.statements[place], start)
        return ReachedColumn(self._change, table, column, role, path_of(way), where, approximate)


def path_of(way: "Way | None") -> tuple[str, ...]:
    """The columns of a way, from its start."""
    names: list[str] = []
    while way is not None:
        table, column, way = way
        names.append(table if column is None else f"{table}.{column}")
    return tuple(names[::-1])


class StatementIndex:
    """Which statements read a table, and which of their edges start at a column."""

    def __init__(self, result: AnalyzeResult, texts: ScriptTexts, fold: Callable[[str], str]) -> None:
        self.statements = result.statements
        self.texts = texts
        self.fold = fold
        self._readers: dict[str, list[int]] = {}
        self._edges: dict[int, dict[ColumnKey, list[ColumnEdge]]] = {}
        self._named: dict[int, dict[ColumnKey, int]] = {}
        # columns are numbered: a walk compares numbers instead of names
        self._numbers: dict[ColumnKey, int] = {}
        # who reads or names a column
        self._by_column: dict[int, list[Reader]] = {}
        self._ends = 0
        self._stars: dict[str, list[int]] = {}
        self._has_stars = any(one.star_expansion in ("none", "partial") for one in result.statements)
        for place, statement in enumerate(result.statements):
            tables = {reference.table for reference in statement.references}
            tables.update(edge.source for edge in statement.table_lineage)
            for table in {fold(table) for table in tables}:
                self._readers.setdefault(table, []).append(place)
            self._add_flows(place)
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

    def number(self, table: str, column: str) -> int:
        """The number of a column."""
        return self._numbers.setdefault((self.fold(table), self.fold(column)), len(self._numbers))

    def numbers(self, table: str, columns: Iterable[str]) -> list[tuple[str, int]]:
        """Columns of one table, each with its number."""
        fold, numbers, folded = self.fold, self._numbers, self.fold(table)
        return [(column, numbers.setdefault((folded, fold(column)), len(numbers))) for column in columns]

    def column_readers(self, number: int) -> list[Reader]:
        """The statements that read or name a column, in order."""
        return self._by_column.get(number, [])

    def may_be_read(self, number: int) -> bool:
        """Whether a statement reads or names a column, or has a star that may stand for it."""
        return self._has_stars or number in self._by_column

    def _add_flows(self, place: int) -> None:
        """Files what a statement makes of columns, and where it names them, under each column."""
        fold, statement = self.fold, self.statements[place]
        numbers = self._numbers
        found: dict[ColumnKey, tuple[int | None, list[Flow]]] = {}
        ends: dict[tuple[int, str], int] = {}
        for source, column, _, into, end, _, role, approximate in statement.column_lineage:
            # a renamed table is the target of its edges alone
            target = statement.target or into or result_name(statement)
            number = numbers.setdefault((fold(target), fold(end or "")), len(numbers))
            reached = ends.setdefault((number, role), self._ends + len(ends))
            flow = (target, end, role, approximate, number, reached)
            key = (fold(source), fold(column))
            if key in found:
                found[key][1].append(flow)
            else:
                found[key] = (None, [flow])
        for table, column, where in statement.references:
            if column:
                key = (fold(table), fold(column))
                found[key] = (where, found[key][1] if key in found else [])
        for key, (start, flows) in found.items():
            self._by_column.setdefault(numbers.setdefault(key, len(numbers)), []).append((place, start, flows))
        self._ends += len(ends)

    def star_readers(self, table: str) -> list[int]:
        """The statements that make a table with a star over this one that could not be expanded."""
        if not self._has_stars:
            return []
        key = self.fold(table)
        places = self._stars.get(key)
        if places is None:
            places = self._stars[key] = [
                place
                for place in self._readers.get(key, ())
                if (statement := self.statements[place]).target is not None
                and statement.star_expansion in ("none", "partial")
                and any(edge.approximate and self.fold(edge.source) == key for edge in statement.table_lineage)
            ]
        return places

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
        self._reached: dict[int | tuple[int, int], Record] = {}
        self.breaks: dict[tuple[int, str, str | None], Breakage] = {}
        # columns that were visited as changed, and as gone
        self._seen: tuple[set[int], set[int]] = (set(), set())
        # statements whose rows depend on the change: every column of what they make was visited
        self._rows: set[int] = set()
        self._queue: deque[Visit] = deque()

    @property
    def reached(self) -> ReachedColumns:
        """What the walk reached."""
        return ReachedColumns(self._index, self._change, list(self._reached.values()))

    def run(self, columns: Iterable[str]) -> None:
        """Follows the change of these columns of the table, and where it is the whole table, of the table."""
        change = self._change
        gone = change.kind in ("drop", "rename")
        if change.column is None and gone:
            self._table_goes(change.table)
        for column in [change.column] if change.column is not None else columns:
            # whoever names a table that goes is broken by the table, whatever columns it names
            number = self._index.number(change.table, column)
            lost = gone and change.column is not None
            self._visit((number, change.table, column, lost, (change.table, column, None), False))
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

    def _visit(self, visit: Visit) -> None:
        seen = self._seen[visit[3]]
        if visit[0] not in seen:
            seen.add(visit[0])
            self._queue.append(visit)

    def _step(self, visit: Visit) -> None:
        index, reached = self._index, self._reached
        number, table, column, gone, way, doubt = visit
        stars = index.star_readers(table)
        read: set[int] = set()
        broken: set[int] = set()
        for place, start, flows in index.column_readers(number):
            lost = gone and self._still_gone(visit, place, start, flows)
            if stars:
                (read if flows else broken if gone != lost else set()).add(place)
            for target, end, role, approximate, end_number, record in flows:
                unsure = doubt or approximate
                step: Way = (target, end, way)
                known = reached.get(record)
                if known is None or (known[6] and not unsure):
                    reached[record] = (target, end, role, step, place, start, unsure)
                if end is not None:
                    passed_on = lost and role == "value" and not self._keeps_columns(place)
                    seen = self._seen[passed_on]
                    if end_number not in seen:
                        seen.add(end_number)
                        self._queue.append((end_number, target, end, passed_on, step, unsure))
                elif place not in self._rows:
                    self._rows_change(place, target, step, unsure)
        for place in stars:
            if place not in read:
                self._follow_star(column, way, place, gone and place not in broken)

    def _rows_change(self, place: int, target: str, way: Way, approximate: bool) -> None:
        """Which rows there are: every column of the target depends on it."""
        self._rows.add(place)
        seen, index = self._seen[False], self._index
        for name, number in index.numbers(target, dict.fromkeys(index.statements[place].outputs)):
            if number not in seen:
                seen.add(number)
                # half of all columns are the last of their way
                if index.may_be_read(number):
                    self._queue.append((number, target, name, False, way, approximate))

    def _keeps_columns(self, place: int) -> bool:
        """Whether the target is there already: it keeps its columns, whatever is written into it."""
        statement = self._index.statements[place]
        return statement.target is not None and statement.statement_type in _WRITERS

    def _still_gone(self, visit: Visit, place: int, start: int | None, flows: list[Flow]) -> bool:
        """Tells what a statement loses with the column; whether it still passes the loss on."""
        _, table, column, _, way, _ = visit
        statement = self._index.statements[place]
        if start is not None:
            roles = tuple(dict.fromkeys(flow[2] for flow in flows)) or ("named",)
            self._break(place, table, column, roles, self._reason(table, column, path_of(way)), start)
            return False
        if self._shifts(statement, table, column):
            first = path_of(way)[0]
            reason = f"its star gives {statement.target} other columns than it takes, once {first} is gone"
            self._break(place, table, column, ("value",), reason, None)
            return False
        if flows and self._change.kind == "drop" and _SET_OPERATION.search(self._index.texts.sql(statement)):
            for issue in self._count_conflicts(statement, table, column):
                where = statement.span.start + (issue.span.start if issue.span is not None else 0)
                self._break(place, table, column, ("value",), issue.message, where)
        return True

    def _shifts(self, statement: StatementLineage, table: str, column: str) -> bool:
        """Whether a star gives an INSERT one column less than it takes by position."""
        if statement.statement_type != "INSERT" or self._change.kind != "drop":
            return False
        fold = self._index.fold
        wanted = fold(table), fold(column)
        return any(
            edge.position is not None and (fold(edge.source_table), fold(edge.source_column)) == wanted
            for edge in statement.column_lineage
        )

    def _reason(self, table: str, column: str, path: tuple[str, ...]) -> str:
        name, change = f"{table}.{column}", self._change
        if change.kind == "rename" and len(path) == 1:
            return f"it names {name}, which will be called {change.to}"
        if len(path) == 1:
            return f"it names {name}, which is gone"
        became = f"will be called {change.to}" if change.kind == "rename" else "is gone too"
        return f"it names {name}, which {became}: a star passes it on from {path[0]}"

    def _follow_star(self, column: str, way: Way, place: int, gone: bool) -> None:
        """A star that could not be expanded passes the column on under its own name, as far as anyone knows."""
        statement = self._index.statements[place]
        target = statement.target or result_name(statement)
        step: Way = (target, column, way)
        number = self._index.number(target, column)
        self._reached.setdefault((place, number), (target, column, "value", step, place, None, True))
        self._visit((number, target, column, gone, step, True))

    def _break(
        self, place: int, table: str, column: str | None, roles: tuple[str, ...], reason: str, start: int | None
    ) -> None:
        statement = self._index.statements[place]
        key = (statement.statement_index, self._index.fold(table), column)
        if key not in self.breaks:
            where = self._index.place(statement, start)
            self.breaks[key] = Breakage(self._change, table, column, roles, reason, where)


def unanalysed(index: StatementIndex, issues: Iterable[Issue]) -> Iterator[Place]:
    """Statements and files of which nothing is known: a change may break them too."""
    for statement in index.statements:
        if statement.statement_type == "UNKNOWN":
            yield index.place(statement, None)
    unread = [issue.file for issue in issues if issue.code in _UNREAD and issue.severity == "error"]
    for file in dict.fromkeys(unread):
        yield Place(None, "UNKNOWN", file, 1)
