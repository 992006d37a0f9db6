"""Names of output columns without an alias.

A column keeps its name in every dialect. An expression is named by the engine's rule where that is simple (PostgreSQL,
BigQuery, Trino, Hive), and by its text elsewhere.
"""

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.expression_text import Style, expression_text

_STYLES = {
    "spark": Style("spark", spark=True),
    "databricks": Style("databricks", spark=True),
    "duckdb": Style("duckdb", spark=False),
}
_POSTGRES_NAMES: dict[type, str] = {
    exp.Case: "case",
    exp.Coalesce: "coalesce",
    exp.Exists: "exists",
    exp.Array: "array",
}


def output_name(node: exp.Expr, position: int, ctx: Context) -> str:
    """The name of a select item that has no alias."""
    while isinstance(node, exp.Paren):
        node = node.args["this"]
    name = _column_name(node, ctx)
    if name is not None:
        return name
    style = ctx.dialect.unnamed
    if style == "ordinal":
        prefix = ctx.dialect.ordinal_prefix
        return f"{prefix}{position}_" if prefix == "f" else f"{prefix}{position}"
    if style == "none":
        return ""
    if style == "postgres":
        return _postgres_name(node, ctx)
    return _text_name(node, position, ctx)


def _column_name(node: exp.Expr, ctx: Context) -> str | None:
    if isinstance(node, exp.Column):
        return _last_name(node.args["this"], ctx)
    if isinstance(node, exp.Dot):
        return _last_name(node.args["expression"], ctx)
    if isinstance(node, exp.Alias):
        return ctx.spelling_of(node.args["alias"])
    if isinstance(node, exp.Identifier):
        return ctx.spelling_of(node)
    return None


def _last_name(name: exp.Expr, ctx: Context) -> str | None:
    if isinstance(name, exp.Parameter):
        return f"${name.name}"
    if isinstance(name, exp.Literal) and name.is_string:
        # SQLite takes a string behind a dot for a quoted name
        return name.name
    return ctx.spelling_of(name) if isinstance(name, exp.Identifier) else None


def _postgres_name(node: exp.Expr, ctx: Context) -> str:
    if isinstance(node, exp.Cast):
        inner = node.args["this"]
        name = output_name(inner, 0, ctx)
        return name if name != "?column?" else node.args["to"].sql("postgres").split("(")[0].lower()
    if isinstance(node, exp.Window | exp.Filter | exp.WithinGroup | exp.IgnoreNulls):
        return output_name(node.args["this"], 0, ctx)
    if isinstance(node, exp.Subquery):
        query = node.unnest()
        items = query.args.get("expressions") if isinstance(query, exp.Select) else None
        return output_name(items[0], 0, ctx) if items else "?column?"
    if isinstance(node, exp.Case) and node.args.get("default") is not None:
        # PostgreSQL takes the name of the ELSE branch, where that has one
        return _column_name(node.args["default"], ctx) or "case"
    for kind, name in _POSTGRES_NAMES.items():
        if isinstance(node, kind):
            return name
    if isinstance(node, exp.Anonymous):
        return str(node.args["this"]).lower()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return node.sql("postgres").split("(")[0].lower()
    return "?column?"


def _text_name(node: exp.Expr, position: int, ctx: Context) -> str:
    style = _STYLES.get(ctx.dialect.name)
    try:
        if style is not None:
            return expression_text(node, style)
        return str(node.sql(ctx.dialect.parser or None, normalize_functions="lower", comments=False))
    except RecursionError:
        # a sum of thousands of terms: no query will use its text as a name
        return f"_c{position}"
