"""A statement's lineage from what its rules found: edges, each once, and the tables that were read."""

from collections.abc import Iterable, Sequence
from functools import partial

from sqlglot import exp

from lakebed.lineage.catalog import SchemaMismatch
from lakebed.lineage.context import HINT_SPELLING, Context, Env
from lakebed.lineage.contract import ColumnEdge, ResolutionSource, StatementLineage, TableEdge, TableUse
from lakebed.lineage.identifiers import identifier_of, table_parts
from lakebed.lineage.relations import Refs, Relation, UnknownTable
from lakebed.lineage.scope import Cte
from lakebed.lineage.tables import CatalogColumn, NamePart
from lakebed.lineage.type_inference import TypeInference

# a named tuple's own constructor costs more than all the rest of an edge
_COLUMN_EDGE = partial(tuple.__new__, ColumnEdge)
# A column that is written: its name, its place in the output or None, and where its value comes from.
Written = tuple[str, int | None, Refs]


class WriteTarget:
    """The table that a statement writes."""

    __slots__ = ("kind", "known", "name", "node", "parts", "relation", "resolution")

    def __init__(self, node: exp.Expr, ctx: Context) -> None:
        self.node = node
        self.parts: list[NamePart] = table_parts(node)
        table = ctx.find_table(self.parts) if self.parts else None
        self.known = table is not None
        self.kind = "table"
        if table is not None:
            self.name = table.name
            self.kind = table.kind
            self.relation = table.relation()
            self.resolution: ResolutionSource = table.origin
        else:
            self.name = ctx.catalog.name_of(self.parts) if self.parts else ""
            self.relation = Relation([], [], [], unknown=UnknownTable(self.name), table=self.name)
            self.resolution = "unknown"

    def spelled(self, identifier: exp.Expr, ctx: Context) -> str:
        """A column of the target as the schema spells it, or as written where it is not known."""
        key = ctx.key_of(identifier)
        for name, own in zip(self.relation.names, self.relation.keys, strict=True):
            if own == key:
                ctx.refer(((self.name, name, (), "value", False),), identifier)
                return name
        ctx.refer(((self.name, ctx.spelling_of(identifier), (), "value", False),), identifier)
        if self.relation.open is None:
            ctx.issue_once(
                "UNKNOWN_COLUMN",
                "warning",
                f"{self.name}.{key}",
                f"there is no column {ctx.spelling_of(identifier)} in {self.name}",
                HINT_SPELLING,
                identifier,
                resolution_source=self.resolution,
            )
        return ctx.spelling_of(identifier)


def behind_cte(table: exp.Expr, env: Env, ctx: Context) -> tuple[exp.Expr, Cte] | None:
    """`WITH a AS (SELECT ... FROM t) DELETE FROM a`: the table t whose rows go, and the CTE."""
    name = table.args.get("this")
    if not isinstance(name, exp.Identifier) or table.args.get("db") is not None:
        return None
    cte = env.get(ctx.key_of(name))
    query: object = cte.node.args["this"] if cte is not None else None
    while isinstance(query, exp.Subquery):
        query = query.args["this"]
    from_ = query.args.get("from_") if isinstance(query, exp.Select) else None
    base = from_.args["this"] if from_ is not None else None
    if cte is None or not isinstance(base, exp.Table):
        return None
    deeper = behind_cte(base, cte.env, ctx) if base.args.get("this") is not name else None
    return (deeper[0] if deeper is not None else base), cte


def statement_lineage(
    ctx: Context,
    kind: str,
    target: str | None,
    written: Iterable[Written],
    *,
    outputs: Sequence[str] = (),
    target_use: TableUse | None = None,
    target_kind: str = "table",
) -> StatementLineage:
    """The lineage of the statement that `ctx` belongs to; `written` are the columns that it writes."""
    edges: list[ColumnEdge] = []
    make = _COLUMN_EDGE
    for name, position, refs in written:
        if len(refs) == 1:
            table, column, path, role, approximate = refs[0]
            edges.append(make((table, column, path, target, name, position, role, approximate)))
            continue
        certain: dict[tuple[str, str, tuple[str, ...], str], bool] = {}
        for table, column, path, role, approximate in refs:
            key = (table, column, path, role)
            # a source that is reached with certainty once is certain
            certain[key] = approximate and certain.get(key, True)
        for (table, column, path, role), approximate in certain.items():
            edges.append(make((table, column, path, target, name, position, role, approximate)))
    read_by_value = {edge.source_table for edge in edges}
    predicates: dict[tuple[str, str, tuple[str, ...], str], bool] = {}
    for table, column, path, role, approximate in ctx.predicates:
        key = (table, column, path, role)
        predicates[key] = approximate and predicates.get(key, True)
    for (table, column, path, role), approximate in predicates.items():
        edges.append(make((table, column, path, target, None, None, role, approximate)))
    uses = dict(ctx.used)
    tables = [TableEdge(name, target, name in ctx.unexpanded) for name in uses]
    if target is not None and target not in uses and target in read_by_value:
        tables.append(TableEdge(target, target, False))
    if target_use is not None:
        uses.setdefault(target_use.name, target_use)
    return StatementLineage(
        statement_index=ctx.index,
        statement_type=kind,
        span=ctx.span,
        target=target,
        outputs=tuple(outputs),
        star_expansion=ctx.star_expansion,
        column_lineage=tuple(edges),
        table_lineage=tuple(tables),
        tables=tuple(uses.values()),
        target_kind=target_kind,
    )


def written_columns(relation: Relation, names: Sequence[str] | None = None) -> list[Written]:
    """A query's columns as what is written, under their own or other names."""
    return [
        (name, place, refs)
        for place, (name, refs) in enumerate(
            zip(names if names is not None else relation.names, relation.refs, strict=False)
        )
    ]


def target_use(target: WriteTarget) -> TableUse:
    """The target as one of the tables that the statement touches."""
    return TableUse(target.name, target.kind, target.resolution)


def defined_column(definition: exp.Expr, ctx: Context) -> CatalogColumn:
    """The column of one definition: `price DECIMAL(10, 2)`."""
    identifier = identifier_of(definition.args["this"])
    kind = definition.args.get("kind")
    data_type = kind.sql(ctx.dialect.parser or None) if isinstance(kind, exp.DataType) else None
    return CatalogColumn(ctx.spelling_of(identifier), ctx.key_of(identifier), data_type, "implied")


def implied_columns(relation: Relation, ctx: Context, start: int = 0) -> list[CatalogColumn]:
    """A query's columns, from one of them on, as those of a new table, with the types that can be inferred."""
    types = TypeInference(ctx).column_types(relation)
    columns = []
    for place in range(start, len(relation.names)):
        kind = types[place] if place < len(types) else None
        columns.append(CatalogColumn(relation.names[place], relation.keys[place], kind, "implied", kind is not None))
    return columns


def report_mismatch(mismatch: SchemaMismatch | None, ctx: Context, node: exp.Expr) -> None:
    """Reports that a script declares a table differently from the imported schema."""
    if mismatch is None:
        return
    parts = []
    if mismatch.extra:
        parts.append(f"only in the script: {', '.join(mismatch.extra)}")
    if mismatch.missing:
        parts.append(f"only imported: {', '.join(mismatch.missing)}")
    if mismatch.retyped:
        parts.append(f"other type: {', '.join(mismatch.retyped)}")
    ctx.issue(
        "SCHEMA_MISMATCH",
        "warning",
        f"{mismatch.table} differs from the imported schema ({'; '.join(parts)}); the imported columns are used",
        "Import the schema again, or analyse with merge_columns to use both.",
        node,
        resolution_source="imported",
    )
