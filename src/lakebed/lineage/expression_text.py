"""The text of expressions as Spark and DuckDB write it into the names of output columns.

Both put every operation in parentheses. Spark leaves out qualifiers, quotes and casts; DuckDB keeps them. Expressions
without a rule here have sqlglot's text.
"""

from dataclasses import dataclass

from sqlglot import exp

from lakebed.lineage.sqlglot_dialects import sqlglot_dialect

_OPERATORS: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.And: "AND",
    exp.Or: "OR",
}
# Functions that have one name, whatever their arguments; to write them out for it takes longer than all the rest.
_ONE_NAME = frozenset({exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count, exp.Lower, exp.Upper, exp.Abs, exp.Coalesce})
_NAMES: dict[tuple[type, str], str] = {}
# Functions that are written as a name and arguments, and what arguments are.
_CALLS = (exp.AggFunc, exp.Lower, exp.Upper, exp.Concat, exp.Coalesce, exp.Abs, exp.Round)
_ARGUMENTS = (exp.Expr, list, bool)
_WORDS = (exp.Var, exp.DataType)
_LEAVES = frozenset({exp.Column, exp.Literal})
_RANKING = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.PercentRank, exp.CumeDist)


@dataclass(frozen=True, slots=True)
class Style:
    """How one engine writes expressions."""

    dialect: str
    spark: bool


def expression_text(node: exp.Expr, style: Style) -> str:
    """The name that an engine gives to an expression without an alias."""
    kind = type(node)
    args = node.args
    if kind is exp.Paren:
        return expression_text(args["this"], style)
    if kind in _OPERATORS:
        left, right = expression_text(args["this"], style), expression_text(args["expression"], style)
        return f"({left} {_OPERATORS[kind]} {right})"
    if isinstance(node, exp.Count) and isinstance(args.get("this"), exp.Star):
        return "count(1)" if style.spark else "count_star()"
    if style.spark:
        return _spark(node, style)
    return _function(node, style) if isinstance(node, exp.Func) and _is_plain_call(node) else _sql(node, style)


def _spark(node: exp.Expr, style: Style) -> str:
    kind, args = type(node), node.args
    if kind is exp.Column and isinstance(args["this"], exp.Identifier):
        return node.name
    if kind is exp.Literal:
        return str(args["this"])
    if kind is exp.Cast or kind is exp.Alias or (kind is exp.TryCast and not args.get("safe")):
        return expression_text(args["this"], style)
    if kind is exp.Neg:
        return f"(- {expression_text(args['this'], style)})"
    if kind is exp.NEQ:
        left, right = expression_text(args["this"], style), expression_text(args["expression"], style)
        return f"(NOT ({left} = {right}))"
    if kind is exp.Not and isinstance(args["this"], exp.Is):
        return f"({expression_text(args['this'].args['this'], style)} IS NOT NULL)"
    if kind is exp.Not:
        return f"(NOT {expression_text(args['this'], style)})"
    if kind is exp.Is:
        return f"({expression_text(args['this'], style)} IS {_sql(args['expression'], style)})"
    if kind is exp.Like:
        return f"{expression_text(args['this'], style)} LIKE {expression_text(args['expression'], style)}"
    if kind is exp.In and args.get("expressions"):
        values = ", ".join(expression_text(value, style) for value in args["expressions"])
        return f"({expression_text(args['this'], style)} IN ({values}))"
    if kind is exp.Between:
        parts = [expression_text(args[name], style) for name in ("this", "low", "high")]
        return f"between({', '.join(parts)})"
    if kind is exp.DPipe:
        return f"concat({expression_text(args['this'], style)}, {expression_text(args['expression'], style)})"
    if kind is exp.Case:
        return _case(node, style)
    if kind is exp.If:
        parts = [expression_text(args[name], style) for name in ("this", "true", "false") if args.get(name) is not None]
        return f"(IF({', '.join(parts)}))"
    if kind is exp.Exists:
        return "exists()"
    if isinstance(node, exp.Query):
        return "scalarsubquery()"
    if kind is exp.Window:
        return _window(node, style)
    if kind is exp.CurrentDate or kind is exp.CurrentTimestamp:
        return "current_date()" if kind is exp.CurrentDate else "current_timestamp()"
    if kind is exp.Distinct:
        return "DISTINCT " + ", ".join(expression_text(value, style) for value in args.get("expressions") or [])
    return _function(node, style) if isinstance(node, exp.Func) and _is_plain_call(node) else _sql(node, style)


def _case(node: exp.Expr, style: Style) -> str:
    operand = node.args.get("this")
    parts = ["CASE"]
    for branch in node.args.get("ifs") or []:
        condition = expression_text(branch.args["this"], style)
        if operand is not None:
            condition = f"({expression_text(operand, style)} = {condition})"
        parts.append(f"WHEN {condition} THEN {expression_text(branch.args['true'], style)}")
    if node.args.get("default") is not None:
        parts.append(f"ELSE {expression_text(node.args['default'], style)}")
    return " ".join([*parts, "END"])


def _window(node: exp.Expr, style: Style) -> str:
    args = node.args
    inside = []
    if args.get("partition_by"):
        inside.append("PARTITION BY " + ", ".join(expression_text(value, style) for value in args["partition_by"]))
    order = args.get("order")
    if order is not None:
        keys = []
        for key in order.args.get("expressions") or []:
            way = "DESC NULLS LAST" if key.args.get("desc") else "ASC NULLS FIRST"
            keys.append(f"{expression_text(key.args['this'], style)} {way}")
        inside.append("ORDER BY " + ", ".join(keys))
    if args.get("spec") is not None:
        inside.append(_sql(args["spec"], style))
    elif order is None:
        inside.append("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
    else:
        unit = "ROWS" if isinstance(args["this"], _RANKING) else "RANGE"
        inside.append(f"{unit} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    return f"{expression_text(args['this'], style)} OVER ({' '.join(inside)})"


def _is_plain_call(node: exp.Expr) -> bool:
    """Whether a function is written as its name and its arguments, all of them expressions."""
    return isinstance(node, _CALLS) and all(
        value is None or (isinstance(value, _ARGUMENTS) and not isinstance(value, _WORDS))
        for value in node.args.values()
    )


def _function(node: exp.Expr, style: Style) -> str:
    kind = type(node)
    name = _NAMES.get((kind, style.dialect))
    if name is None:
        name = _sql(node, style).partition("(")[0]
        if kind in _ONE_NAME:
            _NAMES[kind, style.dialect] = name
    arguments = [
        expression_text(item, style)
        for value in node.args.values()
        for item in (value if isinstance(value, list) else [value])
        if isinstance(item, exp.Expr)
    ]
    return f"{name}({', '.join(arguments)})"


def _sql(node: exp.Expr, style: Style) -> str:
    # what writes SQL may rewrite what it is given, but has nothing to rewrite in a name or a constant
    copied = type(node) not in _LEAVES
    return str(sqlglot_dialect(style.dialect).generate(node, copied, normalize_functions="lower", comments=False))
