"""Rows that come from values instead of tables: VALUES, UNNEST and functions in FROM."""

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.contract import TableUse
from lakebed.lineage.expressions import collect, refs_of
from lakebed.lineage.identifiers import identifier_of, name_parts, table_parts
from lakebed.lineage.relations import NO_REFS, Derived, Fields, Ref, Refs, Relation, one_of, union
from lakebed.lineage.scope import NamedRelation, Scope
from lakebed.lineage.struct_values import fields_of
from lakebed.lineage.tables import NamePart

# The columns of Snowflake's FLATTEN, and which of them hold data of its argument.
_FLATTEN = ("SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS")
# ClickHouse's functions that read a table of another server.
_ELSEWHERE = frozenset({"remote", "remotesecure", "cluster", "clusterallreplicas"})
_FLATTEN_FROM_DATA = frozenset({"KEY", "VALUE", "THIS"})


def resolve_values(values: exp.Expr, scope: Scope, ctx: Context) -> Relation:
    """VALUES (...), (...): columns by position."""
    rows = [
        list(row.args.get("expressions") or []) if isinstance(row, exp.Tuple) else [row]
        for row in values.args.get("expressions") or []
    ]
    declared: list[str] = []
    if ctx.dialect.name == "clickhouse" and len(rows) == 1 and rows[0] and _is_structure(rows[0]):
        # VALUES('a String, b UInt8', ('x', 1), ('y', 2)): the first value names the columns
        declared = _declared_names(rows[0][0].name)
        rows = [_tuple(row) for row in rows[0][1:]]
    elif ctx.dialect.name == "clickhouse" and len(rows) == 1:
        # a function whose every argument is a row
        rows = [_tuple(row) for row in rows[0]]
    width = max((len(row) for row in rows), default=0)
    refs: list[Refs] = []
    for place in range(width):
        found: dict[Ref, None] = {}
        for row in rows:
            if place < len(row):
                collect(row[place], scope, ctx, found, "value")
        refs.append(tuple(found))
    prefix, first = ctx.dialect.values_names
    names = [*declared[:width], *(f"{prefix}{first + place}" for place in range(len(declared), width))]
    return Relation(names, [ctx.column_key(name, False) for name in names], refs)


def _is_structure(row: list[exp.Expr]) -> bool:
    return isinstance(row[0], exp.Literal) and row[0].is_string and " " in row[0].name


def _tuple(node: exp.Expr) -> list[exp.Expr]:
    return list(node.args.get("expressions") or []) if isinstance(node, exp.Tuple) else [node]


def _declared_names(structure: str) -> list[str]:
    """The names in `a String, b Decimal(10, 2)`."""
    names, depth, start = [], 0, 0
    for place, char in enumerate(f"{structure},"):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            names.append(structure[start:place].strip().split(" ")[0].strip('`"'))
            start = place + 1
    return [name for name in names if name]


def resolve_unnest(item: exp.Expr, scope: Scope, ctx: Context) -> NamedRelation:
    """UNNEST(array, ...): one column for each array, and its position on demand."""
    arrays = item.args.get("expressions") or []
    alias = item.args.get("alias")
    columns = (alias.args.get("columns") or []) if isinstance(alias, exp.TableAlias) else []
    table = alias.args.get("this") if isinstance(alias, exp.TableAlias) else None
    sources = [refs_of(array, scope, ctx) for array in arrays]
    everything = union(sources)
    names, keys, refs = [], [], []
    for place, column in enumerate(columns):
        names.append(ctx.spelling_of(identifier_of(column)))
        keys.append(ctx.key_of(identifier_of(column)))
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
    is_row = element is None or (ctx.dialect.name == "bigquery" and len(arrays) == 1 and len(columns) <= 1)
    fields = [field for array in arrays for field in fields_of(array, scope, ctx).members] if is_row else []
    if fields and element is not None:
        # BigQuery names the row, and the fields are its columns
        del names[:1], keys[:1], refs[:1]
    for place, field in enumerate(fields):
        # no name for the element: its fields are columns
        names.insert(place, field.name)
        keys.insert(place, ctx.column_key(field.name, False))
        refs.insert(place, field.refs)
    unknown = None if fields else Fields(everything) if element is not None else Derived(everything)
    return NamedRelation(
        "" if element is None else ctx.key_of(identifier_of(element)), Relation(names, keys, refs, unknown=unknown)
    )


def resolve_table_function(function: exp.Expr, scope: Scope, ctx: Context, alias: exp.Expr | None) -> Relation:
    """A function that returns rows: its columns come from its arguments."""
    named = _table_in_text(function, ctx)
    if named is not None:
        return ctx.read_table(named, function)
    file = _file_of(function)
    if file is not None:
        return ctx.read_table([NamePart(file, True)], function)
    if isinstance(function, exp.SemanticView):
        return _semantic_view(function, ctx)
    if isinstance(function, exp.Predict) and isinstance(function.args.get("this"), exp.Table):
        return _predict(function, scope, ctx)
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
        names = [ctx.spelling_of(identifier_of(column)) for column in columns]
        keys = [ctx.key_of(identifier_of(column)) for column in columns]
        return Relation(names, keys, [NO_REFS if positions and place == 0 else refs for place in range(len(names))])
    names = _declared_columns(function)
    if not names and isinstance(function, exp.Posexplode | exp.PosexplodeOuter):
        names = ["pos", "col"]
        return Relation(names, names, [NO_REFS, refs])
    if not names and isinstance(function, exp.Explode | exp.ExplodeOuter):
        names = ["col"] if ctx.dialect.lateral_alias or ctx.dialect.name == "hive" else []
    if names:
        return Relation(names, [ctx.column_key(name, False) for name in names], [refs] * len(names))
    name = function_alias(function, ctx)
    if isinstance(alias, exp.TableAlias) and alias.args.get("this") is not None:
        name = ctx.spelling_of(alias.args["this"])
    if isinstance(function, exp.GenerateSeries | exp.Explode):
        return Relation([name], [ctx.column_key(name, False)], [refs])
    return Relation([], [], [], unknown=Derived(refs))


def _table_in_text(function: exp.Expr, ctx: Context) -> list[NamePart] | None:
    """Snowflake's TABLE('db.t'), ClickHouse's remote('host', db.t)."""
    if ctx.dialect.name == "snowflake" and isinstance(function, exp.Literal) and function.is_string:
        return [NamePart(part.strip('"'), part.startswith('"')) for part in function.name.split(".")]
    elsewhere = isinstance(function, exp.Anonymous) and function.name.lower() in _ELSEWHERE
    if ctx.dialect.name == "clickhouse" and elsewhere:
        # db.t, or db and t apart; a user and a password may follow
        named = (function.args.get("expressions") or [])[1:3]
        qualified = [part for node in named[:1] for part in name_parts(node)]
        return qualified if len(qualified) > 1 else [part for node in named for part in name_parts(node)] or None
    return None


def _semantic_view(function: exp.Expr, ctx: Context) -> Relation:
    """Snowflake's SEMANTIC_VIEW(v DIMENSIONS a.x METRICS b.y): columns of the view."""
    view = ctx.read_table(table_parts(function.args["this"]), function)
    name = view.table or ""
    listed = [column for kind in ("dimensions", "metrics", "facts") for column in function.args.get(kind) or []]
    columns = sorted(listed, key=lambda column: ctx.span_of(column).start)
    aliases = [column.args["alias"] if isinstance(column, exp.Alias) else identifier_of(column) for column in columns]
    refs: list[Refs] = [_named_in(column, name, ctx) for column in columns]
    where = function.args.get("where")
    if where is not None:
        for column in where.find_all(exp.Column):
            ctx.predicate(_named_in(column, name, ctx), "filter")
    return Relation([ctx.spelling_of(alias) for alias in aliases], [ctx.key_of(alias) for alias in aliases], refs)


def _named_in(node: exp.Expr, table: str, ctx: Context) -> Refs:
    """Every column that an expression names, as one of this table; what stands before the dot is a part of it."""
    names = [column.args["this"] for column in node.find_all(exp.Column, bfs=False)]
    return union(
        ((table, ctx.spelling_of(name), (), "value", False),) for name in names if isinstance(name, exp.Identifier)
    )


def _predict(function: exp.Expr, scope: Scope, ctx: Context) -> Relation:
    """BigQuery's ML.PREDICT(MODEL m, (SELECT ...)): the columns of the query, and what the model adds."""
    model = ctx.catalog.name_of(table_parts(function.args["this"]))
    ctx.used.setdefault(model, TableUse(model, "model", "unknown"))
    source = function.args.get("expression")
    if isinstance(source, exp.Table):
        given = ctx.read_table(table_parts(source), source)
    elif isinstance(source, exp.Query):
        given = ctx.resolve_query(source, scope.env, scope, ctx)
    else:
        given = Relation([], [], [])
    added = Derived(union(given.refs))
    unknown = added if given.open is None else one_of([given.open, added])
    return Relation(given.names, given.keys, given.refs, unknown=unknown)


def function_alias(function: exp.Expr, ctx: Context) -> str:
    """The name under which a function without an alias is read."""
    name = function.args["this"] if isinstance(function, exp.Anonymous) else function.key
    return ctx.column_key(str(name).lower(), False)


def _declared_columns(function: exp.Expr) -> list[str]:
    """The columns that a function itself declares: JSON_TABLE(... COLUMNS (...)), OPENJSON ... WITH (...)."""
    kinds = (exp.JSONColumnDef, exp.OpenJSONColumnDef, exp.ColumnDef)
    return [node.name for node in function.walk() if isinstance(node, kinds) and node.name]


def _file_of(function: exp.Expr) -> str | None:
    """The file that a function such as DuckDB's read_csv('x') reads: it counts as a table."""
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
