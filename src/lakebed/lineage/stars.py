"""Stars: `*`, `t.*`, and what EXCEPT, REPLACE, RENAME, LIKE and COLUMNS(...) make of them."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from lakebed.lineage.context import HINT_ALIAS, HINT_SCHEMA, HINT_STRUCT, Context
from lakebed.lineage.expressions import refs_of
from lakebed.lineage.identifiers import identifier_of
from lakebed.lineage.output_names import output_name
from lakebed.lineage.relations import (
    Derived,
    Refs,
    Relation,
    Unknown,
    Without,
    at_field,
    mark_approximate,
    one_of,
    union,
)
from lakebed.lineage.scope import OutputColumn, Scope, relation_columns, scope_columns
from lakebed.lineage.struct_values import NOTHING, Struct, fields_of

HINT_RE2 = "DuckDB reads it as RE2 does: without look-around, without references to groups, and within its size."


class Expansion(NamedTuple):
    """What a star stands for: the known columns, and what the rest could be."""

    items: list[OutputColumn]
    unknown: Unknown | None

    def relation(self) -> Relation:
        """The same columns as something to read from."""
        return Relation(
            [item.name for item in self.items],
            [item.key for item in self.items],
            [item.refs for item in self.items],
            unknown=self.unknown,
        )


def expand(star: exp.Expr, qualifier: exp.Expr | None, scope: Scope, ctx: Context, node: exp.Expr) -> Expansion:
    """The columns of a star, with an issue where not all of them are known."""
    relations = _relations(qualifier, scope, ctx, node)
    if relations is None:
        return _struct_star(qualifier, star, scope, ctx, node)
    items = _without_named(star, scope, ctx) if qualifier is None else relation_columns(relations[0])
    ctx.spend(len(items))
    unknown = one_of([relation.open for relation in relations if relation.open is not None])
    if unknown is not None:
        if ctx.stars_matter:
            _report_open(items, unknown, node, ctx)
        items = [OutputColumn(item.name, item.key, mark_approximate(item.refs)) for item in items]
    elif ctx.stars_matter:
        ctx.stars.append("full")
    if any(relation.doubt for relation in relations):
        doubted = {relation.table for relation in relations if relation.doubt}
        items = [
            OutputColumn(item.name, item.key, tuple([(t, c, p, r, a or t in doubted) for t, c, p, r, a in item.refs]))
            for item in items
        ]
    named_apart = qualifier is None and not scope.merged
    return _apply_modifiers(star, items, unknown, scope, ctx, named_apart=named_apart)


def _relations(qualifier: exp.Expr | None, scope: Scope, ctx: Context, node: exp.Expr) -> list[Relation] | None:
    if qualifier is None:
        return scope.relations
    key = ctx.key_of(qualifier)
    level: Scope | None = scope
    db = node.args.get("db") if isinstance(node, exp.Column) else None
    while level is not None:
        if db is not None:
            fold = ctx.catalog.rules.table_key
            wanted = tuple(fold(part.args["this"], part.args.get("quoted") is True) for part in (db, qualifier))
            for source in level.sources:
                if source.parts[-2:] == wanted:
                    return [source.relation]
        elif key in level.names:
            return [level.names[key]]
        level = level.parent
    return None


def _is_of_one_table(column: exp.Expr) -> bool:
    return isinstance(column, exp.Column) and column.args.get("table") is not None


def _without_named(star: exp.Expr, scope: Scope, ctx: Context) -> list[OutputColumn]:
    """The columns of all relations but for those of `EXCLUDE (t.a)`, which leaves a column a of another table."""
    named = [column for column in star.args.get("except_") or [] if _is_of_one_table(column)]
    if not named or scope.merged:
        return scope_columns(scope)
    hidden = {(ctx.key_of(column.args["table"]), ctx.key_of(column.args["this"])) for column in named}
    columns = [(source.alias, item) for source in scope.sources for item in relation_columns(source.relation)]
    return [item for alias, item in columns if (alias, item.key) not in hidden]


def _report_open(items: list[OutputColumn], unknown: Unknown, node: exp.Expr, ctx: Context) -> None:
    tables = unknown.tables()
    ctx.unexpanded.update(tables)
    if isinstance(unknown, Derived) and not items:
        tables = tables or ("a table function",)
    of = f" of {', '.join(tables)}" if tables else ""
    if items:
        ctx.stars.append("partial")
        ctx.issue_once(
            "APPROXIMATE_LINEAGE",
            "info",
            f"partial{of}",
            f"the star stands for more columns than are known: those{of} are missing",
            HINT_SCHEMA,
            node,
        )
    else:
        ctx.stars.append("none")
        ctx.issue_once(
            "APPROXIMATE_LINEAGE",
            "warning",
            f"none{of}",
            f"the star cannot be expanded: the columns{of} are not known",
            HINT_SCHEMA,
            node,
        )


def _struct_star(qualifier: exp.Expr | None, star: exp.Expr, scope: Scope, ctx: Context, node: exp.Expr) -> Expansion:
    """`addr.*` where addr is a struct column: its fields, if its type lists them."""
    if qualifier is None:
        return Expansion([], None)
    outer = [node.args.get(part) for part in ("catalog", "db")] if isinstance(node, exp.Column) else []
    parts = [*(part for part in outer if part is not None), qualifier]
    name = ".".join(ctx.spelling_of(part) for part in parts)
    column = exp.Column(
        **dict(zip(("this", "table", "db", "catalog"), (part.copy() for part in parts[::-1]), strict=False))
    )
    for relation, (first, *below) in _columns_of(parts, scope, ctx):
        refs = relation.by_key.get(ctx.key_of(first))
        if refs is not None:
            path = tuple(ctx.spelling_of(part) for part in below)
            ctx.refer(refs, node)
            return _expand_struct(name, fields_of(column, scope, ctx), at_field(refs, path), star, scope, ctx, node)
    possible = [relation.open for relation in scope.relations if relation.open is not None]
    if ctx.dialect.structs and len(possible) == 1:
        refs = possible[0].lookup(ctx.key_of(parts[0]), ctx.spelling_of(parts[0]))
        path = tuple(ctx.spelling_of(part) for part in parts[1:])
        return _expand_struct(name, NOTHING, mark_approximate(at_field(refs, path)), star, scope, ctx, node)
    ctx.stars.append("none")
    ctx.issue_once(
        "UNRESOLVED_REFERENCE",
        "error",
        f"{name}.*",
        f"{name}.* does not name anything that this query reads",
        HINT_ALIAS,
        node,
    )
    return Expansion([], None)


def _columns_of(parts: list[exp.Expr], scope: Scope, ctx: Context) -> Iterator[tuple[Relation, list[exp.Expr]]]:
    """The relations in which a dotted name may begin with a column, and the name from the column on."""
    first = ctx.key_of(parts[0])
    if first in scope.names and len(parts) > 1:
        yield scope.names[first], parts[1:]
    for relation in scope.relations:
        yield relation, parts


def expand_fields(node: exp.Expr, scope: Scope, ctx: Context) -> Expansion:
    """`(t.c).*`, `f(x).*`, `items[0].*`: the fields of a struct value; `(t).*` is `t.*`."""
    value, star = node.args["this"], node.args["expression"]
    while isinstance(value, exp.Paren):
        value = value.args["this"]
    row = value.args["this"] if isinstance(value, exp.Column) and value.args.get("table") is None else None
    if row is not None and _relations(row, scope, ctx, value) is not None:
        return expand(star, row, scope, ctx, value)
    name = value.sql(ctx.dialect.parser or None, normalize_functions=False, comments=False)
    struct, refs = fields_of(value, scope, ctx), refs_of(value, scope, ctx)
    return _expand_struct(name, struct, refs, star, scope, ctx, node)


def _expand_struct(
    name: str, struct: Struct, refs: Refs, star: exp.Expr, scope: Scope, ctx: Context, node: exp.Expr
) -> Expansion:
    columns = [OutputColumn(m.name, ctx.column_key(m.name, True), m.refs) for m in struct.members]
    if struct.rest is not None:
        _report_open(columns, struct.rest, node, ctx)
        columns = [OutputColumn(item.name, item.key, mark_approximate(item.refs)) for item in columns]
        return _apply_modifiers(star, columns, struct.rest, scope, ctx)
    if columns:
        ctx.stars.append("full")
        return _apply_modifiers(star, columns, None, scope, ctx)
    ctx.stars.append("none")
    ctx.issue_once(
        "APPROXIMATE_LINEAGE",
        "warning",
        f"struct {name}",
        f"the fields of {name} are not known, so its star cannot be expanded",
        HINT_STRUCT,
        node,
    )
    return _apply_modifiers(star, [], Derived(refs), scope, ctx)


def _apply_modifiers(
    star: exp.Expr,
    items: list[OutputColumn],
    unknown: Unknown | None,
    scope: Scope,
    ctx: Context,
    *,
    named_apart: bool = False,
) -> Expansion:
    args = star.args
    # those of one table are left out already, where the tables are still apart
    excluded = [column for column in args.get("except_") or [] if not (named_apart and _is_of_one_table(column))]
    replaced = args.get("replace") or []
    renamed = args.get("rename") or []
    pattern = args.get("ilike")
    if not (excluded or replaced or renamed or pattern):
        return Expansion(items, unknown)
    hidden = frozenset(ctx.key_of(identifier_of(name)) for name in excluded)
    known = {item.key for item in items}
    for name in excluded:
        identifier = identifier_of(name)
        if unknown is None and ctx.key_of(identifier) not in known:
            ctx.issue_once(
                "UNKNOWN_COLUMN",
                "warning",
                f"except {identifier.name}",
                f"the star has no column {ctx.spelling_of(identifier)} to leave out",
                "Check its spelling.",
                identifier,
                resolution_source=ctx.resolution_of([r.table for r in scope.relations if r.table is not None]),
            )
    replacements = {
        ctx.key_of(item.args["alias"]): (item, ctx.spelling_of(item.args["alias"]))
        for item in replaced
        if isinstance(item, exp.Alias)
    }
    renames = {
        ctx.key_of(identifier_of(item.args["this"])): item.args["alias"]
        for item in renamed
        if isinstance(item, exp.Alias)
    }
    result: list[OutputColumn] = []
    for item in items:
        if item.key in hidden:
            ctx.refer(item.refs, star)
            continue
        if item.key in renames:
            ctx.refer(item.refs, star)
        if item.key in replacements:
            expression, name = replacements.pop(item.key)
            item = OutputColumn(name, item.key, refs_of(expression.args["this"], scope, ctx))
        if item.key in renames:
            alias = renames[item.key]
            item = OutputColumn(ctx.spelling_of(alias), ctx.key_of(alias), item.refs)
        result.append(item)
    if unknown is not None:
        # what REPLACE and RENAME name is known to be there, although the star's other columns are not
        for key, (expression, name) in replacements.items():
            result.append(OutputColumn(name, key, refs_of(expression.args["this"], scope, ctx)))
        for key, alias in renames.items():
            if key not in known:
                result.append(OutputColumn(ctx.spelling_of(alias), ctx.key_of(alias), unknown.lookup(key, key)))
        unknown = Without(unknown, hidden | frozenset(replacements) | frozenset(renames))
    if isinstance(pattern, exp.Literal):
        result = _matching(result, str(pattern.this), like=True, ignore_case=True)
    return Expansion(result, unknown)


def _matching(items: list[OutputColumn], text: str, *, like: bool, ignore_case: bool = False) -> list[OutputColumn]:
    """The columns whose names match; by RE2, whose time grows with the text alone, whatever the pattern."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array([item.name for item in items], pa.string())
    if like:
        # a backslash is no escape here
        found = pc.match_like(names, text.replace("\\", "\\\\"), ignore_case=ignore_case)
    else:
        found = pc.match_substring_regex(names, text, ignore_case=ignore_case)
    return [item for item, matches in zip(items, found.to_pylist(), strict=True) if matches]


def selected_columns(node: exp.Expr, scope: Scope, ctx: Context) -> Expansion | None:
    """DuckDB's COLUMNS('regex'), COLUMNS(* ...) and `* LIKE 'a%'`; None where the node is none of them."""
    if isinstance(node, exp.Columns):
        inner = node.args["this"]
        if isinstance(inner, exp.Star):
            return expand(inner, None, scope, ctx, node)
        expansion = expand(exp.Star(), None, scope, ctx, node)
        if isinstance(inner, exp.Literal) and inner.is_string:
            try:
                return Expansion(_matching(expansion.items, str(inner.this), like=False), expansion.unknown)
            except ValueError as error:
                ctx.issue(
                    "UNSUPPORTED_SYNTAX", "warning", f"the pattern of COLUMNS cannot be used: {error}", HINT_RE2, node
                )
                return Expansion([], expansion.unknown)
        if isinstance(inner, exp.Array):
            wanted = {ctx.column_key(name.name, False) for name in inner.args.get("expressions") or []}
            return Expansion([item for item in expansion.items if item.key in wanted], expansion.unknown)
        condition = inner.args["this"] if isinstance(inner, exp.Lambda) else None
        if isinstance(condition, exp.Like | exp.ILike) and isinstance(condition.args["expression"], exp.Literal):
            text, ignore = condition.args["expression"].name, isinstance(condition, exp.ILike)
            return Expansion(_matching(expansion.items, text, like=True, ignore_case=ignore), expansion.unknown)
        # a condition that only the engine can compute: all columns could be meant
        items = [OutputColumn(item.name, item.key, mark_approximate(item.refs)) for item in expansion.items]
        return Expansion(items, expansion.unknown)
    if isinstance(node, exp.Like | exp.ILike) and isinstance(node.args["this"], exp.Star):
        expansion = expand(node.args["this"], None, scope, ctx, node)
        pattern = node.args.get("expression")
        if isinstance(pattern, exp.Literal):
            items = _matching(expansion.items, str(pattern.this), like=True, ignore_case=isinstance(node, exp.ILike))
            return Expansion(items, expansion.unknown)
        return expansion
    return None


def columns_in(node: exp.Expr, scope: Scope, ctx: Context) -> Expansion:
    """`COLUMNS('a|b') + 1` is an expression for each of the columns, `f(*COLUMNS('a|b'))` one of all of them."""
    selected = list(node.find_all(exp.Columns))
    expansions = [found for columns in selected if (found := selected_columns(columns, scope, ctx)) is not None]
    rest = refs_of(node, scope, ctx)
    ctx.meets_columns = False
    if not expansions:
        return Expansion([], None)
    first = expansions[0]
    if selected[0].args.get("unpack"):
        name = output_name(node, 0, ctx)
        refs = union([rest, *(item.refs for expansion in expansions for item in expansion.items)])
        return Expansion([OutputColumn(name, ctx.column_key(name, True), refs)], None)
    return Expansion([OutputColumn(i.name, i.key, union([i.refs, rest])) for i in first.items], first.unknown)
