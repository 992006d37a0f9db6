"""PIVOT and UNPIVOT: rows become columns, and the other way round."""

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.expressions import refs_of
from lakebed.lineage.identifiers import identifier_of
from lakebed.lineage.relations import NO_REFS, Derived, Refs, Relation, Unknown, Without, union, with_role
from lakebed.lineage.scope import NamedRelation, OutputColumn, Scope
from lakebed.lineage.stars import Expansion, expand


def apply_pivot(relation: Relation, pivot: exp.Expr, alias: str, scope: Scope, ctx: Context) -> Relation:
    """The columns of a relation after the `PIVOT (...)` or `UNPIVOT (...)` that follows it in FROM."""
    inner = _scope_of(relation, alias, scope)
    if pivot.args.get("unpivot"):
        return _unpivot(relation, pivot, inner, ctx)
    return _pivot(relation, pivot, inner, ctx)


def _scope_of(relation: Relation, alias: str, scope: Scope) -> Scope:
    inner = Scope(scope.parent, scope.env)
    inner.add(NamedRelation(alias, relation))
    return inner


def _pivot(relation: Relation, pivot: exp.Expr, inner: Scope, ctx: Context) -> Relation:
    aggregates = pivot.args.get("expressions") or []
    fields = pivot.args.get("fields") or []
    values = [refs_of(_unaliased(aggregate), inner, ctx) for aggregate in aggregates]
    chosen = with_role(union(refs_of(field.args["this"], inner, ctx) for field in fields), "conditional")
    used = _columns_in([*aggregates, *(field.args["this"] for field in fields)], ctx)
    items = _other_columns(relation, used)
    new = pivot.args.get("columns") or []
    for place, identifier in enumerate(new):
        refs = union([values[place % len(values)], chosen]) if values else chosen
        # the value of a literal is the name as it stands; only a plain word folds
        quoted = not identifier.name.isidentifier()
        name, key = ctx.column_spelling(identifier.name, quoted), ctx.column_key(identifier.name, quoted)
        items.append(OutputColumn(name, key, refs))
    unknown: Unknown | None = Without(relation.unknown, frozenset(used)) if relation.unknown is not None else None
    if not new:
        unknown = Derived(union([*values, chosen]))
        _report_data_dependent(pivot, ctx)
    return Expansion(items, unknown).relation()


def _unpivot(relation: Relation, pivot: exp.Expr, inner: Scope, ctx: Context) -> Relation:
    used: set[str] = set()
    added: list[OutputColumn] = []
    targets = [part for target in pivot.args.get("expressions") or [] for part in _tuple(target)]
    for field in pivot.args.get("fields") or []:
        sources: list[list[Refs]] = [[] for _ in targets]
        for entry in field.args.get("expressions") or []:
            columns = _tuple(_unaliased(entry))
            used |= _columns_in(columns, ctx)
            for place, column in enumerate(columns):
                sources[place % max(1, len(sources))].append(refs_of(column, inner, ctx))
        name = identifier_of(field.args["this"])
        name_item = OutputColumn(ctx.spelling_of(name), ctx.key_of(name), NO_REFS)
        value_items = [
            OutputColumn(ctx.spelling_of(identifier_of(target)), ctx.key_of(identifier_of(target)), union(refs))
            for target, refs in zip(targets, sources, strict=True)
        ]
        added += [name_item, *value_items] if ctx.dialect.unpivot_name_first else [*value_items, name_item]
    unknown: Unknown | None = Without(relation.unknown, frozenset(used)) if relation.unknown is not None else None
    return Expansion(_other_columns(relation, used) + added, unknown).relation()


def duckdb_pivot(pivot: exp.Expr, relation: Relation, scope: Scope, ctx: Context) -> Relation:
    """DuckDB's statements: `PIVOT t ON c USING sum(x) GROUP BY k`, `UNPIVOT t ON a, b INTO NAME n VALUE v`."""
    inner = _scope_of(relation, "", scope)
    if pivot.args.get("unpivot"):
        return _duckdb_unpivot(pivot, relation, inner, ctx)
    aggregates = pivot.args.get("using") or []
    values = [refs_of(_unaliased(aggregate), inner, ctx) for aggregate in aggregates]
    on = pivot.args.get("expressions") or []
    chosen = with_role(union(refs_of(_field_column(field), inner, ctx) for field in on), "conditional")
    group = pivot.args.get("group")
    if group is not None:
        keys = group.args.get("expressions") or []
        items = [
            OutputColumn(ctx.spelling_of(identifier_of(key)), ctx.key_of(identifier_of(key)), refs_of(key, inner, ctx))
            for key in keys
            if isinstance(key, exp.Column)
        ]
    else:
        items = _other_columns(relation, _columns_in([*aggregates, *(_field_column(field) for field in on)], ctx))
    if len(on) == 1 and isinstance(on[0], exp.In):
        for entry in on[0].args.get("expressions") or []:
            for place, aggregate in enumerate(aggregates or [None]):
                name = entry.name
                if len(aggregates) > 1 and aggregate is not None:
                    name = f"{name}_{aggregate.alias or aggregate.sql('duckdb', normalize_functions='lower')}"
                refs = union([values[place] if values else NO_REFS, chosen])
                items.append(OutputColumn(name, ctx.column_key(name, False), refs))
        return Expansion(items, None).relation()
    _report_data_dependent(pivot, ctx)
    return Expansion(items, Derived(union([*values, chosen]))).relation()


def _duckdb_unpivot(pivot: exp.Expr, relation: Relation, inner: Scope, ctx: Context) -> Relation:
    columns: list[OutputColumn] = []
    for entry in pivot.args.get("expressions") or []:
        if isinstance(entry, exp.Columns) and isinstance(entry.args["this"], exp.Star):
            columns += expand(entry.args["this"], None, inner, ctx, entry).items
        elif isinstance(_unaliased(entry), exp.Column):
            identifier = identifier_of(_unaliased(entry))
            columns.append(
                OutputColumn(identifier.name, ctx.key_of(identifier), refs_of(_unaliased(entry), inner, ctx))
            )
    into = pivot.args.get("into")
    name, value = "name", "value"
    if into is not None:
        name = into.args["this"].name
        value = next((column.name for column in into.args.get("expressions") or []), value)
    items = _other_columns(relation, {column.key for column in columns})
    items.append(OutputColumn(name, ctx.column_key(name, False), NO_REFS))
    items.append(OutputColumn(value, ctx.column_key(value, False), union(column.refs for column in columns)))
    return Expansion(items, relation.unknown).relation()


def _report_data_dependent(pivot: exp.Expr, ctx: Context) -> None:
    ctx.issue_once(
        "APPROXIMATE_LINEAGE",
        "info",
        "pivot",
        "the columns of this PIVOT depend on the data",
        "List the values: FOR column IN ('a', 'b').",
        pivot,
    )


def _other_columns(relation: Relation, used: set[str]) -> list[OutputColumn]:
    columns = zip(relation.names, relation.keys, relation.refs, strict=True)
    return [OutputColumn(name, key, refs) for name, key, refs in columns if key not in used]


def _columns_in(nodes: list[exp.Expr], ctx: Context) -> set[str]:
    return {
        ctx.key_of(column.args["this"])
        for node in nodes
        for column in ([node] if isinstance(node, exp.Column) else node.find_all(exp.Column))
        if isinstance(column.args["this"], exp.Identifier)
    }


def _unaliased(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Alias | exp.PivotAlias):
        node = node.args["this"]
    return node


def _field_column(field: exp.Expr) -> exp.Expr:
    return field.args["this"] if isinstance(field, exp.In) else _unaliased(field)


def _tuple(node: exp.Expr) -> list[exp.Expr]:
    return list(node.args.get("expressions") or []) if isinstance(node, exp.Tuple) else [node]
