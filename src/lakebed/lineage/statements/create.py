"""CREATE TABLE, CREATE VIEW, CREATE TABLE AS, LIKE and CLONE, and CACHE TABLE: where implied schema comes from."""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.contract import StatementLineage, TableUse
from lakebed.lineage.ctes import with_ctes
from lakebed.lineage.expressions import refs_of
from lakebed.lineage.from_clause import as_derived_table
from lakebed.lineage.relations import Refs, Relation
from lakebed.lineage.scope import NamedRelation, Scope
from lakebed.lineage.statements.result import (
    WriteTarget,
    Written,
    defined_column,
    implied_columns,
    report_mismatch,
    statement_lineage,
    target_use,
    written_columns,
)
from lakebed.lineage.statements.select import temporary_name
from lakebed.lineage.statements.session import report_unsupported
from lakebed.lineage.tables import CatalogColumn

_RELATIONS = frozenset({"TABLE", "VIEW", "MATERIALIZED VIEW", "DYNAMIC TABLE", "TRANSIENT TABLE", "STREAMING TABLE"})
# Their bodies run when they are called, and are not analysed: that is an issue.
_WITH_A_BODY = frozenset({"PROCEDURE", "FUNCTION", "TRIGGER", "MACRO", "TABLE FUNCTION", "TASK", "PACKAGE"})


def create(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """A new table or view; its columns count for the statements that follow."""
    kind = str(node.args.get("kind") or "").upper()
    query = node.args.get("expression")
    if kind == "MODEL" and isinstance(query, exp.Query) and isinstance(node.args["this"], exp.Table):
        return _Creation(node, node.args["this"], "model", ctx).from_query(query, [], kind="CREATE_MODEL")
    if kind not in _RELATIONS:
        if kind in _WITH_A_BODY:
            return report_unsupported(ctx, f"CREATE {kind}")
        return [statement_lineage(ctx, f"CREATE_{kind.replace(' ', '_')}" if kind else "CREATE", None, [])]
    this = node.args["this"]
    listed = this.args.get("expressions") or [] if isinstance(this, exp.Schema) else []
    table = this.args["this"] if isinstance(this, exp.Schema) else this
    if not isinstance(table, exp.Table):
        return report_unsupported(ctx, "CREATE")
    maker = _Creation(node, table, "view" if "VIEW" in kind else "table", ctx)
    like = maker.property(exp.LikeProperty) or node.args.get("clone")
    if isinstance(query, exp.Query | exp.Values | exp.Pivot):
        return maker.from_query(query, listed)
    if like is not None and isinstance(like.args.get("this"), exp.Table):
        return maker.like(like, copies_rows=isinstance(like, exp.Clone))
    return maker.from_columns(listed)


def cache(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """Spark's CACHE TABLE name AS SELECT makes a temporary view."""
    query = node.args.get("expression")
    if query is None:
        return [statement_lineage(ctx, "CACHE_TABLE", None, [])]
    return _Creation(node, node.args["this"], "view", ctx, temporary=True).from_query(query, [], kind="CACHE_TABLE")


def redefine_view(node: exp.Expr, table: exp.Expr, query: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """ALTER VIEW v AS SELECT gives the view another query."""
    return _Creation(node, table, "view", ctx).from_query(query, [], kind="ALTER_VIEW")


class _Creation:
    """One statement that creates a table or view, in its forms."""

    def __init__(self, node: exp.Expr, table: exp.Expr, kind: str, ctx: Context, *, temporary: bool = False) -> None:
        self.node = node
        self.table = table
        self.kind = kind
        self.ctx = ctx
        self.target = WriteTarget(table, ctx)
        properties = node.args.get("properties")
        self.properties: list[exp.Expr] = properties.args.get("expressions") or [] if properties is not None else []
        self.temporary = (
            temporary
            or self.property(exp.TemporaryProperty) is not None
            or bool(self.target.parts and self.target.parts[-1].text.startswith("#"))
        )
        self.name = temporary_name(self.target, ctx) if self.temporary and not self.target.known else self.target.name

    def property(self, kind: type[exp.Expr]) -> exp.Expr | None:
        return next((prop for prop in self.properties if isinstance(prop, kind)), None)

    def from_query(self, query: exp.Expr, listed: list[exp.Expr], *, kind: str | None = None) -> list[StatementLineage]:
        ctx = self.ctx
        env = with_ctes(self.node, {}, ctx)
        relation = as_derived_table(ctx.resolve_query(query, env, None, ctx), ctx)
        names = list(relation.names)
        columns = implied_columns(relation, ctx)
        complete = relation.unknown is None
        written = written_columns(relation)
        if listed:
            names, columns, written = self._with_list(listed, relation)
            complete = True
        if ctx.explained is not None:
            ctx.explained.rows.append((names, relation))
        if self.kind != "model":
            self.declare(columns, complete)
        statement_type = kind or ("CREATE_VIEW" if self.kind == "view" else "CREATE_TABLE_AS")
        results = [self.result(statement_type, written, names)]
        to = self.property(exp.ToTableProperty)
        if to is not None and isinstance(to.args["this"], exp.Table):
            results.append(self._into_table(to.args["this"], relation))
        return results

    def _into_table(self, table: exp.Expr, relation: Relation) -> StatementLineage:
        """ClickHouse's CREATE MATERIALIZED VIEW v TO t: the rows are t's, matched by the names of columns."""
        ctx = self.ctx
        target = WriteTarget(table, ctx)
        spelled = dict(zip(target.relation.keys, target.relation.names, strict=True))
        names = [spelled.get(key, name) for name, key in zip(relation.names, relation.keys, strict=True)]
        written = written_columns(relation, names)
        return statement_lineage(
            ctx, "INSERT", target.name, written, outputs=names, target_use=target_use(target), target_kind=target.kind
        )

    def _with_list(
        self, listed: list[exp.Expr], relation: Relation
    ) -> tuple[list[str], list[CatalogColumn], list[Written]]:
        """`CREATE VIEW v (a, b) AS ...`: names by position. MySQL's column definitions are matched by name instead."""
        ctx = self.ctx
        given = list(_defined_columns(listed, ctx))
        defined = [item for item in listed if isinstance(item, exp.ColumnDef) and item.args.get("kind") is not None]
        if defined and ctx.dialect.name in ("mysql", "mariadb"):
            by_key = {column.key: column for column in given}
            written: list[Written] = [
                (by_key[key].name if key in by_key else name, place, refs)
                for place, (name, key, refs) in enumerate(
                    zip(relation.names, relation.keys, relation.refs, strict=True)
                )
            ]
            columns = [column for column in given if column.key not in set(relation.keys)]
            columns += [
                by_key.get(key, CatalogColumn(name, key))
                for name, key in zip(relation.names, relation.keys, strict=True)
            ]
            return [name for name, _, _ in written], columns, written
        relation = relation.renamed([column.name for column in given], [column.key for column in given])
        columns = given + implied_columns(relation, ctx, len(given))
        return list(relation.names), columns, written_columns(relation)

    def like(self, like: exp.Expr, *, copies_rows: bool) -> list[StatementLineage]:
        """CREATE TABLE LIKE copies columns, CLONE copies rows as well."""
        ctx = self.ctx
        source = WriteTarget(like.args["this"], ctx)
        table = ctx.find_table(source.parts)
        if table is None:
            ctx.report_unknown_table(source.name, source.parts, like.args["this"])
        columns = (
            [CatalogColumn(c.name, c.key, c.data_type, "implied") for c in table.columns] if table is not None else []
        )
        self.declare(columns, table is not None and table.complete)
        if not copies_rows:
            return [self.result("CREATE_TABLE", [], [])]
        relation = ctx.read_table(source.parts, like.args["this"])
        if relation.unknown is not None:
            ctx.unexpanded.add(source.name)
            ctx.stars.append("partial" if relation.names else "none")
        return [self.result("CREATE_TABLE_AS", written_columns(relation), relation.names)]

    def from_columns(self, listed: list[exp.Expr]) -> list[StatementLineage]:
        """Explicit columns; generated ones are computed from their neighbours."""
        ctx = self.ctx
        columns = list(_defined_columns(listed, ctx))
        partitions = self.property(exp.PartitionedByProperty)
        if partitions is not None and isinstance(partitions.args.get("this"), exp.Schema):
            # Hive declares the columns of partitions there
            known = {column.key for column in columns}
            extra = _defined_columns(partitions.args["this"].args.get("expressions") or [], ctx, definitions_only=True)
            columns += [column for column in extra if column.key not in known]
        if not columns:
            ctx.issue(
                "APPROXIMATE_LINEAGE",
                "info",
                f"this statement does not list the columns of {self.name}",
                "Add the table with its columns to the imported schema.",
                self.table,
            )
        self.declare(columns, bool(columns))
        kind = "CREATE_VIEW" if self.kind == "view" else "CREATE_TABLE"
        return [self.result(kind, self._generated(listed, columns), [])]

    def _generated(self, listed: list[exp.Expr], columns: Sequence[CatalogColumn]) -> list[Written]:
        refs: list[Refs] = [((self.name, column.name, (), "value", False),) for column in columns]
        own = Relation([c.name for c in columns], [c.key for c in columns], refs, table=self.name)
        written: list[Written] = []
        for item in listed:
            for constraint in item.args.get("constraints") or [] if isinstance(item, exp.ColumnDef) else []:
                kind = constraint.args.get("kind")
                expression = None
                if isinstance(kind, exp.ComputedColumnConstraint):
                    expression = kind.args.get("this")
                elif isinstance(kind, exp.GeneratedAsIdentityColumnConstraint):
                    expression = kind.args.get("expression")
                if isinstance(expression, exp.Expr):
                    scope = Scope(None, {})
                    scope.add(NamedRelation(self.name, own))
                    name = self.ctx.spelling_of(item.args["this"])
                    written.append((name, None, refs_of(expression, scope, self.ctx)))
        return written

    def declare(self, columns: Sequence[CatalogColumn], complete: bool) -> None:
        if self.node.args.get("exists") and self.target.known and self.target.resolution == "implied":
            return
        mismatch = self.ctx.catalog.declare(
            self.target.parts,
            columns,
            kind=self.kind,
            statement_index=self.ctx.index,
            temporary=self.temporary,
            complete=complete,
        )
        report_mismatch(mismatch, self.ctx, self.table)

    def result(self, kind: str, written: list[Written], outputs: Sequence[str]) -> StatementLineage:
        known = self.ctx.find_table(self.target.parts)
        use = TableUse(self.name, self.kind, known.origin if known is not None else "unknown")
        return statement_lineage(
            self.ctx, kind, self.name, written, outputs=outputs, target_use=use, target_kind=self.kind
        )


def _defined_columns(
    listed: list[exp.Expr], ctx: Context, *, definitions_only: bool = False
) -> Iterator[CatalogColumn]:
    """The columns of a definition list; constraints are none, `LIKE t` stands for those of t."""
    for item in listed:
        if isinstance(item, exp.ColumnDef):
            yield defined_column(item, ctx)
        elif isinstance(item, exp.Identifier) and not definitions_only:
            yield CatalogColumn(ctx.spelling_of(item), ctx.key_of(item), None, "implied")
        elif isinstance(item, exp.LikeProperty) and isinstance(item.args["this"], exp.Table):
            source = WriteTarget(item.args["this"], ctx)
            table = ctx.find_table(source.parts)
            if table is None:
                ctx.report_unknown_table(source.name, source.parts, item.args["this"])
                continue
            for column in table.columns:
                yield CatalogColumn(column.name, column.key, column.data_type, "implied")
