"""FROM and JOIN: tables, CTEs, derived tables, join groups and LATERAL become the relations of a scope."""

from collections.abc import Sequence

from sqlglot import exp

from lakebed.lineage.context import HINT_SCHEMA, HINT_SPELLING, Context
from lakebed.lineage.expressions import predicate, refs_of
from lakebed.lineage.identifiers import identifier_of, table_parts
from lakebed.lineage.pivots import apply_pivot
from lakebed.lineage.relations import NO_REFS, Derived, Refs, Relation, one_of, union
from lakebed.lineage.scope import Cte, NamedRelation, Scope, scope_columns
from lakebed.lineage.stars import Expansion
from lakebed.lineage.table_functions import function_alias, resolve_table_function, resolve_unnest, resolve_values

# Joins after which only the left side can be seen.
_LEFT_SIDE_ONLY = frozenset({"SEMI", "ANTI"})
# Around a FROM item, and in the place of a table's name.
_WRAPPERS = (exp.Final, exp.TableSample, exp.Paren)
_CALLS = (exp.Func, exp.SemanticView)


def add_from(item: exp.Expr, scope: Scope, ctx: Context) -> None:
    """Adds what one FROM item gives, with the joins that sqlglot hangs on it."""
    if is_join_group(item):
        _add_group(item, scope, ctx)
    else:
        scope.add(resolve_from_item(item, scope, ctx))
        for lateral in item.args.get("laterals") or []:
            add_lateral_view(lateral, scope, ctx)
    for join in item.args.get("joins") or []:
        add_join(join, scope, ctx)


def is_join_group(item: exp.Expr) -> bool:
    """`(a JOIN b ON ...)`: parentheses around FROM items instead of a query."""
    if not isinstance(item, exp.Subquery):
        return False
    inner = item.args["this"]
    if isinstance(inner, exp.Subquery):
        # `((SELECT ...) q JOIN b ON ...)`: a derived table has an alias or joins, a query in parentheses has neither
        return bool(inner.args.get("alias") or inner.args.get("joins")) or is_join_group(inner)
    return isinstance(inner, exp.Table | exp.Unnest | exp.Lateral)


def _add_group(item: exp.Expr, scope: Scope, ctx: Context) -> None:
    inner = _group_scope(item, scope, ctx)
    alias = item.args.get("alias")
    if alias is None or alias.args.get("this") is None:
        scope.extend(inner)
    else:
        scope.add(_aliased(_all_columns(inner), alias, "", (), ctx))


def _group_scope(item: exp.Expr, scope: Scope, ctx: Context) -> Scope:
    inner = Scope(scope.parent, scope.env)
    add_from(item.args["this"], inner, ctx)
    return inner


def _all_columns(scope: Scope) -> Relation:
    unknown = one_of([relation.unknown for relation in scope.relations if relation.unknown is not None])
    return Expansion(scope_columns(scope), unknown).relation()


def resolve_from_item(item: exp.Expr, scope: Scope, ctx: Context) -> NamedRelation:
    """One relation of FROM under its alias."""
    while isinstance(item, _WRAPPERS):
        item = item.args["this"]
    alias = item.args.get("alias")
    name = ""
    parts: tuple[str, ...] = ()
    if isinstance(item, exp.Table):
        relation, name, parts = _table(item, scope, ctx)
    elif isinstance(item, exp.Lateral):
        relation = _lateral(item, scope, ctx)
    elif isinstance(item, exp.Unnest):
        return resolve_unnest(item, scope, ctx)
    elif isinstance(item, exp.Values):
        relation = resolve_values(item, scope, ctx)
    elif isinstance(item, exp.TableFromRows):
        relation = resolve_table_function(item.args["this"], scope, ctx, alias)
    elif is_join_group(item):
        relation = _all_columns(_group_scope(item, scope, ctx))
    elif isinstance(item, exp.Query | exp.Pivot):
        # sqlglot hangs the joins that follow a derived table on it: they are no part of its query
        query = item.args["this"] if isinstance(item, exp.Subquery) and item.args.get("joins") else item
        # elsewhere a derived table sees nothing of its neighbours, only the queries around
        around = scope if ctx.dialect.sees_neighbours and scope.sources else scope.parent
        relation = as_derived_table(ctx.resolve_query(query, scope.env, around, ctx), ctx)
    else:
        relation = resolve_table_function(item, scope, ctx, alias)
    if isinstance(alias, exp.TableAlias):
        source = _aliased(relation, alias, name, parts, ctx)
    else:
        source = NamedRelation(name, relation, parts)
    for pivot in item.args.get("pivots") or []:
        source = NamedRelation(source.alias, apply_pivot(source.relation, pivot, source.alias, scope, ctx))
        pivot_alias = pivot.args.get("alias")
        if isinstance(pivot_alias, exp.TableAlias):
            source = _aliased(source.relation, pivot_alias, source.alias, (), ctx)
    return source


def as_derived_table(relation: Relation, ctx: Context) -> Relation:
    """A query's result as something to read from."""
    return relation.distinct_names() if ctx.dialect.numbers_duplicates else relation


def _aliased(relation: Relation, alias: exp.Expr, name: str, parts: tuple[str, ...], ctx: Context) -> NamedRelation:
    identifier = alias.args.get("this")
    columns = alias.args.get("columns") or []
    if columns:
        relation = relation.renamed(
            [ctx.spelling_of(identifier_of(column)) for column in columns],
            [ctx.key_of(identifier_of(column)) for column in columns],
        )
    if identifier is None:
        return NamedRelation(name, relation, parts)
    # an alias hides the table's own name
    return NamedRelation(ctx.key_of(identifier), relation)


def _table(item: exp.Expr, scope: Scope, ctx: Context) -> tuple[Relation, str, tuple[str, ...]]:
    this = item.args.get("this")
    if type(this) is not exp.Identifier and isinstance(this, _CALLS):
        return resolve_table_function(this, scope, ctx, item.args.get("alias")), function_alias(this, ctx), ()
    parts = table_parts(item)
    if item.args.get("rows_from"):
        return _rows_from(item.args["rows_from"], scope, ctx), "", ()
    if not parts:
        return Relation([], [], [], unknown=Derived(NO_REFS)), "", ()
    last = parts[-1]
    alias = ctx.column_key(last.text, last.quoted)
    if len(parts) == 1:
        cte = scope.env.get(alias)
        if cte is not None:
            return read_cte(cte, ctx), alias, ()
        body = ctx.piece.body if ctx.piece is not None else None
        if body is not None and body.trigger_table is not None and last.text.lower() in ("inserted", "deleted"):
            return ctx.read_table(list(body.trigger_table), item), alias, ()
        if last.text.lower() == "dual" and ctx.find_table(parts) is None:
            # Oracle's and MySQL's table of one row that stands for no table
            return Relation([], [], []), "", ()
    return ctx.read_table(parts, item), alias, ctx.catalog.key(parts)


def _rows_from(functions: list[exp.Expr], scope: Scope, ctx: Context) -> Relation:
    """PostgreSQL's ROWS FROM (f(x), g(y)): the columns of the functions side by side."""
    names, keys, refs = [], [], []
    for function in functions:
        relation = resolve_from_item(function, scope, ctx).relation
        if not relation.names and relation.unknown is not None:
            # the only column of a function whose names are not known
            relation = Relation([""], [""], [relation.unknown.lookup("", "")])
        names += relation.names
        keys += relation.keys
        refs += relation.refs
    return Relation(names, keys, refs)


def read_cte(cte: Cte, ctx: Context, *, count: bool = True) -> Relation:
    """The columns of a CTE; with `count` its query's reads are added to the reader's."""
    if cte.relation is None:
        with ctx.collect_reads() as reads:
            relation = as_derived_table(ctx.resolve_query(cte.node.args["this"], cte.env, None, ctx), ctx)
        cte.reads = reads
        alias = cte.node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            relation = _aliased(relation, alias, "", (), ctx).relation
        cte.relation = relation
    if count and cte.reads is not None:
        ctx.add_reads(cte.reads)
    return cte.relation


# -- joins


def add_join(join: exp.Expr, scope: Scope, ctx: Context) -> None:
    """Adds the right side of a join and records what the join compares."""
    args = join.args
    kind = (args.get("kind") or "").upper()
    if kind == "ARRAY":
        _array_join(join, scope, ctx)
        return
    before = len(scope.sources)
    add_from(args["this"], scope, ctx)
    is_comma = not (kind or args.get("on") or args.get("side") or args.get("using") or args.get("method"))
    if is_comma and len(scope.sources) > before:
        scope.sources[before].after_comma = True
    keys: list[tuple[str, exp.Expr | None]] = []
    if args.get("using"):
        keys = [(ctx.key_of(identifier_of(name)), identifier_of(name)) for name in args["using"]]
    elif (args.get("method") or "").upper() == "NATURAL":
        keys = [(key, None) for key in _common_keys(scope, before, join, ctx)]
    if keys:
        _merge_columns(keys, scope, before, (args.get("side") or "").upper(), kind, ctx)
    for condition in (args.get("on"), args.get("match_condition")):
        if condition is not None:
            predicate(condition, scope, ctx, "join")
    if kind in _LEFT_SIDE_ONLY:
        while len(scope.sources) > before and not scope.sources[-1].merged:
            scope.remove_last()


def _common_keys(scope: Scope, before: int, join: exp.Expr, ctx: Context) -> list[str]:
    right = list(scope.relations[before:])
    commas = [place for place, source in enumerate(scope.sources[:before]) if source.after_comma]
    left = scope.relations[commas[-1] if commas else 0 : before]
    if any(relation.unknown is not None for relation in (*left, *right)):
        ctx.issue_once(
            "APPROXIMATE_LINEAGE",
            "warning",
            "natural join",
            "the columns that this NATURAL JOIN compares are not known",
            HINT_SCHEMA,
            join.args["this"],
        )
    on_right = {key for relation in right for key in relation.keys}
    return list(dict.fromkeys(key for relation in left for key in relation.keys if key in on_right))


def _merge_columns(
    keys: list[tuple[str, exp.Expr | None]], scope: Scope, before: int, side: str, kind: str, ctx: Context
) -> None:
    """Makes one column of each pair that USING or NATURAL compares; the sources from `before` on are the right side."""
    commas = [place for place, source in enumerate(scope.sources[:before]) if source.after_comma]
    first = commas[-1] if commas else 0
    for key, identifier in keys:
        left = scope.merged.get(key)
        if left is None:
            left = _refs_by_key(key, identifier, scope.relations[first:before], ctx)
        right = _refs_by_key(key, identifier, scope.relations[before:], ctx)
        ctx.predicate(left, "join")
        ctx.predicate(right, "join")
        if identifier is not None:
            ctx.refer(left + right, identifier)
        if kind in _LEFT_SIDE_ONLY:
            continue
        scope.merged[key] = right if side == "RIGHT" else union([left, right]) if side == "FULL" else left
    if kind in _LEFT_SIDE_ONLY and ctx.dialect.using_first:
        # a star shows the compared columns first here, too, although the right side is gone
        scope.sources.insert(before, NamedRelation("", Relation([], [], [])))
        scope.relations.insert(before, scope.sources[before].relation)
        scope.merged.update({key: _refs_by_key(key, None, scope.relations[first:before], ctx) for key, _ in keys})
        scope.sources[before].merged = tuple(key for key, _ in keys)
    if kind not in _LEFT_SIDE_ONLY:
        source = scope.sources[before]
        source.merged = tuple(key for key, _ in keys)
        source.merged_in_place = not ctx.dialect.using_first
        source.merged_as_left = ctx.dialect.using_as_left


def _refs_by_key(key: str, identifier: exp.Expr | None, relations: Sequence[Relation], ctx: Context) -> Refs:
    for relation in relations:
        refs = relation.by_key.get(key)
        if refs is not None:
            return refs
    if identifier is None:
        return NO_REFS
    name = ctx.spelling_of(identifier)
    guesses = [relation.unknown.lookup(key, name) for relation in relations if relation.unknown is not None]
    if not guesses:
        ctx.issue_once(
            "UNKNOWN_COLUMN",
            "warning",
            f"using {name}",
            f"USING ({name}): one side of the join has no such column",
            HINT_SPELLING,
            identifier,
            resolution_source=ctx.resolution_of([r.table for r in relations if r.table is not None]),
        )
    return union(guesses)


def _array_join(join: exp.Expr, scope: Scope, ctx: Context) -> None:
    """ClickHouse: ARRAY JOIN arr AS a, which replaces the array by its elements."""
    items = [join.args["this"], *(join.args.get("expressions") or [])]
    names, keys, refs = [], [], []
    for item in items:
        inner = item.args["this"] if isinstance(item, exp.Alias) else item
        identifier = item.args["alias"] if isinstance(item, exp.Alias) else None
        if identifier is None:
            continue
        names.append(ctx.spelling_of(identifier))
        keys.append(ctx.key_of(identifier))
        refs.append(refs_of(inner, scope, ctx))
    if names:
        scope.add(NamedRelation("", Relation(names, keys, refs)))


def _lateral(item: exp.Expr, scope: Scope, ctx: Context) -> Relation:
    """A query or function that sees the relations before it."""
    inner = item.args["this"]
    if isinstance(inner, exp.Query):
        return as_derived_table(ctx.resolve_query(inner, scope.env, scope, ctx), ctx)
    return resolve_table_function(inner, scope, ctx, item.args.get("alias"))


def add_lateral_view(lateral: exp.Expr, scope: Scope, ctx: Context) -> None:
    """Hive's LATERAL VIEW explode(...) t AS a, b."""
    scope.add(resolve_from_item(lateral, scope, ctx))
