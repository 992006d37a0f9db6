"""Statements that cannot be parsed: what is left are the tables that they name."""

from collections.abc import Sequence

from lakebed.lineage.context import Context
from lakebed.lineage.contract import StatementLineage, TableUse
from lakebed.lineage.named_tables import NamedTables
from lakebed.lineage.statements.result import statement_lineage
from lakebed.lineage.tables import NamePart


def named_lineage(named: NamedTables, ctx: Context) -> StatementLineage:
    """Table edges, all of them approximate."""
    for parts in named.sources:
        use = _use(parts, ctx)
        ctx.used.setdefault(use.name, use)
        ctx.unexpanded.add(use.name)
    target = _use(named.target, ctx) if named.target else None
    return statement_lineage(ctx, named.kind, target.name if target is not None else None, [], target_use=target)


def _use(parts: Sequence[NamePart], ctx: Context) -> TableUse:
    table = ctx.catalog.find(parts)
    if table is None:
        return TableUse(ctx.catalog.name_of(parts), "table", "unknown")
    return TableUse(table.name, table.kind, table.origin)
