"""The values that an analysis returns: the JSON contract, as types.

Names here are Python's, names in `to_dict()` are the contract's (camelCase). What a script of ten thousand
statements has by the million (edges, nodes, columns) are named tuples, which cost a fraction of a frozen dataclass.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lakebed.lineage.gc_pause import defer_full_collections

if TYPE_CHECKING:
    from lakebed.lineage.tables import CatalogTable
    from lakebed.lineage.transformations import Transformations

Role = Literal["value", "conditional", "window", "filter", "join"]
Severity = Literal["error", "warning", "info"]
Origin = Literal["imported", "implied"]
ResolutionSource = Literal["imported", "implied", "unknown"]
StarExpansion = Literal["full", "partial", "none"]

# Roles whose edges end in a column; edges of the others end in a table, whose rows they decide.
VALUE_ROLES = frozenset({"value", "conditional", "window"})


class Span(NamedTuple):
    """Characters of the analysed text; `end` is exclusive."""

    start: int
    end: int

    def to_dict(self) -> dict[str, object]:
        return {"start": self.start, "end": self.end}


class ColumnEdge(NamedTuple):
    """One source column and the column it flows into, or for `filter` and `join` the table whose rows it decides."""

    source_table: str
    source_column: str
    path: tuple[str, ...]
    target_table: str | None
    target_column: str | None
    position: int | None
    role: str
    approximate: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "source": {"table": self.source_table, "column": self.source_column, "path": list(self.path)},
            "target": {"table": self.target_table, "column": self.target_column},
            "position": self.position,
            "role": self.role,
            "approximate": self.approximate,
        }


class TableEdge(NamedTuple):
    """A table that a statement reads, and the table that it writes."""

    source: str
    target: str | None
    approximate: bool

    def to_dict(self) -> dict[str, object]:
        return {"source": self.source, "target": self.target, "approximate": self.approximate}


class TableUse(NamedTuple):
    """A table that a statement reads or writes, and where its columns are known from."""

    name: str
    kind: str
    resolution_source: ResolutionSource


class Reference(NamedTuple):
    """A column that a statement names, wherever it stands; without a column, a table that it reads."""

    table: str
    column: str
    # where it stands first, in characters of the analysed text
    start: int


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that is unknown, unsupported or contradictory, with a hint at what would help."""

    code: str
    severity: Severity
    message: str
    hint: str
    statement_index: int | None = None
    span: Span | None = None
    file: str | None = None
    resolution_source: ResolutionSource | None = None

    def to_dict(self) -> dict[str, object]:
        issue: dict[str, object] = {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "statementIndex": self.statement_index,
            "span": self.span.to_dict() if self.span else None,
            "file": self.file,
        }
        if self.resolution_source is not None:
            issue["resolutionSource"] = self.resolution_source
        return issue


class Node(NamedTuple):
    """A table, a view, a query's output, or a column of one of them."""

    id: str
    node_type: str
    label: str
    resolution_source: ResolutionSource | None = None

    def to_dict(self) -> dict[str, object]:
        node: dict[str, object] = {"id": self.id, "nodeType": self.node_type, "label": self.label}
        if self.resolution_source is not None:
            node["resolutionSource"] = self.resolution_source
        return node


class Edge(NamedTuple):
    """Two nodes: `ownership` of a column by its table, `data_flow` between columns or between tables."""

    id: str
    source: str
    target: str
    edge_type: str
    role: str | None = None
    approximate: bool = False

    def to_dict(self) -> dict[str, object]:
        edge: dict[str, object] = {
            "id": self.id,
            "source": self.source,
            "target": self.target,
            "edgeType": self.edge_type,
            "approximate": self.approximate,
        }
        if self.role is not None:
            edge["role"] = self.role
        return edge


# The parts of a node and of an edge, in the order of `Node` and `Edge`.
NodeParts = tuple[str, str, str, ResolutionSource | None]
EdgeParts = tuple[str, str, str, str, str | None, bool]


def graph_json(nodes: Iterable[NodeParts], edges: Iterable[EdgeParts]) -> dict[str, object]:
    """The forms of Node.to_dict and Edge.to_dict, written out: most of a large answer is made here."""
    return {
        "nodes": [
            {"id": key, "nodeType": kind, "label": label}
            if source is None
            else {"id": key, "nodeType": kind, "label": label, "resolutionSource": source}
            for key, kind, label, source in nodes
        ],
        "edges": [
            {"id": key, "source": source, "target": target, "edgeType": kind, "approximate": approximate}
            if role is None
            else {
                "id": key,
                "source": source,
                "target": target,
                "edgeType": kind,
                "approximate": approximate,
                "role": role,
            }
            for key, source, target, kind, role, approximate in edges
        ],
    }


class NodesAndEdges(NamedTuple):
    """A graph as two lists; `GlobalLineage` of the contract."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def to_dict(self) -> dict[str, object]:
        return graph_json(self.nodes, self.edges)


@dataclass(frozen=True)
class StatementLineage:
    """What one statement reads, what it writes, and which column comes from which."""

    statement_index: int
    statement_type: str
    span: Span
    target: str | None
    outputs: tuple[str, ...]
    star_expansion: StarExpansion | None
    column_lineage: tuple[ColumnEdge, ...]
    table_lineage: tuple[TableEdge, ...]
    tables: tuple[TableUse, ...]
    target_kind: str = "table"
    file: str | None = None
    # what the statement would miss if it went, a CTE that nothing reads included; only where an analysis asks for it
    references: tuple[Reference, ...] = ()
    # how the values are made of their sources; only where an analysis asks for it
    transformations: "Transformations | None" = None

    @cached_property
    def graph(self) -> NodesAndEdges:
        from lakebed.lineage.json_graph import graph_of  # built on first use: most callers never need it

        return graph_of([self])

    def to_dict(self) -> dict[str, object]:
        from lakebed.lineage.json_graph import json_of

        statement: dict[str, object] = {
            "statementIndex": self.statement_index,
            "statementType": self.statement_type,
            "span": self.span.to_dict(),
            "target": self.target,
            "outputs": list(self.outputs),
            "starExpansion": self.star_expansion,
            "columnLineage": [
                {
                    "source": {"table": source, "column": column, "path": list(path)},
                    "target": {"table": target, "column": target_column},
                    "position": position,
                    "role": role,
                    "approximate": approximate,
                }
                for source, column, path, target, target_column, position, role, approximate in self.column_lineage
            ],
            "tableLineage": [edge.to_dict() for edge in self.table_lineage],
            **json_of([self]),
        }
        if self.file is not None:
            statement["file"] = self.file
        return statement


class ResolvedColumn(NamedTuple):
    """A column of the schema that was used."""

    name: str
    data_type: str | None = None
    origin: Origin | None = None
    # whether the type was inferred from an expression, and not declared
    inferred: bool = False

    def to_dict(self) -> dict[str, object]:
        column: dict[str, object] = {"name": self.name}
        if self.data_type is not None:
            column["dataType"] = self.data_type
        if self.origin is not None:
            column["origin"] = self.origin
        if self.inferred:
            column["inferred"] = True
        return column


class ResolvedTable(NamedTuple):
    """A table of the schema that was used; `complete` is false where a star could not be expanded."""

    catalog: str | None
    schema: str | None
    name: str
    columns: tuple[ResolvedColumn, ...]
    origin: Origin
    updated_at: str
    source_statement_index: int | None = None
    temporary: bool = False
    complete: bool = True

    def to_dict(self) -> dict[str, object]:
        table: dict[str, object] = {}
        if self.catalog is not None:
            table["catalog"] = self.catalog
        if self.schema is not None:
            table["schema"] = self.schema
        table |= {
            "name": self.name,
            "columns": [
                {"name": name, "dataType": kind, "origin": origin}
                if kind is not None and origin is not None and not inferred
                else ResolvedColumn(name, kind, origin, inferred).to_dict()
                for name, kind, origin, inferred in self.columns
            ],
            "origin": self.origin,
            "updatedAt": self.updated_at,
            "temporary": self.temporary,
            "complete": self.complete,
        }
        if self.source_statement_index is not None:
            table["sourceStatementIndex"] = self.source_statement_index
        return table


@dataclass(frozen=True, slots=True)
class ResolvedSchema:
    """The effective schema: exported as JSON it can be imported by the next analysis."""

    tables: tuple[ResolvedTable, ...]

    def by_origin(self, origin: Origin) -> "ResolvedSchema":
        """The imported or the implied view; the whole is the hybrid one."""
        return ResolvedSchema(tuple(table for table in self.tables if table.origin == origin))

    def to_dict(self) -> dict[str, object]:
        return {"tables": [table.to_dict() for table in self.tables]}


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over the whole script."""

    statements: int
    tables: int
    columns: int
    errors: int
    warnings: int
    infos: int
    statement_types: tuple[tuple[str, int], ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "statementCount": self.statements,
            "tableCount": self.tables,
            "columnCount": self.columns,
            "issueCount": {"error": self.errors, "warning": self.warnings, "info": self.infos},
            "statementTypes": dict(self.statement_types),
        }


@dataclass(frozen=True)
class AnalyzeResult:
    """The result of `analyze`: statements in order, issues, and the schema that was used."""

    statements: tuple[StatementLineage, ...]
    issues: tuple[Issue, ...]
    dialect: str
    # the catalog's tables at the end; `resolved_schema` is built from them on first use
    catalog_tables: "tuple[CatalogTable, ...]" = field(repr=False)
    updated_at: str

    @cached_property
    def global_lineage(self) -> NodesAndEdges:
        from lakebed.lineage.json_graph import graph_of

        if len(self.statements) == 1:
            return self.statements[0].graph
        return graph_of(self.statements)

    @cached_property
    def resolved_schema(self) -> ResolvedSchema:
        """The schema that was used, imported and implied."""
        return ResolvedSchema(tuple(table.resolved(self.updated_at) for table in self.catalog_tables))

    @cached_property
    def summary(self) -> Summary:
        return _summarise(self.statements, self.issues)

    def to_dict(self) -> dict[str, object]:
        with defer_full_collections():
            statements = [statement.to_dict() for statement in self.statements]
            return {
                "statements": statements,
                "globalLineage": self._global_dict(statements),
                "issues": [issue.to_dict() for issue in self.issues],
                "summary": self.summary.to_dict(),
                "resolvedSchema": {"tables": [table.to_dict(self.updated_at) for table in self.catalog_tables]},
            }

    def _global_dict(self, statements: list[dict[str, Any]]) -> dict[str, object]:
        from lakebed.lineage.json_graph import json_of

        if len(statements) != 1:
            return json_of(self.statements)
        # the graph of the only statement, copied: quicker than to write it out again
        return {part: [*map(dict.copy, statements[0][part])] for part in ("nodes", "edges")}


def _summarise(statements: Sequence[StatementLineage], issues: Sequence[Issue]) -> Summary:
    tables: set[str] = set()
    columns: set[tuple[str, str]] = set()
    types: dict[str, int] = {}
    for statement in statements:
        types[statement.statement_type] = types.get(statement.statement_type, 0) + 1
        tables.update([use.name for use in statement.tables])
        for source, column, _, target, target_column, *_ in statement.column_lineage:
            columns.add((source, column))
            if target is not None and target_column is not None:
                columns.add((target, target_column))
    counts = dict.fromkeys(("error", "warning", "info"), 0)
    for issue in issues:
        counts[issue.severity] += 1
    return Summary(
        statements=len({statement.statement_index for statement in statements}),
        tables=len(tables),
        columns=len(columns),
        errors=counts["error"],
        warnings=counts["warning"],
        infos=counts["info"],
        statement_types=tuple(sorted(types.items())),
    )
