"""One file per family of statements; `analyze_statement` finds the rule for a tree."""

from sqlglot import exp

from lakebed.lineage.context import Context, StatementRule
from lakebed.lineage.contract import StatementLineage
from lakebed.lineage.statements import alter, create, delete, insert, merge, select, session, update

_RULES: dict[type, StatementRule] = {
    exp.Select: select.select,
    exp.Create: create.create,
    exp.Cache: create.cache,
    exp.Insert: insert.insert,
    exp.MultitableInserts: insert.insert_multiple,
    exp.Update: update.update,
    exp.Merge: merge.merge,
    exp.Delete: delete.delete,
    exp.Drop: alter.drop,
    exp.Alter: alter.alter,
    exp.Use: session.use,
    exp.Set: session.set_variable,
    exp.Command: session.command,
    exp.Execute: session.execute,
    exp.Copy: session.copy,
    exp.Export: session.export,
    exp.Uncache: session.uncache,
    exp.Block: session.block,
    exp.Declare: session.declare,
}


def analyze_statement(tree: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """The lineage of one statement; a multi-table insert has several."""
    rule = _RULES.get(type(tree))
    if rule is not None:
        return rule(tree, ctx)
    if isinstance(tree, exp.Query | exp.Pivot | exp.Values):
        return select.select(tree, ctx)
    return session.analyze_other(tree, ctx)
