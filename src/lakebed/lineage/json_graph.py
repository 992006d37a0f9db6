"""The `nodes` and `edges` of the JSON contract."""

from collections.abc import Sequence

from lakebed.lineage.contract import (
    Edge,
    EdgeParts,
    Node,
    NodeParts,
    NodesAndEdges,
    ResolutionSource,
    StatementLineage,
    graph_json,
)

_RESOLUTION_RANK = {"imported": 2, "implied": 1, "unknown": 0}


def graph_of(statements: Sequence[StatementLineage]) -> NodesAndEdges:
    """The graph over statements: one node per table, column and query's result, one edge per flow."""
    builder = _built(statements)
    return NodesAndEdges(tuple(map(Node._make, builder.nodes.values())), tuple(map(Edge._make, builder.edges.values())))


def json_of(statements: Sequence[StatementLineage]) -> dict[str, object]:
    """What `graph_of(...).to_dict()` gives, without the values in between."""
    builder = _built(statements)
    return graph_json(builder.nodes.values(), builder.edges.values())


def _built(statements: Sequence[StatementLineage]) -> "_GraphBuilder":
    builder = _GraphBuilder()
    for statement in statements:
        builder.add(statement)
    return builder


class _GraphBuilder:
    """Collects nodes and edges as bare tuples: a named tuple's own constructor costs as much as all the rest here."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeParts] = {}
        self.edges: dict[str, EdgeParts] = {}
        # the node of each column of a table: most edges begin at one that is there already
        self._columns: dict[tuple[str, str], str] = {}

    def add(self, statement: StatementLineage) -> None:
        for use in statement.tables:
            self._table(use.name, use.kind, use.resolution_source)
        target = self._target(statement)
        is_query = statement.target is None
        # the node of each output by its name and, where names may repeat, its place: what most edges end at
        ends: dict[tuple[str, int | None], str] = {}
        if target is not None:
            for place, name in enumerate(statement.outputs):
                shown = place if is_query else None
                ends[name, shown] = self._column(target, name, shown)
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
                shown = position if is_query else None
                end = ends.get((target_column, shown)) or self._column(target, target_column, shown)
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
            self.nodes.setdefault(key, (key, "output", f"result of statement {statement.statement_index}", None))
            return key
        return None

    def _table(self, name: str, kind: str, resolution: ResolutionSource | None) -> str:
        key = f"table:{name}"
        known = self.nodes.get(key)
        if known is None:
            self.nodes[key] = (key, kind, name, resolution)
        elif resolution is not None:
            _, known_kind, _, known_resolution = known
            if _RESOLUTION_RANK[resolution] > _RESOLUTION_RANK.get(known_resolution or "", -1):
                self.nodes[key] = (key, kind if kind != "table" else known_kind, name, resolution)
        return key

    def _column_of(self, table: str, column: str) -> str:
        owner = self._table(table, "table", None)
        key = self._columns[table, column] = self._owned(owner, f"column:{table}.{column}", column)
        return key

    def _column(self, owner: str, name: str, position: int | None) -> str:
        place = "" if position is None else f"#{position}"
        # a column of `table:t` is `column:t.c`
        key = f"column:{owner[6:]}.{name}{place}" if owner.startswith("table:") else f"{owner}.{name}{place}"
        return self._owned(owner, key, name)

    def _owned(self, owner: str, key: str, name: str) -> str:
        if key not in self.nodes:
            self.nodes[key] = (key, "column", name, None)
            owned = f"{owner}->{key}:ownership"
            self.edges[owned] = (owned, owner, key, "ownership", None, False)
        return key

    def _edge(self, source: str, target: str, kind: str, role: str | None, approximate: bool) -> None:
        key = f"{source}->{target}:{role or kind}"
        known = self.edges.get(key)
        # its last part says whether it is approximate
        if known is None or (known[-1] and not approximate):
            self.edges[key] = (key, source, target, kind, role, approximate)
