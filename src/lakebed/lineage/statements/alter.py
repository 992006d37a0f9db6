"""ALTER and DROP, which change the implied schema."""

from dataclasses import replace

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.contract import StatementLineage
from lakebed.lineage.identifiers import identifier_of, table_parts
from lakebed.lineage.statements import moves
from lakebed.lineage.statements.create import redefine_view
from lakebed.lineage.statements.result import (
    WriteTarget,
    defined_column,
    report_mismatch,
    statement_lineage,
    target_use,
)
from lakebed.lineage.tables import CatalogColumn


def drop(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """DROP TABLE, VIEW and SCHEMA remove implied tables."""
    kind = str(node.args.get("kind") or "").upper()
    for table in node.args.get("tables") or []:
        if not isinstance(table, exp.Table):
            continue
        if kind in ("SCHEMA", "DATABASE"):
            ctx.catalog.drop_schema(table_parts(table))
        elif "TABLE" in kind or "VIEW" in kind:
            target = WriteTarget(table, ctx)
            ctx.used[target.name] = target_use(target)
            ctx.catalog.drop(target.parts)
    return [_without_reads(statement_lineage(ctx, "DROP", None, []))]


def alter(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """ALTER TABLE: columns come, go and change their names; tables change theirs."""
    table = node.args["this"]
    if not isinstance(table, exp.Table):
        return [statement_lineage(ctx, "ALTER", None, [])]
    actions = node.args.get("actions") or []
    if len(actions) == 1 and isinstance(actions[0], exp.Query):
        return redefine_view(node, table, actions[0], ctx)
    target = WriteTarget(table, ctx)
    ctx.used[target.name] = target_use(target)
    renamed = _column_rename(node, actions)
    if renamed is not None:
        actions = [renamed]
    if len(actions) == 1 and isinstance(actions[0], exp.AlterRename) and isinstance(actions[0].args["this"], exp.Table):
        return moves.renamed_table(target.parts, table_parts(actions[0].args["this"]), ctx)
    if len(actions) == 1 and isinstance(actions[0], exp.ReplacePartition) and actions[0].args.get("source") is not None:
        return moves.copied_rows(table_parts(actions[0].args["source"]), target.parts, ctx)
    if len(actions) == 1 and isinstance(actions[0], exp.SwapTable) and isinstance(actions[0].args["this"], exp.Table):
        return moves.swapped_tables(target.parts, table_parts(actions[0].args["this"]), ctx)
    pairs = [pair for action in actions if (pair := _renamed_column(action, target, ctx)) is not None]
    for action in actions:
        _apply(action, target, table, ctx)
    return [moves.renamed_columns(target.name, pairs, ctx)]


def _renamed_column(action: exp.Expr, target: WriteTarget, ctx: Context) -> tuple[str, str] | None:
    """The names of a column before and after an action that changes its name."""
    old, new = None, None
    if isinstance(action, exp.RenameColumn):
        old, new = action.args["this"], action.args["to"]
    elif isinstance(action, exp.AlterColumn):
        old, new = action.args["this"], action.args.get("rename_to")
    elif isinstance(action, exp.ModifyColumn):
        old, new = action.args.get("rename_from"), action.args["this"].args["this"]
    if old is None or new is None:
        return None
    before, after = identifier_of(old), identifier_of(new)
    key = ctx.key_of(before)
    if key == ctx.key_of(after):
        return None
    pairs = zip(target.relation.keys, target.relation.names, strict=True)
    return next((name for own, name in pairs if own == key), ctx.spelling_of(before)), ctx.spelling_of(after)


def _column_rename(node: exp.Expr, actions: list[exp.Expr]) -> exp.Expr | None:
    """`RENAME a TO b` without the word COLUMN, which sqlglot takes for a new name of the table."""
    to = next((option for option in node.args.get("options") or [] if isinstance(option, exp.ToTableProperty)), None)
    if to is None or len(actions) != 1 or not isinstance(actions[0], exp.AlterRename):
        return None
    old, new = actions[0].args["this"], to.args["this"]
    return exp.RenameColumn(this=old.args["this"], to=new.args["this"])


def _without_reads(statement: StatementLineage) -> StatementLineage:
    """The tables that DDL names are touched, not read."""
    return replace(statement, table_lineage=())


def _apply(action: exp.Expr, target: WriteTarget, table: exp.Expr, ctx: Context) -> None:
    current = ctx.find_table(target.parts)
    if current is None:
        ctx.report_unknown_table(target.name, target.parts, table, target=True)
        return
    columns = _changed_columns(action, list(current.columns), ctx)
    if columns is not None:
        report_mismatch(ctx.catalog.alter(target.parts, columns), ctx, table)


def _changed_columns(action: exp.Expr, columns: list[CatalogColumn], ctx: Context) -> list[CatalogColumn] | None:
    """The columns after one action; None where it is about something else."""
    if isinstance(action, exp.ColumnDef):
        return _added(columns, action, ctx)
    if isinstance(action, exp.Schema):
        for definition in action.args.get("expressions") or []:
            if isinstance(definition, exp.ColumnDef):
                columns = _added(columns, definition, ctx)
        return columns
    if isinstance(action, exp.Drop) and str(action.args.get("kind") or "").upper().startswith("COLUMN"):
        gone = {
            ctx.key_of(identifier)
            for item in action.args.get("tables") or []
            for identifier in item.find_all(exp.Identifier)
        }
        return [column for column in columns if column.key not in gone]
    if isinstance(action, exp.RenameColumn):
        return _renamed(columns, action.args["this"], action.args["to"], ctx)
    if isinstance(action, exp.AlterColumn):
        return _altered(columns, action, ctx)
    if isinstance(action, exp.ModifyColumn):
        definition = action.args["this"]
        old = action.args.get("rename_from") or definition.args["this"]
        return _retyped(_renamed(columns, old, definition.args["this"], ctx), definition, ctx)
    if isinstance(action, exp.ReplaceColumns):
        return [
            defined_column(item, ctx)
            for item in action.args.get("expressions") or []
            if isinstance(item, exp.ColumnDef)
        ]
    return None


def _altered(columns: list[CatalogColumn], action: exp.Expr, ctx: Context) -> list[CatalogColumn] | None:
    """ALTER COLUMN a TYPE t, and Hive's CHANGE COLUMN a b t."""
    old = action.args["this"]
    new = action.args.get("rename_to")
    if new is not None:
        columns = _renamed(columns, old, new, ctx)
    kind = action.args.get("dtype")
    if kind is None and new is None:
        return None
    if isinstance(kind, exp.DataType):
        key = ctx.key_of(identifier_of(new if new is not None else old))
        text = kind.sql(ctx.dialect.parser or None)
        columns = [c._replace(data_type=text) if c.key == key else c for c in columns]
    return columns


def _added(columns: list[CatalogColumn], definition: exp.Expr, ctx: Context) -> list[CatalogColumn]:
    if isinstance(definition.args["this"], exp.Dot):
        # a field inside of a struct column: the table's columns stay
        return columns
    new = defined_column(definition, ctx)
    if any(column.key == new.key for column in columns):
        return columns
    place = definition.args.get("position")
    where = str(place.args.get("position") or "").lower() if place is not None else ""
    if where == "first":
        return [new, *columns]
    if where == "after" and place is not None and place.args.get("this") is not None:
        key = ctx.key_of(identifier_of(place.args["this"]))
        index = next((i for i, column in enumerate(columns) if column.key == key), len(columns) - 1)
        return [*columns[: index + 1], new, *columns[index + 1 :]]
    return [*columns, new]


def _renamed(columns: list[CatalogColumn], old: exp.Expr, new: exp.Expr, ctx: Context) -> list[CatalogColumn]:
    key = ctx.key_of(identifier_of(old))
    name = identifier_of(new)
    return [
        column._replace(name=ctx.spelling_of(name), key=ctx.key_of(name)) if column.key == key else column
        for column in columns
    ]


def _retyped(columns: list[CatalogColumn], definition: exp.Expr, ctx: Context) -> list[CatalogColumn]:
    new = defined_column(definition, ctx)
    return [new if column.key == new.key else column for column in columns]
