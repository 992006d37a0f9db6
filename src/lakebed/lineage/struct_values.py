"""What structs are made of: `STRUCT(a AS x, b AS y)` has a field x that comes from a, and a field y that comes from b.

Fields are followed through CTEs and derived tables, through what passes a value on (CASE, aggregates that return one of
their rows, elements of arrays), and through whole rows: `ARRAY_AGG(t ORDER BY u LIMIT 1)[OFFSET(0)].*` are t's columns.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.expressions import refs_of
from lakebed.lineage.relations import Ref, Refs, Relation, Unknown, at_field, one_of, union
from lakebed.lineage.scope import Scope, scope_columns
from lakebed.lineage.type_inference import SelectOrigin

# Relations that lead on to others further than this are not followed.
_MAX_DEPTH = 40
# What returns its argument, or one of those that it has been given.
_PASSING = (
    exp.AnyValue,
    exp.ArgMax,
    exp.ArgMin,
    exp.ArrayAgg,
    exp.Bracket,
    exp.Distinct,
    exp.Filter,
    exp.First,
    exp.FirstValue,
    exp.HavingMax,
    exp.IgnoreNulls,
    exp.Last,
    exp.LastValue,
    exp.Limit,
    exp.Max,
    exp.Min,
    exp.Order,
    exp.RespectNulls,
    exp.Window,
    exp.WithinGroup,
)


class Member(NamedTuple):
    """A field of a struct, and how to look into it."""

    name: str
    refs: Refs
    below: "Callable[[], Struct]"


class Struct(NamedTuple):
    """The fields of a value; `rest` is what a field that is not listed could be."""

    members: Sequence[Member]
    rest: Unknown | None = None

    def __bool__(self) -> bool:
        return bool(self.members) or self.rest is not None

    def member(self, name: str) -> Member | None:
        """The field of this name: fields compare without regard to case."""
        for member in self.members:
            if member.name.lower() == name.lower():
                return member
        return None if self.rest is None else Member(name, self.rest.lookup(name, name), nothing)


NOTHING = Struct(())
# A field without a name in `SELECT s.*`.
_UNNAMED = {"bigquery": "_field_"}


def nothing() -> Struct:
    """No fields, or none that are known."""
    return NOTHING


def value_field_refs(node: exp.Expr, path: Sequence[str], scope: Scope, ctx: Context) -> Refs | None:
    """The sources of a field of a value; None where they are not known apart."""
    return _at_path(fields_of(node, scope, ctx), path)


def column_field_refs(relation: Relation, key: str, path: Sequence[str], ctx: Context) -> Refs | None:
    """The sources of a field of a column that a query made; None where they are not known apart."""
    places = [place for place, own in enumerate(relation.keys) if own == key]
    if relation.table is not None or len(places) != 1:
        return None
    return _at_path(_column_fields(relation, places[0], ctx), path)


def _at_path(struct: Struct, path: Sequence[str]) -> Refs | None:
    refs: Refs | None = None
    for place, name in enumerate(path):
        if not struct:
            # a field of something whose own sources are known: `s.x.y` of STRUCT(t.c AS x)
            return at_field(refs, tuple(path[place:])) if refs is not None else None
        member = struct.member(name)
        if member is None:
            return None
        refs, struct = member.refs, member.below()
    return refs


def fields_of(node: exp.Expr, scope: Scope, ctx: Context) -> Struct:
    """The fields of an expression's value, or of the elements of an array."""
    while isinstance(node, exp.Paren | exp.Alias):
        node = node.args["this"]
    ctx.spend(1)
    if isinstance(node, exp.Column):
        return _named_fields(node, scope, ctx)
    if isinstance(node, exp.Dot):
        return _dot_fields(node, scope, ctx)
    if isinstance(node, exp.Struct):
        members = [member for item in node.args.get("expressions") or [] for member in _items(item, scope, ctx)]
        prefix = _UNNAMED.get(ctx.dialect.name, "col")
        return Struct([m if m.name else m._replace(name=f"{prefix}{n}") for n, m in enumerate(members, 1)])
    if isinstance(node, exp.Cast):
        return _cast_fields(node, scope, ctx)
    if isinstance(node, exp.Query):
        return _query_fields(node, scope, ctx)
    values = list(_passed_on(node))
    if not values:
        return NOTHING
    struct = _one_of([fields_of(value, scope, ctx) for value in values])
    if not struct:
        return NOTHING
    if isinstance(node, exp.Max | exp.Min):
        struct = _by_order(struct)
    return _with_refs(struct, _beside(node, scope, ctx))


def _beside(node: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    """What decides which value is passed on: conditions, orders, what ARG_MAX looks at."""
    without = node.copy()
    for value in list(_passed_on(without)):
        value.replace(exp.Null())
    return refs_of(without, scope, ctx)


def _by_order(struct: Struct) -> Struct:
    """The greatest struct is found by its first field, then by its second: each depends on those before it."""
    members: list[Member] = []
    for member in struct.members:
        before = members[-1].refs if members else ()
        members.append(_with_refs(Struct([member]), before).members[0])
    return Struct(members, struct.rest)


def _passed_on(node: exp.Expr) -> Iterator[exp.Expr]:
    """The values of which one is the value of this node."""
    if isinstance(node, _PASSING):
        inner = node.args.get("this")
        if isinstance(inner, exp.Expr):
            yield inner
    elif isinstance(node, exp.If):
        yield from (node.args[part] for part in ("true", "false") if node.args.get(part) is not None)
    elif isinstance(node, exp.Case):
        yield from (branch.args["true"] for branch in node.args.get("ifs") or [])
        if node.args.get("default") is not None:
            yield node.args["default"]
    elif isinstance(node, exp.Coalesce):
        yield node.args["this"]
        yield from node.args.get("expressions") or []
    elif isinstance(node, exp.Array):
        yield from node.args.get("expressions") or []


def _items(item: exp.Expr, scope: Scope, ctx: Context) -> Iterator[Member]:
    """The fields that one argument of STRUCT gives: a star gives many."""
    if isinstance(item, exp.Star):
        for column in scope_columns(scope):
            yield Member(column.name, column.refs, nothing)
        return
    if isinstance(item, exp.PropertyEQ):
        name, value = item.args["this"].name, item.args["expression"]
    elif isinstance(item, exp.Alias):
        name, value = item.args["alias"].name, item.args["this"]
    else:
        name, value = item.name if isinstance(item, exp.Column) else "", item
        if isinstance(item, exp.Column) and isinstance(item.args["this"], exp.Star):
            yield from fields_of(exp.Column(this=item.args["table"]), scope, ctx).members
            return
    yield Member(name, refs_of(value, scope, ctx), lambda: fields_of(value, scope, ctx))


def _cast_fields(node: exp.Expr, scope: Scope, ctx: Context) -> Struct:
    """CAST(x AS STRUCT<a INT, b INT>): the type names the fields, x has them by position."""
    kind = node.args["to"]
    while isinstance(kind, exp.DataType) and kind.this == exp.DType.ARRAY and kind.expressions:
        kind = kind.expressions[0]
    named = [field.name for field in kind.expressions if isinstance(field, exp.ColumnDef)]
    if not isinstance(kind, exp.DataType) or kind.this != exp.DType.STRUCT or not named:
        return NOTHING
    values = _rows(node.args["this"], len(named))
    everything = refs_of(node, scope, ctx)
    members = []
    for place, name in enumerate(named):
        refs = union(refs_of(row[place], scope, ctx) for row in values) if values else everything
        members.append(Member(name, refs, nothing))
    return Struct(members)


def _rows(node: exp.Expr, width: int) -> list[list[exp.Expr]]:
    """The values of the struct or tuple, or of each in an array; empty where they cannot be told apart."""
    while isinstance(node, exp.Paren):
        node = node.args["this"]
    items = node.args.get("expressions") or [] if isinstance(node, exp.Array) else [node]
    rows = [list(item.args.get("expressions") or []) for item in items if isinstance(item, exp.Struct | exp.Tuple)]
    if len(rows) < len(items) or any(len(row) != width for row in rows):
        return []
    return [[value.args["expression"] if isinstance(value, exp.PropertyEQ) else value for value in row] for row in rows]


def _query_fields(node: exp.Expr, scope: Scope, ctx: Context) -> Struct:
    """`(SELECT AS STRUCT a, b FROM t)`, and `(SELECT s FROM t)` where s is a struct."""
    query = node
    while isinstance(query, exp.Subquery):
        query = query.args["this"]
    relation = ctx.resolve_query(node, scope.env, scope, ctx)
    if str(query.args.get("kind") or "").upper() == "STRUCT":
        return _row_fields(relation, ctx)
    return _column_fields(relation, 0, ctx) if len(relation.keys) == 1 else NOTHING


def _dot_fields(node: exp.Expr, scope: Scope, ctx: Context) -> Struct:
    field = node.args["expression"]
    member = fields_of(node.args["this"], scope, ctx).member(field.name) if isinstance(field, exp.Identifier) else None
    return member.below() if member is not None else NOTHING


def _named_fields(node: exp.Expr, scope: Scope, ctx: Context) -> Struct:
    """The fields of a column, of a field of it, or of a whole row."""
    parts = [node.args[part] for part in ("catalog", "db", "table", "this") if node.args.get(part) is not None]
    if not all(isinstance(part, exp.Identifier) for part in parts):
        return NOTHING
    level: Scope | None = scope
    while level is not None:
        struct = _at_level(parts, level, ctx)
        if struct is not None:
            return struct
        level = level.parent
    return NOTHING


def _at_level(parts: list[exp.Expr], level: Scope, ctx: Context) -> Struct | None:
    first = ctx.key_of(parts[0])
    # a column goes before a table of its name
    found = [(relation, parts) for relation in level.relations if first in relation.by_key]
    if not found and first in level.names:
        relation = level.names[first]
        if len(parts) == 1:
            return _row_fields(relation, ctx)
        if ctx.key_of(parts[1]) not in relation.by_key:
            return None
        found = [(relation, parts[1:])]
    if len(found) != 1:
        return None
    relation, (column, *below) = found[0]
    key = ctx.key_of(column)
    places = [place for place, own in enumerate(relation.keys) if own == key]
    struct = _column_fields(relation, places[0], ctx) if len(places) == 1 else NOTHING
    for part in below:
        member = struct.member(ctx.spelling_of(part))
        struct = member.below() if member is not None else NOTHING
    return struct


def _row_fields(relation: Relation, ctx: Context, depth: int = 0) -> Struct:
    """A whole row: its columns are its fields."""

    def below(place: int) -> Callable[[], Struct]:
        return lambda: _column_fields(relation, place, ctx, depth + 1)

    columns = zip(relation.names, relation.refs, strict=True)
    return Struct([Member(name, refs, below(place)) for place, (name, refs) in enumerate(columns)], relation.open)


def _column_fields(relation: Relation, place: int, ctx: Context, depth: int = 0) -> Struct:
    """The fields of one column of a relation: by its type, or by what its query made it of."""
    if depth > _MAX_DEPTH or place >= len(relation.keys):
        return NOTHING
    ctx.spend(1)
    key, origin = relation.keys[place], relation.origin
    if relation.types is not None:
        return _type_fields(relation, key, relation.refs[place], (), ctx)
    if isinstance(origin, SelectOrigin):
        node = origin.expressions[place] if place < len(origin.expressions) else None
        if node is not None:
            return fields_of(node, origin.scope, ctx)
        sources = [source for source in origin.scope.relations if source.keys.count(key) == 1]
        if len(sources) != 1:
            return NOTHING
        return _column_fields(sources[0], sources[0].keys.index(key), ctx, depth + 1)
    if isinstance(origin, Relation):
        return _column_fields(origin, place, ctx, depth + 1)
    return _one_of([_column_fields(branch, place, ctx, depth + 1) for branch in origin or []])


def _type_fields(relation: Relation, key: str, refs: Refs, path: tuple[str, ...], ctx: Context) -> Struct:
    def below(name: str) -> Callable[[], Struct]:
        return lambda: _type_fields(relation, key, at_field(refs, (name,)), (*path, name), ctx)

    names = relation.struct_fields(key, ctx.dialect.parser, path)
    return Struct([Member(name, at_field(refs, (name,)), below(name)) for name in names])


def _one_of(structs: Sequence[Struct]) -> Struct:
    """A value that is one of several: fields match by position, names are those of the first."""
    known = [struct for struct in structs if struct]
    if len(known) < 2:
        return known[0] if known else NOTHING
    width = max(len(struct.members) for struct in known)
    members = []
    for place in range(width):
        same = [struct.members[place] for struct in known if place < len(struct.members)]
        members.append(Member(same[0].name, union(member.refs for member in same), _below_one_of(same)))
    return Struct(members, one_of([struct.rest for struct in known if struct.rest is not None]))


def _below_one_of(members: Sequence[Member]) -> Callable[[], Struct]:
    return lambda: _one_of([member.below() for member in members])


def _with_refs(struct: Struct, refs: tuple[Ref, ...]) -> Struct:
    """The same fields, which come from these sources besides: a condition, an order."""
    if not refs:
        return struct

    def below(member: Member) -> Callable[[], Struct]:
        return lambda: _with_refs(member.below(), refs)

    return Struct([Member(m.name, union([m.refs, refs]), below(m)) for m in struct.members], struct.rest)
