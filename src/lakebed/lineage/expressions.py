"""The sources of an expression: one walk over its nodes; a source has the role that its place gives it.

A node without a rule of its own passes its role on to its children. Rules stand for the places that SQL treats
differently: conditions, windows, subqueries, arguments that are names. The walk keeps its own stack, so that a sum of
ten thousand terms is no deeper than a sum of two.
"""

from collections.abc import Callable

from sqlglot import exp
from sqlglot.expressions import Expr

from lakebed.lineage.column_lookup import column_refs, positional_refs, whole_row
from lakebed.lineage.context import Context
from lakebed.lineage.identifiers import name_parts, quoted_names, table_parts
from lakebed.lineage.relations import Ref, Refs, Relation, mark_approximate, with_role
from lakebed.lineage.scope import Scope

Stack = list[tuple[Expr, str]]
ExpressionRule = Callable[[Expr, str, Stack, Scope, Context, dict[Ref, None]], None]

VALUE = "value"
CONDITIONAL = "conditional"
WINDOW = "window"

# Nodes that hold names, types and constants, but never a column.
_LEAVES = (
    exp.Identifier,
    exp.Literal,
    exp.Var,
    exp.DataType,
    exp.Boolean,
    exp.Null,
    exp.Star,
    exp.Placeholder,
    exp.SessionParameter,
    exp.JSONPath,
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.National,
    exp.HexString,
    exp.BitString,
    exp.ByteString,
    exp.RawString,
)


# ClickHouse's functions whose first argument names a dictionary.
_DICTIONARY_FUNCTIONS = ("dictget", "dicthas", "dictisin")


def refs_of(expression: Expr, scope: Scope, ctx: Context) -> Refs:
    """The sources of an expression's value."""
    if type(expression) is exp.Column and type(expression.args["this"]) is exp.Identifier:
        return column_refs(expression, scope, ctx)
    found: dict[Ref, None] = {}
    collect(expression, scope, ctx, found, VALUE)
    return tuple(found)


def predicate(expression: Expr, scope: Scope, ctx: Context, role: str) -> None:
    """Records the columns of a condition, `filter` or `join`."""
    if ctx.typed is not None:
        ctx.typed.expressions.append((expression, scope))
    collect(expression, scope, ctx, ctx.predicates, role)


def check(expression: Expr, scope: Scope, ctx: Context) -> None:
    """Looks names up only to report unknown ones: ORDER BY and GROUP BY carry no values."""
    collect(expression, scope, ctx, {}, VALUE)


def collect(expression: Expr, scope: Scope, ctx: Context, found: dict[Ref, None], role: str) -> None:
    """Adds the sources of an expression in the given role."""
    stack: Stack = [(expression, role)]
    rules, column_type = _RULES, exp.Column
    while stack:
        node, role = stack.pop()
        kind = type(node)
        if kind is column_type:
            refs = column_refs(node, scope, ctx)
            if role == VALUE:
                for ref in refs:
                    found[ref] = None
            else:
                for table, column, path, _, approximate in refs:
                    found[table, column, path, role, approximate] = None
            if type(node.args["this"]) is exp.Star:
                _star_argument(node, role, scope, ctx, found)
            continue
        rule = rules[kind]
        if rule is not None:
            # nodes without a rule only ever lead to their children
            ctx.spend(1)
            rule(node, role, stack, scope, ctx, found)
            continue
        # children in reverse, so that they leave the stack in the order of the text
        for value in reversed(node.args.values()):
            if type(value) is list:
                for item in reversed(value):
                    if rules[type(item)] is not _skip:
                        stack.append((item, role))
            elif value is not None and rules[type(value)] is not _skip:
                stack.append((value, role))


def _push(stack: Stack, value: object, role: str) -> None:
    if isinstance(value, list):
        for item in reversed(value):
            _push(stack, item, role)
    elif isinstance(value, Expr):
        stack.append((value, role))


def _inner_role(role: str, inner: str) -> str:
    """The role of a part inside of a part: a value takes the inner role, a condition inside a window stays `window`."""
    return inner if role == VALUE else role


def _parameter(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """A parameter is no column, but Snowflake's `$1` is."""
    if ctx.dialect.name == "snowflake":
        for ref in with_role(positional_refs(node, scope), role):
            found[ref] = None


def _columns(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """COLUMNS(...) in a select list is expanded there; in a condition any column may be one of them."""
    if role == VALUE:
        ctx.meets_columns = True
    else:
        for relation in scope.relations:
            for ref in with_role(mark_approximate(whole_row(relation)), role):
                found[ref] = None


def _skip(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    return


def _case(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    condition = _inner_role(role, CONDITIONAL)
    _push(stack, node.args.get("default"), role)
    for branch in reversed(node.args.get("ifs") or []):
        _push(stack, branch.args.get("true"), role)
        _push(stack, branch.args.get("this"), condition)
    _push(stack, node.args.get("this"), condition)


def _if(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    _push(stack, node.args.get("false"), role)
    _push(stack, node.args.get("true"), role)
    _push(stack, node.args.get("this"), _inner_role(role, CONDITIONAL))


def _decode(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """DECODE(x, search, result, ..., default)."""
    condition = _inner_role(role, CONDITIONAL)
    arguments = node.args.get("expressions") or []
    for place, argument in enumerate(arguments):
        last = place == len(arguments) - 1
        is_result = place > 0 and (place % 2 == 0 or (last and place % 2 == 1))
        _push(stack, argument, role if is_result else condition)


def _chosen_rows(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """`sum(a) FILTER (WHERE b)` and `any_value(a HAVING MAX b)`: b chooses the rows that a is taken from."""
    _push(stack, node.args.get("expression"), _inner_role(role, CONDITIONAL))
    _push(stack, node.args.get("this"), role)


def _window(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    over = _inner_role(role, WINDOW)
    named = node.args.get("alias") or node.args.get("first")
    if isinstance(named, exp.Identifier):
        window = _named_window(ctx.key_of(named), scope)
        if window is not None:
            _push_window(stack, window, over, scope, ctx)
    _push_window(stack, node, over, scope, ctx)
    _push(stack, node.args.get("this"), role)


def _push_window(stack: Stack, window: Expr, role: str, scope: Scope, ctx: Context) -> None:
    args = window.args
    _push(stack, args.get("spec"), role)
    _push(stack, args.get("order"), role)
    _push(stack, args.get("partition_by"), role)


def _named_window(key: str, scope: Scope) -> Expr | None:
    level: Scope | None = scope
    while level is not None:
        if key in level.windows:
            return level.windows[key]
        level = level.parent
    return None


def _within_group(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    function = node.args["this"]
    order = node.args.get("expression")
    _push(stack, order, _inner_role(role, WINDOW))
    if isinstance(function, exp.PercentileCont | exp.PercentileDisc | exp.Mode):
        # here the ordered column is the value, too
        _push(stack, order, role)
    _push(stack, function, role)


def _order(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """The ORDER BY of an aggregate: ARRAY_AGG(x ORDER BY y)."""
    inner = _inner_role(role, WINDOW) if node.args.get("this") is not None else role
    _push(stack, node.args.get("expressions"), inner)
    _push(stack, node.args.get("this"), role)


def _subquery(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """A query as a value: its output columns are the sources; what it filters by is recorded as for any query."""
    relation = ctx.resolve_query(node, scope.env, scope, ctx)
    for refs in relation.refs:
        for ref in with_role(refs, role):
            found[ref] = None


def _exists(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """EXISTS depends on whether there are rows, not on their columns."""
    query = node.args["this"]
    if isinstance(query, exp.Query):
        before, ctx.stars_matter = ctx.stars_matter, False
        ctx.resolve_query(query, scope.env, scope, ctx)
        ctx.stars_matter = before
    else:
        _push(stack, query, role)
        _push(stack, node.args.get("expression"), role)


def _count(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """COUNT(*) and COUNT(t.*) count rows: no column is their source."""
    for value in (node.args.get("this"), *(node.args.get("expressions") or [])):
        if isinstance(value, exp.Column) and isinstance(value.args["this"], exp.Star):
            continue
        _push(stack, value, role)


def _grouping(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """GROUPING(a) is the grouping set of a row: it does not depend on the values of a."""
    for value in (node.args.get("this"), *(node.args.get("expressions") or [])):
        if isinstance(value, Expr):
            check(value, scope, ctx)


def _comprehension(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """`[x + a for x in list if x > b]`: x is the list's element."""
    variable = node.args.get("expression")
    inner = Scope(scope, scope.env)
    if isinstance(variable, exp.Identifier):
        inner.aliases = {ctx.key_of(variable): ()}
    _push(stack, node.args.get("iterator"), role)
    for name in ("this", "condition"):
        part = node.args.get(name)
        if part is not None:
            collect(part, inner, ctx, found, role)


def _dot(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """A field of an expression; the field's name is no column."""
    names = quoted_names(node)
    if names is not None:
        for ref in with_role(column_refs(names, scope, ctx), role):
            found[ref] = None
        return
    path: list[str] = []
    base = node
    while isinstance(base, exp.Dot | exp.Paren):
        # every turn goes one level down, whatever stands behind the dot
        field = base.args.get("expression")
        if isinstance(field, exp.Func):
            # a function called with its schema: db.f(x); or a method of a column: t.doc.value('/a')
            _push(stack, field, role)
            called_on = _named_column(base.args["this"], scope, ctx)
            if called_on is not None:
                for ref in with_role(column_refs(called_on, scope, ctx), role):
                    found[ref] = None
            return
        if isinstance(field, exp.Identifier):
            path.append(ctx.spelling_of(field))
        elif isinstance(field, exp.Literal):
            path += reversed(field.name.split("."))
        base = base.args["this"]
    field_refs = ctx.value_field(base, path[::-1], scope, ctx) if path else None
    if field_refs is not None:
        for ref in with_role(field_refs, role):
            found[ref] = None
    elif isinstance(base, exp.Column) and isinstance(base.args["this"], exp.Identifier):
        for table, column, outer, inner_role, approximate in with_role(column_refs(base, scope, ctx), role):
            found[table, column, outer + tuple(reversed(path)), inner_role, approximate] = None
    else:
        _push(stack, base, role)


def _named_column(node: Expr, scope: Scope, ctx: Context) -> Expr | None:
    """Names around dots as a column, where the first of them is a table or a column that can be seen here."""
    names: list[Expr] = []
    while isinstance(node, exp.Dot):
        names.append(node.args["expression"])
        node = node.args["this"]
    names.append(node)
    if len(names) > 4 or not all(isinstance(name, exp.Identifier) for name in names):
        return None
    first = ctx.key_of(names[-1])
    if first not in scope.names and not any(first in relation.by_key for relation in scope.relations):
        return None
    parts = ("this", "table", "db", "catalog")
    return exp.Column(**{part: name.copy() for part, name in zip(parts, names, strict=False)})


def _property(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """`name := value` and fields of a struct: only the value is read."""
    _push(stack, node.args.get("expression"), role)


def _lambda(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """The parameters of a lambda hide columns of the same name."""
    inner = Scope(scope, scope.env)
    inner.aliases = {
        ctx.key_of(name): () for name in node.args.get("expressions") or [] if isinstance(name, exp.Identifier)
    }
    collect(node.args["this"], inner, ctx, found, role)


def _star_argument(node: Expr, role: str, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """`struct(t.*)`: every column is an argument."""
    table = node.args.get("table")
    relation = scope.names.get(ctx.key_of(table)) if table is not None else None
    if relation is not None:
        for ref in with_role(whole_row(relation), role):
            found[ref] = None


def _function_with_star(
    node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]
) -> None:
    """`struct(*)`, `hash(*)`: every column is an argument."""
    arguments = [*(node.args.get("expressions") or []), node.args.get("this")]
    for argument in reversed(arguments):
        if isinstance(argument, exp.Star):
            for relation in scope.relations:
                refs = whole_row(relation)
                for ref in with_role(mark_approximate(refs) if relation.unknown else refs, role):
                    found[ref] = None
        else:
            _push(stack, argument, role)
    _push(stack, [value for name, value in node.args.items() if name not in ("expressions", "this")], role)


def _anonymous_function(
    node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]
) -> None:
    """Functions that sqlglot has no class for; MySQL's VALUES(column) reads the row that was to be inserted."""
    arguments = node.args.get("expressions") or []
    name = node.args.get("this")
    if name == "VALUES" and len(arguments) == 1 and isinstance(arguments[0], exp.Identifier):
        excluded = scope.names.get("excluded")
        if excluded is not None:
            refs = excluded.by_key.get(ctx.key_of(arguments[0]), ())
            for ref in with_role(refs, role):
                found[ref] = None
        return
    if ctx.dialect.name == "clickhouse" and str(name).lower().startswith(_DICTIONARY_FUNCTIONS) and arguments:
        _dictionary(str(name).lower(), arguments, role, ctx, found)
        _push(stack, arguments[1:], role)
        return
    spark = ctx.dialect.name in ("spark", "databricks")
    if spark and str(name).upper() == "TABLE" and len(arguments) == 1 and isinstance(arguments[0], exp.Column):
        # f(TABLE(t)): the function reads the table's rows
        _rows_of(ctx.read_table(name_parts(arguments[0]), node), role, found)
        return
    _function_with_star(node, role, stack, scope, ctx, found)


def _table_argument(node: Expr, role: str, stack: Stack, scope: Scope, ctx: Context, found: dict[Ref, None]) -> None:
    """`VECTOR_SEARCH(TABLE t, ...)`: the function reads the table's rows."""
    _rows_of(ctx.read_table(table_parts(node), node), role, found)


def _rows_of(relation: Relation, role: str, found: dict[Ref, None]) -> None:
    for ref in with_role(whole_row(relation), role):
        found[ref] = None


def _dictionary(function: str, arguments: list[Expr], role: str, ctx: Context, found: dict[Ref, None]) -> None:
    """ClickHouse's dictGet('db.dict', 'attribute', key) and dictHas(db.dict, key) read a dictionary like a table."""
    parts = name_parts(arguments[0])
    if not parts:
        return
    relation = ctx.read_table(parts, arguments[0])
    if not function.startswith("dictget") or len(arguments) < 2:
        return
    names = arguments[1].args.get("expressions") if isinstance(arguments[1], exp.Tuple) else [arguments[1]]
    for attribute in names or []:
        key = ctx.column_key(attribute.name, True)
        refs = relation.by_key.get(key) or (relation.open.lookup(key, attribute.name) if relation.open else ())
        for ref in with_role(refs, role):
            found[ref] = None


class _Rules(dict[type, ExpressionRule | None]):
    """A rule per node class; a class seen for the first time gets the rule of its nearest base."""

    def __missing__(self, kind: type) -> ExpressionRule | None:
        rule: ExpressionRule | None = _skip
        if issubclass(kind, Expr):
            rule = next((self[base] for base in kind.__mro__[1:] if base in _BY_CLASS), None)
        self[kind] = rule
        return rule


_BY_CLASS: dict[type, ExpressionRule | None] = {
    **dict.fromkeys(_LEAVES, _skip),
    exp.Parameter: _parameter,
    exp.Columns: _columns,
    exp.Case: _case,
    exp.If: _if,
    exp.Nvl2: _if,
    exp.DecodeCase: _decode,
    exp.Filter: _chosen_rows,
    exp.HavingMax: _chosen_rows,
    exp.Window: _window,
    exp.WithinGroup: _within_group,
    exp.Order: _order,
    exp.Query: _subquery,
    exp.Exists: _exists,
    exp.Count: _count,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
    exp.Comprehension: _comprehension,
    exp.Dot: _dot,
    exp.PropertyEQ: _property,
    exp.Kwarg: _property,
    exp.Lambda: _lambda,
    exp.Anonymous: _anonymous_function,
    exp.Table: _table_argument,
    exp.Struct: _function_with_star,
    exp.StarMap: _function_with_star,
    exp.JSONObject: _function_with_star,
    exp.HashAgg: _function_with_star,
}
_RULES = _Rules(_BY_CLASS)
_RULES[exp.Column] = None
