"""The `nodes` and `edges` of the JSON contract."""

from collections.abc import Sequence
from functools import partial

from lakebed.lineage.contract import Edge, Node, NodesAndEdges, ResolutionSource, StatementLineage

# a named tuple's own constructor costs as much as all the rest here
_make_node, _make_edge = partial(tuple.__new__, Node), partial(tuple.__new__, Edge)
_RESOLUTION_RANK = {"imported": 2, "implied": 1, "unknown": 0}


def statement_graph(statement: StatementLineage) -> NodesAndEdges:
    """The graph of one statement; the result of a query is a node of its own."""
    return global_graph([statement])


def global_graph(statements: Sequence[StatementLineage]) -> NodesAndEdges:
    """The graph over all statements: one node per table and column, one edge per flow."""
    builder = _GraphBuilder()
    for statement in statements:
        builder.add(statement)
    return NodesAndEdges(tuple(builder.nodes.values()), tuple(builder.edges.values()))


class _GraphBuilder:
    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, Edge] = {}
        # the node of each column of a table: most edges begin at one that is there already
        self._columns: dict[tuple[str, str], str] = {}

    def add(self, statement: StatementLineage) -> None:
        for use in statement.tables:
            self._table(use.name, use.kind, use.resolution_source)
        target = self._target(statement)
        is_query = statement.target is None
        if target is not None:
            for place, name in enumerate(statement.outputs):
                self._column(target, name, place if is_query else None)
        columns = self._columns
        for table, column, _, target_table, target_column, position, role, approximate in statement.column_lineage:
            source = columns.get((table, column))
            if source is None:
                source = self._column_of(table, column)
            if is_query and target_table is not None and target_column is not None:
                # a renamed or exchanged table
                self._edge(source, self._column_of(target_table, target_column), "data_flow", role, approximate)
            elif target is None:
                continue
            elif target_column is None:
                self._edge(source, target, "predicate", role, approximate)
            else:
                end = self._column(target, target_column, position if is_query else None)
                self._edge(source, end, "data_flow", role, approximate)
        for flow in statement.table_lineage:
            into = self._table(flow.target, "table", None) if flow.target is not None else target
            if into is not None:
                self._edge(self._table(flow.source, "table", None), into, "data_flow", None, flow.approximate)

    def _target(self, statement: StatementLineage) -> str | None:
        if statement.target is not None:
            return self._table(statement.target, statement.target_kind, None)
        if statement.outputs or any(flow.target is None for flow in statement.table_lineage):
            key = f"output:{statement.statement_index}"
            self.nodes.setdefault(key, Node(key, "output", f"result of statement {statement.statement_index}"))
            return key
        return None

    def _table(self, name: str, kind: str, resolution: ResolutionSource | None) -> str:
        key = f"table:{name}"
        known = self.nodes.get(key)
        if known is None:
            self.nodes[key] = Node(key, kind, name, resolution)
        elif resolution is not None and _RESOLUTION_RANK[resolution] > _RESOLUTION_RANK.get(
            known.resolution_source or "", -1
        ):
            self.nodes[key] = Node(key, kind if kind != "table" else known.node_type, name, resolution)
        return key

    def _column_of(self, table: str, column: str) -> str:
        key = self._columns[table, column] = self._column(self._table(table, "table", None), column, None)
        return key

    def _column(self, owner: str, name: str, position: int | None) -> str:
        place = "" if position is None else f"#{position}"
        # a column of `table:t` is `column:t.c`
        key = f"column:{owner[6:]}.{name}{place}" if owner.startswith("table:") else f"{owner}.{name}{place}"
        if key not in self.nodes:
            self.nodes[key] = _make_node((key, "column", name, None))
            owned = f"{owner}->{key}:ownership"
            self.edges[owned] = _make_edge((owned, owner, key, "ownership", None, False))
        return key

    def _edge(self, source: str, target: str, kind: str, role: str | None, approximate: bool) -> None:
        key = f"{source}->{target}:{role or kind}"
        known = self.edges.get(key)
        if known is None or (known.approximate and not approximate):
            self.edges[key] = _make_edge((key, source, target, kind, role, approximate))
