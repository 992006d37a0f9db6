"""The order of a project's files: each after those that make what it reads.

Names are taken from the syntax trees, before anything is resolved: a file's place cannot depend on the columns that
only its place makes known.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import NamedTuple

from sqlglot import exp

from lakebed.lineage.catalog import Catalog, TableKey
from lakebed.lineage.identifiers import table_parts
from lakebed.lineage.parse import ParsedStatement

# Statements whose first table is written; readers of the table come after them.
_WRITERS = (exp.Insert, exp.Update, exp.Merge, exp.Delete, exp.Alter, exp.TruncateTable)
# What holds no table, and most of what a tree is made of.
_LEAVES = frozenset({str, bool, exp.Column, exp.Identifier, exp.Literal, exp.DataType, exp.Star})
# Deeper trees are written by programs; what is below is not looked at for the order.
_MAX_DEPTH = 2_000


@dataclass(slots=True)
class TouchedTables:
    """The tables that a file makes, changes and reads, each with the names that it may stand for."""

    made: set[TableKey] = field(default_factory=set)
    written: dict[TableKey, tuple[TableKey, ...]] = field(default_factory=dict)
    read: dict[TableKey, tuple[TableKey, ...]] = field(default_factory=dict)


class FileOrder(NamedTuple):
    """Places of files in the order in which they can run, and the groups that read each other's tables."""

    places: tuple[int, ...]
    cycles: tuple[tuple[int, ...], ...]


def order_files(files: Sequence[Sequence[ParsedStatement]], catalog: Catalog) -> FileOrder:
    """Files after those that make or change what they read; files that do not matter to each other keep their order."""
    touched = [touched_tables(statements, catalog) for statements in files]
    makers: dict[TableKey, list[int]] = {}
    writers: dict[TableKey, list[int]] = {}
    for place, tables in enumerate(touched):
        for key in tables.made:
            makers.setdefault(key, []).append(place)
    for place, tables in enumerate(touched):
        for key, candidates in tables.written.items():
            writers.setdefault(_known(candidates, makers) or key, []).append(place)
    before: list[set[int]] = []
    for place, tables in enumerate(touched):
        needed: set[int] = set()
        for candidates in tables.read.values():
            for key in candidates:
                if key in tables.made:
                    break
                if key in makers or key in writers:
                    needed.update(makers.get(key, ()))
                    needed.update(writers.get(key, ()))
                    break
        for candidates in tables.written.values():
            maker = _known(candidates, makers)
            if maker is not None and maker not in tables.made:
                needed.update(makers[maker])
        needed.discard(place)
        before.append(needed)
    return _sorted_groups(before)


def _known(candidates: Iterable[TableKey], makers: Mapping[TableKey, list[int]]) -> TableKey | None:
    return next((key for key in candidates if key in makers), None)


def _sorted_groups(before: Sequence[set[int]]) -> FileOrder:
    """Strongly connected files are one group; groups are in order, and inside of one the files keep theirs."""
    group_of = _groups(before)
    members: dict[int, list[int]] = {}
    for place, group in enumerate(group_of):
        members.setdefault(group, []).append(place)
    arrows = {
        group: {group_of[needed] for place in places for needed in before[place]} - {group}
        for group, places in members.items()
    }
    sorter = TopologicalSorter(arrows)
    sorter.prepare()
    ready: list[int] = []
    order: list[int] = []
    # the first file by name that can run runs next, so that the order does not depend on a dictionary's
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=lambda group: members[group][0], reverse=True)
        group = ready.pop()
        order += members[group]
        sorter.done(group)
    cycles = sorted(tuple(places) for places in members.values() if len(places) > 1)
    return FileOrder(tuple(order), tuple(cycles))


def _groups(before: Sequence[set[int]]) -> list[int]:
    """Tarjan's strongly connected components, with a stack of its own: a chain of 2,000 files is no recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    group = [-1] * len(before)
    count = 0
    for start in range(len(before)):
        if start in index:
            continue
        work: list[tuple[int, Iterator[int]]] = []
        _enter(start, before, index, low, stack, on_stack, work)
        while work:
            place, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[place])
                if low[place] == index[place]:
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group[member] = count
                        if member == place:
                            break
                    count += 1
            elif following not in index:
                _enter(following, before, index, low, stack, on_stack, work)
            elif following in on_stack:
                low[place] = min(low[place], index[following])
    return group


def _enter(
    place: int,
    before: Sequence[set[int]],
    index: dict[int, int],
    low: dict[int, int],
    stack: list[int],
    on_stack: set[int],
    work: list[tuple[int, Iterator[int]]],
) -> None:
    index[place] = low[place] = len(index)
    stack.append(place)
    on_stack.add(place)
    work.append((place, iter(sorted(before[place]))))


def touched_tables(statements: Iterable[ParsedStatement], catalog: Catalog) -> TouchedTables:
    """What the statements of one file make, write and read."""
    touched = TouchedTables()
    for statement in statements:
        if statement.tree is not None:
            _touch(statement.tree, touched, catalog)
    return touched


def _touch(tree: exp.Expr, touched: TouchedTables, catalog: Catalog) -> None:
    target: exp.Expr | None = None
    if isinstance(tree, exp.Create | exp.Cache | exp.Drop):
        target = _first_table(tree)
        made = not isinstance(tree, exp.Drop) and (
            isinstance(tree, exp.Cache) or str(tree.args.get("kind") or "").upper().endswith(("TABLE", "VIEW"))
        )
        if made and target is not None and (parts := table_parts(target)):
            touched.made.add(catalog.declared_key(parts))
    elif isinstance(tree, _WRITERS):
        target = _first_table(tree)
        if target is not None and (parts := table_parts(target)):
            touched.written.setdefault(catalog.key(parts), catalog.possible_keys(parts))
    for table in _read_tables(tree, target, catalog):
        if isinstance(table.parent, exp.Into):
            touched.made.add(catalog.declared_key(table_parts(table)))
        elif parts := table_parts(table):
            touched.read.setdefault(catalog.key(parts), catalog.possible_keys(parts))


def _first_table(tree: exp.Expr) -> exp.Expr | None:
    node: object = tree.args.get("this")
    while isinstance(node, exp.Schema | exp.Alias | exp.Paren):
        node = node.args.get("this")
    if node is None and tree.args.get("expressions"):
        node = tree.args["expressions"][0]
    return node if isinstance(node, exp.Table) else None


def _read_tables(tree: exp.Expr, target: exp.Expr | None, catalog: Catalog) -> Iterator[exp.Expr]:
    """The tables of a tree that are not CTEs where they stand: `WITH t AS (SELECT * FROM t)` reads the table t."""
    fold = catalog.rules.column_key
    stack: list[tuple[exp.Expr, frozenset[str], int]] = [(tree, frozenset(), 0)]
    while stack:
        node, hidden, depth = stack.pop()
        if depth > _MAX_DEPTH:
            continue
        if isinstance(node, exp.Table):
            name = node.args.get("this")
            if node is not target and not (
                isinstance(name, exp.Identifier)
                and node.args.get("db") is None
                and fold(name.name, name.args.get("quoted") is True) in hidden
            ):
                yield node
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                alias = cte.args.get("alias")
                name = alias.args.get("this") if alias is not None else None
                seen = hidden
                if isinstance(name, exp.Identifier):
                    hidden = hidden | {fold(name.name, name.args.get("quoted") is True)}
                # a recursive CTE sees itself, the others only those before them
                stack.append((cte.args["this"], hidden if clause.args.get("recursive") else seen, depth + 1))
        for part, value in node.args.items():
            if value is None or part == "with_":
                continue
            for child in value if type(value) is list else (value,):
                if type(child) not in _LEAVES and isinstance(child, exp.Expr):
                    stack.append((child, hidden, depth + 1))
