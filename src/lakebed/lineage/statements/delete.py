"""DELETE: no value flows, but tables and columns decide which rows go."""

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.contract import StatementLineage
from lakebed.lineage.ctes import with_ctes
from lakebed.lineage.expressions import predicate
from lakebed.lineage.from_clause import add_from, add_join
from lakebed.lineage.scope import Scope
from lakebed.lineage.statements.result import WriteTarget, behind_cte, statement_lineage, target_use
from lakebed.lineage.statements.session import report_unsupported
from lakebed.lineage.statements.update import add_cte, add_target


def delete(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """DELETE FROM t [USING s] WHERE ..., and `DELETE t FROM tab AS t JOIN s ...`."""
    env = with_ctes(node, ctx.env, ctx)
    scope = Scope(None, env)
    table = node.args.get("this")
    if not isinstance(table, exp.Table):
        return report_unsupported(ctx, "DELETE")
    named = (node.args.get("tables") or [None])[0]
    found = behind_cte(table, env, ctx) if named is None else None
    target = WriteTarget(found[0] if found is not None else _table_before_from(named, table, ctx), ctx)
    if not target.known:
        ctx.report_unknown_table(target.name, target.parts, target.node, target=True)
    if found is not None:
        add_cte(found[1], table, scope, ctx)
    else:
        add_target(WriteTarget(table, ctx), table, scope, ctx)
        if WriteTarget(table, ctx).name != target.name:
            ctx.read_table(WriteTarget(table, ctx).parts, table)
    for join in table.args.get("joins") or []:
        add_join(join, scope, ctx)
    for item in node.args.get("using") or []:
        add_from(item, scope, ctx)
    if len(scope.sources) > 1 or found is not None:
        ctx.used.pop(target.name, None)
    where = node.args.get("where")
    if where is not None:
        predicate(where.args["this"], scope, ctx, "filter")
    return [statement_lineage(ctx, "DELETE", target.name, [], target_use=target_use(target), target_kind=target.kind)]


def _table_before_from(named: exp.Expr | None, table: exp.Expr, ctx: Context) -> exp.Expr:
    """The table that the name before FROM means."""
    if named is None:
        return table
    wanted = ctx.column_key(named.alias_or_name, False)
    for item in [table, *(join.args["this"] for join in table.args.get("joins") or [])]:
        if isinstance(item, exp.Table) and ctx.column_key(item.alias_or_name, False) == wanted:
            found: exp.Expr = item
            return found
    return named
