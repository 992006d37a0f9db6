"""Queries as statements, and SELECT ... INTO."""

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.contract import StatementLineage, TableUse
from lakebed.lineage.pieces import Piece
from lakebed.lineage.relations import NO_REFS, Relation, mark_approximate, union
from lakebed.lineage.statements.result import (
    WriteTarget,
    implied_columns,
    report_mismatch,
    statement_lineage,
    written_columns,
)


def select(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """A query whose rows go to the client, or with INTO to a new table."""
    relation = ctx.resolve_query(node, {}, None, ctx)
    if ctx.explained is not None:
        ctx.explained.rows.append((relation.names, relation))
    if ctx.piece is not None:
        _remember(relation, ctx.piece)
        if ctx.piece.place is not None:
            place, written = ctx.piece.place, written_columns(relation)
            use = TableUse(place, "file", "unknown")
            return [statement_lineage(ctx, "UNLOAD", place, written, outputs=relation.names, target_use=use)]
    into = query_target(node)
    if into is None:
        return [statement_lineage(ctx, "SELECT", None, written_columns(relation), outputs=relation.names)]
    target = WriteTarget(into.args["this"], ctx)
    temporary = bool(into.args.get("temporary")) or bool(target.parts and target.parts[-1].text.startswith("#"))
    name = temporary_name(target, ctx) if temporary else target.name
    result = statement_lineage(
        ctx,
        "CREATE_TABLE_AS",
        name,
        written_columns(relation),
        outputs=relation.names,
        target_use=TableUse(name, "table", "implied"),
    )
    mismatch = ctx.catalog.declare(
        target.parts,
        implied_columns(relation, ctx),
        kind="table",
        statement_index=ctx.index,
        temporary=temporary,
        complete=relation.unknown is None,
    )
    report_mismatch(mismatch, ctx, into)
    return [result]


def _remember(relation: Relation, piece: Piece) -> None:
    """What SELECT ... INTO v, a loop or a cursor gives to the names of a body."""
    body = piece.body
    if body is None:
        return
    if piece.record is not None:
        body.records[piece.record] = relation
    if len(piece.into) == 1 and len(relation.names) > 1:
        body.records[piece.into[0]] = relation
    for name, refs in zip(piece.into, relation.refs, strict=False):
        # another branch may give it another value
        body.variables[name] = union([body.variables.get(name, NO_REFS), mark_approximate(refs)])


def query_target(node: exp.Expr) -> exp.Expr | None:
    """INTO of a query; it stands in the first SELECT, also of a set operation."""
    while isinstance(node, exp.SetOperation | exp.Subquery):
        node = node.args["this"]
    into = node.args.get("into")
    return into if isinstance(into, exp.Into) else None


def temporary_name(target: WriteTarget, ctx: Context) -> str:
    """A temporary table belongs to the session, not to the default schema."""
    spelling = ctx.catalog.rules.table_spelling
    return ".".join(spelling(part.text, part.quoted) for part in target.parts)
