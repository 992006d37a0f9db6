"""What stands in FROM: tables, CTEs, derived tables, joins, LATERAL, UNNEST and table functions, VALUES."""

from collections.abc import Sequence

from sqlglot import exp

from lakebed.lineage.context import HINT_SCHEMA, Context
from lakebed.lineage.data_types import struct_fields
from lakebed.lineage.expressions import collect, predicate, refs_of
from lakebed.lineage.pivots import apply_pivot
from lakebed.lineage.relations import NO_REFS, Derived, Fields, Ref, Refs, Relation, union
from lakebed.lineage.scope import Cte, NamedRelation, Scope
from lakebed.lineage.tables import NamePart

_FLATTEN = ("SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS")
_FLATTEN_FROM_DATA = frozenset({"KEY", "VALUE", "THIS"})
_SIDE_BY_SIDE = frozenset({"SEMI", "ANTI"})


def table_parts(table: exp.Expr) -> list[NamePart]:
    """The dotted name of a table as written; T-SQL's temporary tables keep their sign."""
    parts: list[NamePart] = []
    for name in ("catalog", "db", "this"):
        _add_parts(table.args.get(name), parts)
    return parts


def _add_parts(node: object, parts: list[NamePart]) -> None:
    if isinstance(node, exp.Dot):
        _add_parts(node.args["this"], parts)
        _add_parts(node.args["expression"], parts)
    elif isinstance(node, exp.Identifier):
        sign = "##" if node.args.get("global_") else "#" if node.args.get("temporary") else ""
        if text := node.args["this"]:
            parts.append(NamePart(sign + text, node.args.get("quoted") is True))
    elif isinstance(node, exp.Expr) and node.name:
        parts.append(NamePart(node.name, True))


def add_from(item: exp.Expr, scope: Scope, ctx: Context) -> None:
    """Adds what one FROM item gives, with the joins that sqlglot hangs on it."""
    if isinstance(item, exp.Subquery) and _is_join_group(item):
        _add_group(item, scope, ctx)
    else:
        scope.add(resolve_from_item(item, scope, ctx))
        for lateral in item.args.get("laterals") or []:
            add_lateral_view(lateral, scope, ctx)
    for join in item.args.get("joins") or []:
        add_join(join, scope, ctx)


def _is_join_group(item: exp.Expr) -> bool:
    """`(a JOIN b ON ...)` without a SELECT."""
    inner = item.args["this"]
    return isinstance(inner, exp.Table) or (isinstance(inner, exp.Subquery) and _is_join_group(inner))


def _add_group(item: exp.Expr, scope: Scope, ctx: Context) -> None:
    inner = Scope(scope.parent, scope.env)
    add_from(item.args["this"], inner, ctx)
    alias = item.args.get("alias")
    if alias is None or alias.args.get("this") is None:
        scope.extend(inner)
        return
    relation = Relation(
        [name for r in inner.relations for name in r.names],
        [key for r in inner.relations for key in r.keys],
        [refs for r in inner.relations for refs in r.refs],
        unknown=next((r.unknown for r in inner.relations if r.unknown is not None), None),
    )
    scope.add(_aliased(relation, alias, "", (), ctx))


def resolve_from_item(item: exp.Expr, scope: Scope, ctx: Context) -> NamedRelation:
    """One relation of FROM under its alias."""
    while isinstance(item, exp.Final | exp.TableSample | exp.Paren):
        item = item.args["this"]
    alias = item.args.get("alias")
    name = ""
    parts: tuple[str, ...] = ()
    if isinstance(item, exp.Table):
        relation, name, parts = _table(item, scope, ctx)
    elif isinstance(item, exp.Lateral):
        relation = _lateral(item, scope, ctx)
    elif isinstance(item, exp.Unnest):
        return _unnest(item, scope, ctx)
    elif isinstance(item, exp.Values):
        relation = values_relation(item, scope, ctx)
    elif isinstance(item, exp.TableFromRows):
        relation = _table_function(item.args["this"], scope, ctx, alias)
    elif isinstance(item, exp.Query | exp.Pivot):
        # a derived table sees nothing of its neighbours, only the queries around
        relation = as_derived_table(ctx.query(item, scope.env, scope.parent, ctx), ctx)
    else:
        relation = _table_function(item, scope, ctx, alias)
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
            [ctx.spelling_of(_column_identifier(column)) for column in columns],
            [ctx.key_of(_column_identifier(column)) for column in columns],
        )
    if identifier is None:
        return NamedRelation(name, relation, parts)
    # an alias hides the table's own name
    return NamedRelation(ctx.key_of(identifier), relation)


def _column_identifier(column: exp.Expr) -> exp.Expr:
    while isinstance(column, exp.ColumnDef | exp.Column | exp.Alias):
        column = column.args["this"]
    return column


def _table(item: exp.Expr, scope: Scope, ctx: Context) -> tuple[Relation, str, tuple[str, ...]]:
    this = item.args.get("this")
    if isinstance(this, exp.Func) and not isinstance(this, exp.Identifier):
        return _table_function(this, scope, ctx, item.args.get("alias")), _function_alias(this, ctx), ()
    parts = table_parts(item)
    if not parts:
        return Relation([], [], [], unknown=Derived(NO_REFS)), "", ()
    if len(parts) == 1:
        cte = scope.env.get(ctx.column_key(parts[0].text, parts[0].quoted))
        if cte is not None:
            return read_cte(cte, ctx), ctx.column_key(parts[0].text, parts[0].quoted), ()
        if parts[0].text.lower() == "dual" and ctx.find_table(parts) is None:
            # Oracle's and MySQL's table of one row that stands for no table
            return Relation([], [], []), "", ()
    relation = ctx.read_table(parts, item)
    last = parts[-1]
    return relation, ctx.column_key(last.text, last.quoted), ctx.catalog.key(parts)


def read_cte(cte: Cte, ctx: Context, *, count: bool = True) -> Relation:
    """The columns of a CTE, worked out when it is read first; what its query reads counts for the reader."""
    if cte.relation is None:
        if cte.resolving:
            # a cycle that no dialect allows: said by the statement's own engine, not followed here
            return Relation([], [], [], unknown=Derived(NO_REFS))
        cte.resolving = True
        with ctx.collect_reads() as reads:
            relation = as_derived_table(ctx.query(cte.node.args["this"], cte.env, None, ctx), ctx)
        cte.reads = reads
        alias = cte.node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            relation = _aliased(relation, alias, "", (), ctx).relation
        cte.relation = relation
        cte.resolving = False
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
    keys: list[tuple[str, exp.Expr | None]] = []
    if args.get("using"):
        keys = [(ctx.key_of(_column_identifier(name)), _column_identifier(name)) for name in args["using"]]
    elif (args.get("method") or "").upper() == "NATURAL":
        keys = [(key, None) for key in _common_keys(scope, before, join, ctx)]
    if keys:
        _merge(keys, scope, before, (args.get("side") or "").upper(), kind, ctx)
    for condition in (args.get("on"), args.get("match_condition")):
        if condition is not None:
            predicate(condition, scope, ctx, "join")
    if kind in _SIDE_BY_SIDE:
        while len(scope.sources) > before:
            scope.remove_last()


def _common_keys(scope: Scope, before: int, join: exp.Expr, ctx: Context) -> list[str]:
    right = list(scope.relations[before:])
    left = scope.relations[:before]
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


def _merge(
    keys: list[tuple[str, exp.Expr | None]], scope: Scope, before: int, side: str, kind: str, ctx: Context
) -> None:
    source = scope.sources[before]
    for key, identifier in keys:
        left = scope.merged.get(key)
        if left is None:
            left = _refs_by_key(key, identifier, scope.relations[:before], ctx)
        right = _refs_by_key(key, identifier, scope.relations[before:], ctx)
        ctx.predicate(left, "join")
        ctx.predicate(right, "join")
        if kind in _SIDE_BY_SIDE:
            continue
        scope.merged[key] = right if side == "RIGHT" else union([left, right]) if side == "FULL" else left
    if kind not in _SIDE_BY_SIDE:
        source.merged = tuple(key for key, _ in keys)
        source.outer = "" if ctx.dialect.using_first else "in place"


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
            "Check its spelling, or the schema that says which columns the table has.",
            identifier,
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


# -- rows made from values


def values_relation(values: exp.Expr, scope: Scope | None, ctx: Context) -> Relation:
    """VALUES (...), (...): columns by position."""
    rows = [
        list(row.args.get("expressions") or []) if isinstance(row, exp.Tuple) else [row]
        for row in values.args.get("expressions") or []
    ]
    width = max((len(row) for row in rows), default=0)
    around = scope if scope is not None else Scope(None, {})
    refs: list[Refs] = []
    for place in range(width):
        found: dict[Ref, None] = {}
        for row in rows:
            if place < len(row):
                collect(row[place], around, ctx, found, "value")
        refs.append(tuple(found))
    prefix, first = ctx.dialect.values_names
    names = [f"{prefix}{first + place}" for place in range(width)]
    return Relation(names, [ctx.column_key(name, False) for name in names], refs)


def _lateral(item: exp.Expr, scope: Scope, ctx: Context) -> Relation:
    """LATERAL sees the relations before it."""
    inner = item.args["this"]
    if isinstance(inner, exp.Query):
        return as_derived_table(ctx.query(inner, scope.env, scope, ctx), ctx)
    return _table_function(inner, scope, ctx, item.args.get("alias"))


def add_lateral_view(lateral: exp.Expr, scope: Scope, ctx: Context) -> None:
    """Hive's LATERAL VIEW explode(...) t AS a, b."""
    scope.add(resolve_from_item(lateral, scope, ctx))


def _unnest(item: exp.Expr, scope: Scope, ctx: Context) -> NamedRelation:
    """UNNEST(array, ...): one column for each array, and its position on demand."""
    arrays = item.args.get("expressions") or []
    alias = item.args.get("alias")
    columns = (alias.args.get("columns") or []) if isinstance(alias, exp.TableAlias) else []
    table = alias.args.get("this") if isinstance(alias, exp.TableAlias) else None
    sources = [refs_of(array, scope, ctx) for array in arrays]
    everything = union(sources)
    names, keys, refs = [], [], []
    for place, column in enumerate(columns):
        names.append(ctx.spelling_of(_column_identifier(column)))
        keys.append(ctx.key_of(_column_identifier(column)))
        # more names than arrays: the fields of an array of structs, or key and value of a map
        refs.append(sources[place] if len(columns) <= len(sources) else everything)
    offset = item.args.get("offset")
    if isinstance(offset, exp.Identifier):
        names.append(ctx.spelling_of(offset))
        keys.append(ctx.key_of(offset))
        refs.append(NO_REFS)
    elif offset:
        names.append("offset")
        keys.append(ctx.column_key("offset", False))
        refs.append(NO_REFS)
    element = table if table is not None else columns[0] if columns else None
    if table is not None and not columns:
        names.insert(0, ctx.spelling_of(table))
        keys.insert(0, ctx.key_of(table))
        refs.insert(0, everything)
    fields = _struct_fields(arrays, scope, ctx) if element is None else []
    for field in fields:
        # no name for the element: its fields are columns
        names.append(field)
        keys.append(ctx.column_key(field, False))
        refs.append(everything)
    unknown = Fields(everything) if element is not None else None if fields else Derived(everything)
    return NamedRelation(
        "" if element is None else ctx.key_of(_column_identifier(element)), Relation(names, keys, refs, unknown=unknown)
    )


def _struct_fields(arrays: list[exp.Expr], scope: Scope, ctx: Context) -> list[str]:
    found: list[str] = []
    for array in arrays:
        if isinstance(array, exp.Column) and isinstance(array.args["this"], exp.Identifier):
            key = ctx.key_of(array.args["this"])
            for relation in scope.relations:
                if relation.types and key in relation.types:
                    found += struct_fields(relation.types[key], ctx.dialect.parser)
    return found


def _table_function(function: exp.Expr, scope: Scope, ctx: Context, alias: exp.Expr | None) -> Relation:
    """A function that gives rows: its columns come from its arguments."""
    file = _file_read(function)
    if file is not None:
        return ctx.read_table([NamePart(file, True)], function)
    refs = refs_of(function, scope, ctx)
    if isinstance(function, exp.Explode) and ctx.dialect.name == "snowflake":
        return Relation(
            list(_FLATTEN),
            [ctx.column_key(name, False) for name in _FLATTEN],
            [refs if name in _FLATTEN_FROM_DATA else NO_REFS for name in _FLATTEN],
        )
    columns = (alias.args.get("columns") or []) if isinstance(alias, exp.TableAlias) else []
    if columns:
        positions = isinstance(function, exp.Posexplode | exp.PosexplodeOuter)
        names = [ctx.spelling_of(_column_identifier(column)) for column in columns]
        keys = [ctx.key_of(_column_identifier(column)) for column in columns]
        return Relation(names, keys, [NO_REFS if positions and place == 0 else refs for place in range(len(names))])
    names = declared_columns(function)
    if not names and isinstance(function, exp.Posexplode | exp.PosexplodeOuter):
        names = ["pos", "col"]
        return Relation(names, names, [NO_REFS, refs])
    if not names and isinstance(function, exp.Explode | exp.ExplodeOuter):
        names = ["col"] if ctx.dialect.lateral_alias or ctx.dialect.name == "hive" else []
    if names:
        return Relation(names, [ctx.column_key(name, False) for name in names], [refs] * len(names))
    name = _function_alias(function, ctx)
    if isinstance(alias, exp.TableAlias) and alias.args.get("this") is not None:
        name = ctx.spelling_of(alias.args["this"])
    if isinstance(function, exp.GenerateSeries | exp.Explode):
        return Relation([name], [ctx.column_key(name, False)], [refs])
    return Relation([], [], [], unknown=Derived(refs))


def _function_alias(function: exp.Expr, ctx: Context) -> str:
    name = function.args["this"] if isinstance(function, exp.Anonymous) else function.key
    return ctx.column_key(str(name).lower(), False)


def declared_columns(function: exp.Expr) -> list[str]:
    """The columns that a function itself declares: JSON_TABLE(... COLUMNS (...)), OPENJSON ... WITH (...)."""
    names: list[str] = []
    for node in function.walk():
        if isinstance(node, exp.JSONColumnDef | exp.OpenJSONColumnDef | exp.ColumnDef) and node.name:
            names.append(node.name)
    return names


def _file_read(function: exp.Expr) -> str | None:
    """DuckDB's read_csv('x') reads a file: the file is the table."""
    if isinstance(function, exp.ReadCSV):
        name = function.args.get("this")
    elif isinstance(function, exp.ReadParquet) or (
        isinstance(function, exp.Anonymous)
        and str(function.this).lower().startswith(("read_", "parquet_scan", "iceberg_scan", "delta_scan"))
    ):
        name = next(iter(function.args.get("expressions") or []), None)
    else:
        return None
    if isinstance(name, exp.Array):
        name = next(iter(name.args.get("expressions") or []), None)
    return str(name.this) if isinstance(name, exp.Literal) and name.is_string else None
