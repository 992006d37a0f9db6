"""The part of a lineage that is looked at: some tables and their neighbours, placed, with the paths of one column."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from lakebed.lineage.contract import VALUE_ROLES
from lakebed.lineage.graph import ColumnId, LineageGraph, Reached
from lakebed.ui.layout import Box, place_boxes
from lakebed.ui.lineage_map import ColumnFacts, LineageMap, Link, TableFacts

BOX_WIDTH = 210
HEADER_HEIGHT = 38
ROW_HEIGHT = 22
BOX_PADDING = 6
# Columns that a box shows before it is asked for more.
FIRST_COLUMNS = 8
# A larger part begins with its tables alone, and draws one edge between two of them.
TABLES_WITH_COLUMNS = 40
EDGES_WITH_COLUMNS = 1_500

Mark = Literal["picked", "up", "down"]
Grouping = Literal["none", "folder", "schema"]
Detail = Literal["auto", "tables", "columns"]


@dataclass(frozen=True, slots=True)
class View:
    """What somebody wants to see."""

    tables: tuple[str, ...] = ()
    # the picked column, as (table, column)
    column: tuple[str, str] | None = None
    # how many steps up and down from the tables
    up: int = 1
    down: int = 1
    # the picked column's paths and nothing else
    only: bool = False
    # filters and joins too
    predicates: bool = False
    # tables whose columns in use are all shown, and those that show every column that is known
    expanded: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    # tables whose neighbours on one side are shown besides
    grown_up: frozenset[str] = frozenset()
    grown_down: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    group: Grouping = "none"
    # groups that are open: their tables stand for themselves
    opened: frozenset[str] = frozenset()
    detail: Detail = "auto"
    limit: int = 60


@dataclass(frozen=True, slots=True)
class NodeColumn:
    """A column that a box shows."""

    name: str
    type: str | None
    used: bool
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class Node:
    """A table, or a group of them, with its place."""

    id: str
    label: str
    kind: str
    resolution: str | None
    temporary: bool
    columns: tuple[NodeColumn, ...]
    # columns in use, and known ones, that are not shown
    more_used: int
    more_known: int
    # neighbours that are not shown
    more_up: int
    more_down: int
    # how many tables a group has
    members: int
    mark: Mark | None
    # the statements that write it, and the file of the first
    statements: tuple[int, ...]
    file: str | None
    x: int
    y: int
    width: int
    height: int
    layer: int


@dataclass(frozen=True, slots=True)
class Edge:
    """What flows from one box to another; without a column it begins or ends at the box."""

    id: str
    source: str
    source_column: str | None
    target: str
    target_column: str | None
    role: str
    approximate: bool
    mark: Mark | None
    statements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReachedColumn:
    """A column on a path of the picked one."""

    table: str
    column: str
    distance: int
    approximate: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The part that is looked at. `left_out` counts tables that the limit kept away."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    upstream: tuple[ReachedColumn, ...]
    downstream: tuple[ReachedColumn, ...]
    detail: Literal["tables", "columns"]
    tables: int
    left_out: int
    # names that the view asked for and that this lineage does not have
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class _Picked:
    """The columns on the paths of the picked one."""

    column: ColumnId | None = None
    up: frozenset[ColumnId] = frozenset()
    down: frozenset[ColumnId] = frozenset()
    upstream: tuple[ReachedColumn, ...] = ()
    downstream: tuple[ReachedColumn, ...] = ()
    tables: dict[str, None] = field(default_factory=dict)

    def of_column(self, table: str, column: str) -> Mark | None:
        key = ColumnId(table, column)
        if key == self.column:
            return "picked"
        return "up" if key in self.up else "down" if key in self.down else None

    def of_link(self, link: Link) -> Mark | None:
        """Whether a link lies on a path; filters and joins go to the rows, and so to each column of their table."""
        if self.column is None or link.source_column is None:
            return None
        source = ColumnId(link.source, link.source_column)
        ends = [ColumnId(link.target, link.target_column)] if link.target_column is not None else None
        if source in self.up and self._holds(self.up, link.target, ends, and_picked=True):
            return "up"
        if (source == self.column or source in self.down) and self._holds(self.down, link.target, ends):
            return "down"
        return None

    def _holds(
        self, columns: frozenset[ColumnId], table: str, ends: list[ColumnId] | None, *, and_picked: bool = False
    ) -> bool:
        if ends is not None:
            return ends[0] in columns or (and_picked and ends[0] == self.column)
        return any(one.table == table for one in columns) or (
            and_picked and self.column is not None and self.column.table == table
        )


def first_height(table: TableFacts) -> int:
    """How high the box of a table is before it is asked for more columns."""
    used = sum(column.used for column in table.columns)
    shown = min(used, FIRST_COLUMNS)
    return box_height(shown + (1 if shown < len(table.columns) else 0))


def box_height(rows: int) -> int:
    """How high a box with these rows below its header is."""
    return HEADER_HEIGHT + (rows * ROW_HEIGHT + BOX_PADDING if rows else 0)


def look_around(lineage: LineageMap, graph: LineageGraph, view: View) -> Neighbourhood:
    """The tables that a view shows, with columns, links and places."""
    picked = _pick(lineage, graph, view)
    unknown = [name for name in view.tables if name not in lineage.tables]
    if view.column is not None and picked.column is None:
        unknown.append(".".join(view.column))
    shown, left_out = _choose(lineage, view, picked)
    detail = _detail(view, len(shown))
    boxes = _Boxes(lineage, view, picked, shown, detail)
    edges = tuple(boxes.edges())
    return Neighbourhood(
        nodes=tuple(boxes.nodes(edges)),
        edges=edges,
        upstream=picked.upstream,
        downstream=picked.downstream,
        detail=detail,
        tables=len(lineage.tables),
        left_out=left_out,
        unknown=tuple(unknown),
    )


def _detail(view: View, tables: int) -> Literal["tables", "columns"]:
    if view.detail == "auto":
        return "columns" if tables <= TABLES_WITH_COLUMNS or view.only else "tables"
    return view.detail


def _pick(lineage: LineageMap, graph: LineageGraph, view: View) -> _Picked:
    if view.column is None:
        return _Picked()
    table, name = view.column
    facts = lineage.tables.get(table)
    if facts is None or all(column.name != name for column in facts.columns):
        return _Picked()
    column = ColumnId(table, name)
    values_only = not view.predicates
    upstream = _reached(column, graph.upstream(column, values_only=values_only))
    downstream = _reached(column, graph.downstream(column, values_only=values_only))
    up, down = (frozenset(ColumnId(one.table, one.column) for one in side) for side in (upstream, downstream))
    tables = dict.fromkeys([table, *(one.table for one in (*upstream, *downstream))])
    return _Picked(column, up, down, upstream, downstream, tables)


def _reached(column: ColumnId, found: Iterable[Reached]) -> tuple[ReachedColumn, ...]:
    return tuple(
        ReachedColumn(one.column.table, one.column.column, one.distance, one.approximate)
        for one in found
        if one.column != column
    )


def _choose(lineage: LineageMap, view: View, picked: _Picked) -> tuple[dict[str, None], int]:
    """The tables to show, nearest first, and how many the limit keeps away."""
    hidden = view.hidden
    if view.only and picked.column is not None:
        wanted = [name for name in picked.tables if name not in hidden]
        return dict.fromkeys(wanted[: view.limit]), max(0, len(wanted) - view.limit)
    focus = [name for name in view.tables if name in lineage.tables]
    if not focus and len(lineage.tables) <= view.limit:
        return dict.fromkeys(name for name in lineage.tables if name not in hidden), 0
    if picked.column is not None and picked.column.table not in focus:
        focus.append(picked.column.table)
    whole = not focus
    if whole:
        # a project that is too large to be shown begins where most comes together
        focus = [max(lineage.tables, key=lambda name: len(lineage.up[name]) + len(lineage.down[name]))]
    shown: dict[str, None] = dict.fromkeys(focus)
    # side by side, so that the limit takes from both
    ways = [_steps(lineage.up, focus, view.up), _steps(lineage.down, focus, view.down)]
    found = [name for pair in _alternately(ways) for name in pair]
    for tables, beside in ((view.grown_up, lineage.up), (view.grown_down, lineage.down)):
        found += [name for table in sorted(tables) for name in beside.get(table, ())]
    left_out = len(lineage.tables) - 1 if whole else 0
    for name in found:
        if name in shown or name in hidden:
            continue
        if len(shown) >= view.limit:
            left_out += 0 if whole else 1
            continue
        shown[name] = None
        left_out -= 1 if whole else 0
    return {name: None for name in shown if name not in hidden}, left_out


def _steps(beside: dict[str, dict[str, None]], focus: Iterable[str], depth: int) -> Iterator[list[str]]:
    """The neighbours of the neighbours, one list for each step."""
    current = list(focus)
    seen = set(current)
    for _ in range(depth):
        current = list(dict.fromkeys(name for table in current for name in beside[table] if name not in seen))
        if not current:
            return
        seen.update(current)
        yield current


def _alternately(ways: list[Iterator[list[str]]]) -> Iterator[list[str]]:
    while ways:
        for way in list(ways):
            step = next(way, None)
            if step is None:
                ways.remove(way)
            else:
                yield step


class _Boxes:
    """Tables and groups as boxes, and the edges between them."""

    def __init__(self, lineage: LineageMap, view: View, picked: _Picked, shown: dict[str, None], detail: str) -> None:
        self._lineage = lineage
        self._view = view
        self._picked = picked
        self._shown = shown
        self._detail = detail
        self._groups: dict[str, list[str]] = {}
        self._box: dict[str, str] = {}
        for name in shown:
            group = self._group(lineage.tables[name])
            self._box[name] = name if group is None else f"group:{group}"
            if group is not None:
                self._groups.setdefault(f"group:{group}", []).append(name)
        self._columns = {name: self._visible(lineage.tables[name]) for name in shown if self._box[name] == name}
        self._visible_names = {
            name: frozenset(column.name for column in columns) for name, columns in self._columns.items()
        }

    def _group(self, table: TableFacts) -> str | None:
        if self._view.group == "none":
            return None
        group = table.folder if self._view.group == "folder" else table.schema
        return None if not group or group in self._view.opened else group

    def _visible(self, table: TableFacts) -> tuple[NodeColumn, ...]:
        marked = [(column, self._picked.of_column(table.name, column.name)) for column in table.columns]
        if self._view.only and self._picked.column is not None:
            chosen = [one for one in marked if one[1] is not None]
        elif table.name in self._view.whole:
            chosen = marked
        elif table.name in self._view.expanded:
            chosen = [one for one in marked if one[0].used]
        else:
            room = 0 if self._detail == "tables" else FIRST_COLUMNS
            first = self._first(table.columns, room)
            chosen = [one for one in marked if one[1] is not None or one[0].name in first]
        return tuple(NodeColumn(column.name, column.type, column.used, mark) for column, mark in chosen)

    @staticmethod
    def _first(columns: Iterable[ColumnFacts], room: int) -> frozenset[str]:
        return frozenset([column.name for column in columns if column.used][:room])

    def edges(self) -> Iterator[Edge]:
        links = [
            link
            for link in self._lineage.links
            if link.source in self._shown
            and link.target in self._shown
            and (self._view.predicates or link.role in VALUE_ROLES or link.role == "table")
            and not (link.source_column is None and link.source == link.target)
        ]
        with_columns = len(links) <= EDGES_WITH_COLUMNS
        # the edge of a table says nothing where those of its columns are drawn
        told = {(link.source, link.target) for link in links if link.source_column is not None}
        merged: dict[tuple[str, str | None, str, str | None, str, Mark | None], tuple[dict[int, None], bool]] = {}
        for link in links:
            mark = self._picked.of_link(link)
            if link.role == "table" and (link.source, link.target) in told:
                continue
            if self._view.only and self._picked.column is not None and mark is None:
                continue
            source, target = self._box[link.source], self._box[link.target]
            ends = (
                self._end(link.source, link.source_column, with_columns or mark is not None),
                self._end(link.target, link.target_column, with_columns or mark is not None),
            )
            if source == target and (None in ends or link.source != source):
                continue
            # between boxes without columns one edge is enough, whatever its columns do
            role = link.role if any(ends) or link.role in ("filter", "join") else "table"
            key = (source, ends[0], target, ends[1], role, mark)
            statements, approximate = merged.get(key, ({}, True))
            statements[link.statement] = None
            merged[key] = (statements, approximate and link.approximate)
        for (source, first, target, last, role, mark), (statements, approximate) in merged.items():
            name = json.dumps([source, first, target, last, role], ensure_ascii=False)
            yield Edge(name, source, first, target, last, role, approximate, mark, tuple(statements))

    def _end(self, table: str, column: str | None, with_columns: bool) -> str | None:
        visible = self._visible_names.get(table, frozenset())
        return column if with_columns and column in visible else None

    def nodes(self, edges: Iterable[Edge]) -> Iterator[Node]:
        heights = {name: self._height(name) for name in dict.fromkeys(self._box.values())}
        boxes = [Box(name, BOX_WIDTH, height) for name, height in heights.items()]
        places = place_boxes(boxes, ((edge.source, edge.target) for edge in edges))
        for name, height in heights.items():
            members = self._groups.get(name, [name])
            facts = self._lineage.tables[members[0]]
            columns = self._columns.get(name, ())
            shown = {column.name for column in columns}
            hidden = [column for column in facts.columns if column.name not in shown] if name in self._columns else []
            marks = [column.mark for column in columns if column.mark is not None]
            yield Node(
                id=name,
                label=name.removeprefix("group:") if name in self._groups else name,
                kind="group" if name in self._groups else facts.kind,
                resolution=None if name in self._groups else facts.resolution,
                temporary=name not in self._groups and facts.temporary,
                columns=columns,
                more_used=sum(column.used for column in hidden),
                more_known=sum(not column.used for column in hidden),
                more_up=self._more(self._lineage.up, members),
                more_down=self._more(self._lineage.down, members),
                members=len(members),
                mark="picked" if "picked" in marks else marks[0] if marks else None,
                statements=() if name in self._groups else facts.written_by,
                file=None if name in self._groups else facts.file,
                x=places[name].x,
                y=places[name].y,
                width=BOX_WIDTH,
                height=height,
                layer=places[name].layer,
            )

    def _more(self, beside: dict[str, dict[str, None]], members: Iterable[str]) -> int:
        return len({name for member in members for name in beside[member]} - self._shown.keys())

    def _height(self, name: str) -> int:
        if name in self._groups:
            return box_height(1)
        columns = len(self._columns[name])
        facts = self._lineage.tables[name]
        rows = columns + (1 if columns < len(facts.columns) and self._offers_more() else 0)
        return box_height(rows)

    def _offers_more(self) -> bool:
        """A row that shows more columns; not where the view is of a path alone."""
        return not (self._view.only and self._picked.column is not None)
