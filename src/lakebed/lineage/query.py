"""Queries: SELECT, set operations, WITH. One pass over the tree; nothing is copied or rewritten first."""

from sqlglot import exp

from lakebed.lineage.context import HINT_STRUCT, Context, Env
from lakebed.lineage.ctes import with_ctes
from lakebed.lineage.expressions import check, predicate, refs_of
from lakebed.lineage.from_clause import add_from, add_join, add_lateral_view, is_join_group, resolve_from_item
from lakebed.lineage.output_names import output_name
from lakebed.lineage.pivots import duckdb_pivot
from lakebed.lineage.relations import NO_REFS, Derived, Refs, Relation, Unknown, mark_approximate, one_of, union
from lakebed.lineage.scope import OutputColumn, Scope
from lakebed.lineage.set_operations import combine, combine_by_name, steps
from lakebed.lineage.stars import Expansion, columns_in, expand, expand_fields, selected_columns
from lakebed.lineage.struct_values import fields_of
from lakebed.lineage.table_functions import resolve_values
from lakebed.lineage.type_inference import SelectOrigin

# Clauses whose columns carry no value, looked up only to find names that do not exist.
_CHECKED = ("group", "order", "sort", "cluster", "distribute", "limit", "offset", "fetch", "hint")


def resolve_query(node: exp.Expr, env: Env, parent: Scope | None, ctx: Context) -> Relation:
    """The output columns of a query, with their sources."""
    kind = type(node)
    if kind is exp.Select:
        return _select(node, env, parent, ctx)
    if isinstance(node, exp.SetOperation):
        return _set_operation(node, env, parent, ctx)
    if kind is exp.Subquery:
        return _subquery(node, env, parent, ctx)
    if kind is exp.Values:
        return resolve_values(node, Scope(parent, env), ctx)
    if kind is exp.Pivot:
        scope = Scope(parent, env)
        return duckdb_pivot(node, resolve_from_item(node.args["this"], scope, ctx).relation, scope, ctx)
    if kind is exp.Table or kind is exp.Paren:
        scope = Scope(parent, env)
        add_from(node if kind is exp.Table else node.args["this"], scope, ctx)
        return _all_columns(scope, ctx, node)
    if isinstance(node, exp.DML):
        return _returning(node, env, ctx)
    ctx.issue(
        "UNSUPPORTED_SYNTAX",
        "warning",
        f"{kind.__name__} in the place of a query is not analysed",
        "Its columns are missing from the lineage.",
        node,
    )
    return Relation([], [], [], unknown=Derived(NO_REFS))


def _all_columns(scope: Scope, ctx: Context, node: exp.Expr) -> Relation:
    return expand(exp.Star(), None, scope, ctx, node).relation()


def _subquery(node: exp.Expr, env: Env, parent: Scope | None, ctx: Context) -> Relation:
    env = with_ctes(node, env, ctx)
    inner = node.args["this"]
    if node.args.get("joins") or is_join_group(node):
        scope = Scope(parent, env)
        add_from(node, scope, ctx)
        relation = _all_columns(scope, ctx, node)
    else:
        relation = resolve_query(inner, env, parent, ctx)
    return relation


def _set_operation(node: exp.Expr, env: Env, parent: Scope | None, ctx: Context) -> Relation:
    env = with_ctes(node, env, ctx)
    first, groups = steps(node)
    relation = resolve_query(first, env, parent, ctx)
    for operation, operands in groups:
        relations = [relation, *(resolve_query(operand, env, parent, ctx) for operand in operands)]
        if operation.args.get("by_name"):
            relation = combine_by_name(relations, operation, ctx)
        else:
            relation = combine(relations, operation, ctx)
    return relation


def select_from(node: exp.Expr, source: exp.Expr, env: Env, ctx: Context) -> Relation:
    """A SELECT whose FROM stands elsewhere, as in Hive's `FROM s INSERT ... SELECT ...`."""
    return _select(node, env, None, ctx, source)


def _select(node: exp.Expr, env: Env, parent: Scope | None, ctx: Context, source: exp.Expr | None = None) -> Relation:
    args = node.args
    if args.get("with_") is not None:
        env = with_ctes(node, env, ctx)
    scope = Scope(parent, env)
    from_ = args.get("from_")
    if from_ is not None:
        add_from(from_.args["this"], scope, ctx)
    elif source is not None:
        add_from(source, scope, ctx)
    joins = args.get("joins") or []
    laterals = args.get("laterals") or []
    if joins and laterals:
        # LATERAL VIEW may stand before and after joins, and each reads what stands before it
        for item in sorted([*joins, *laterals], key=lambda item: ctx.span_of(item).start):
            (add_join if isinstance(item, exp.Join) else add_lateral_view)(item, scope, ctx)
    else:
        for join in joins:
            add_join(join, scope, ctx)
        for lateral in laterals:
            add_lateral_view(lateral, scope, ctx)
    for window in args.get("windows") or []:
        scope.windows[ctx.key_of(window.args["this"])] = window
    relation = select_list(args.get("expressions") or [], scope, ctx)
    _clauses(args, scope, relation, ctx)
    if args.get("match") is not None:
        return _match_recognize(args["match"], relation, scope, ctx)
    return relation


def _clauses(args: dict[str, exp.Expr], scope: Scope, relation: Relation, ctx: Context) -> None:
    """Clauses that decide about rows and groups; they see aliases where the dialect allows it."""
    aliases = scope.aliases
    visible = dict(zip(relation.keys, relation.refs, strict=True)) if args.get("having") or args.get("qualify") else {}
    scope.aliases = (aliases or visible) if ctx.dialect.alias_in_where else None
    for clause in ("where", "prewhere"):
        condition = args.get(clause)
        if condition is not None:
            predicate(condition.args["this"], scope, ctx, "filter")
    scope.aliases = aliases if aliases is not None else visible
    for clause in ("having", "qualify"):
        condition = args.get(clause)
        if condition is not None:
            predicate(condition.args["this"], scope, ctx, "filter")
    connect = args.get("connect")
    if connect is not None:
        predicate(connect, scope, ctx, "filter")
    checked = [(clause, part) for clause in _CHECKED if (part := args.get(clause)) is not None]
    if checked:
        scope.aliases = dict(zip(relation.keys, relation.refs, strict=True))
        for clause, part in checked:
            _check_clause(clause, part, scope, ctx)
    distinct = args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        check(distinct.args["on"], scope, ctx)


def _check_clause(clause: str, part: exp.Expr, scope: Scope, ctx: Context) -> None:
    """ORDER BY means the output's column where both the output and a table have one of that name."""
    known = scope.aliases or {}
    for item in part.args.get("expressions") or []:
        inner = item.args["this"] if type(item) is exp.Ordered else item
        if type(inner) is exp.Column and inner.args.get("table") is None:
            identifier = inner.args["this"]
            if type(identifier) is exp.Identifier and ctx.key_of(identifier) in known:
                continue
        elif type(inner) is exp.Literal:
            continue
        check(inner, scope, ctx)
    for name in ("expression", "rollup", "cube", "grouping_sets"):
        value = part.args.get(name)
        if value is None:
            continue
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, exp.Expr) and not isinstance(entry, exp.Literal):
                check(entry, scope, ctx)


def select_list(items: list[exp.Expr], scope: Scope, ctx: Context) -> Relation:
    """The output columns in order; a star stands for many."""
    names: list[str] = []
    keys: list[str] = []
    refs: list[Refs] = []
    made: list[exp.Expr | None] = []
    unknowns: list[Unknown] = []
    lateral = ctx.dialect.lateral_alias
    if lateral:
        scope.aliases = {}
    column_type, alias_type = exp.Column, exp.Alias
    expansion: Expansion | None
    for node in items:
        kind = type(node)
        if kind is alias_type:
            identifier = node.args["alias"]
            inner = node.args["this"]
            id_args = identifier.args
            text, quoted = id_args.get("this"), id_args.get("quoted") is True
            if type(text) is not str:
                text = identifier.name
            name = ctx.column_spelling(text, quoted)
            key = ctx.column_key(text, quoted)
            own = refs_of(inner, scope, ctx)
            if not ctx.meets_columns:
                names.append(name)
                keys.append(key)
                refs.append(own)
                made.append(inner)
                if lateral and scope.aliases is not None:
                    scope.aliases.setdefault(key, own)
                continue
            expansion = columns_in(inner, scope, ctx)
            if "\\" not in name:
                # every column has the alias; one with `\1` takes parts of their names
                found = expansion
                expansion = Expansion([OutputColumn(name, key, item.refs) for item in found.items], found.unknown)
        elif kind is column_type and type(node.args["this"]) is exp.Identifier:
            id_args = node.args["this"].args
            text, quoted = id_args["this"], id_args.get("quoted") is True
            names.append(ctx.column_spelling(text, quoted))
            keys.append(ctx.column_key(text, quoted))
            refs.append(refs_of(node, scope, ctx))
            made.append(node)
            continue
        else:
            expansion = _expand_item(node, scope, ctx)
        if expansion is None:
            own = refs_of(node, scope, ctx)
            if not ctx.meets_columns:
                name = output_name(node, len(names), ctx)
                names.append(name)
                keys.append(ctx.column_key(name, True))
                refs.append(own)
                made.append(node)
                continue
            expansion = columns_in(node, scope, ctx)
        for item in expansion.items:
            names.append(item.name)
            keys.append(item.key)
            refs.append(item.refs)
            made.append(None)
        if expansion.unknown is not None:
            unknowns.append(expansion.unknown)
    relation = Relation(names, keys, refs, unknown=one_of(unknowns), origin=SelectOrigin(made, scope))
    if ctx.typed is not None:
        ctx.typed.relations.append(relation)
    return relation


def _expand_item(node: exp.Expr, scope: Scope, ctx: Context) -> Expansion | None:
    """Select items that stand for several columns; None for the others."""
    if isinstance(node, exp.Star):
        return expand(node, None, scope, ctx, node)
    if isinstance(node, exp.Column) and isinstance(node.args["this"], exp.Star):
        return expand(node.args["this"], node.args.get("table"), scope, ctx, node)
    if isinstance(node, exp.Dot) and isinstance(node.args["expression"], exp.Star):
        return expand_fields(node, scope, ctx)
    if isinstance(node, exp.Columns | exp.Like | exp.ILike):
        return selected_columns(node, scope, ctx)
    if isinstance(node, exp.Aliases) and isinstance(node.args["this"], exp.Stack):
        return _stack(node.args["this"], node.args.get("expressions") or [], scope, ctx)
    if isinstance(node, exp.Aliases):
        own = refs_of(node.args["this"], scope, ctx)
        positions = isinstance(node.args["this"], exp.Posexplode | exp.PosexplodeOuter)
        return Expansion(
            [
                OutputColumn(ctx.spelling_of(name), ctx.key_of(name), NO_REFS if positions and place == 0 else own)
                for place, name in enumerate(node.args.get("expressions") or [])
            ],
            None,
        )
    if ctx.dialect.name in ("spark", "databricks", "hive"):
        if isinstance(node, exp.Posexplode | exp.PosexplodeOuter):
            own = refs_of(node, scope, ctx)
            return Expansion([OutputColumn("pos", "pos", NO_REFS), OutputColumn("col", "col", own)], None)
        if isinstance(node, exp.Explode | exp.ExplodeOuter):
            return Expansion([OutputColumn("col", "col", refs_of(node, scope, ctx))], None)
        if isinstance(node, exp.Inline):
            return _inline(node, scope, ctx)
    return None


def _stack(stack: exp.Expr, names: list[exp.Expr], scope: Scope, ctx: Context) -> Expansion:
    """stack(2, 'a', a, 'b', b) AS (k, v): values go to the columns in turn."""
    values = stack.args.get("expressions") or []
    width = max(1, len(names))
    items = []
    for place, name in enumerate(names):
        refs = union(refs_of(value, scope, ctx) for value in values[place::width])
        items.append(OutputColumn(ctx.spelling_of(name), ctx.key_of(name), refs))
    return Expansion(items, None)


def _inline(node: exp.Expr, scope: Scope, ctx: Context) -> Expansion:
    """inline(array of structs): one column for each field that the column's type lists."""
    own = refs_of(node, scope, ctx)
    fields = fields_of(node.args["this"], scope, ctx).members
    if fields:
        return Expansion([OutputColumn(f.name, ctx.column_key(f.name, False), f.refs) for f in fields], None)
    ctx.stars.append("none")
    ctx.issue_once(
        "APPROXIMATE_LINEAGE",
        "warning",
        "inline",
        "the fields that inline() returns are not known",
        HINT_STRUCT,
        node,
    )
    return Expansion([], Derived(own))


def _match_recognize(match: exp.Expr, relation: Relation, scope: Scope, ctx: Context) -> Relation:
    ctx.issue_once(
        "UNSUPPORTED_SYNTAX",
        "warning",
        "match_recognize",
        "MATCH_RECOGNIZE is not followed: its columns are approximate",
        "Lineage through the pattern has to be checked by hand.",
        match,
    )
    return Relation(
        relation.names, relation.keys, [mark_approximate(refs) for refs in relation.refs], unknown=relation.unknown
    )


def _returning(node: exp.Expr, env: Env, ctx: Context) -> Relation:
    """A statement that writes inside of WITH: it has lineage of its own, and what RETURNING gives can be read."""
    inner = ctx.nested_context(env)
    ctx.nested += [*ctx.analyze_statement(node, inner), *inner.nested]
    ctx.issues += inner.issues
    scope = Scope(None, env)
    target = node.args.get("this")
    if isinstance(target, exp.Schema):
        target = target.args["this"]
    if isinstance(target, exp.Table):
        add_from(target, scope, ctx)
    returning = node.args.get("returning")
    return select_list(returning.args.get("expressions") or [] if returning else [], scope, ctx)
