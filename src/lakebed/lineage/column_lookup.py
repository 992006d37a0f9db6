"""Which column a name means.

The order of lookup is SQL's: a column of this level, an alias where the dialect lets it be seen, a column that a
relation of unknown columns could have, then the level outside (correlation). A name that only one relation can have
is resolved by elimination.
"""

from sqlglot import exp

from lakebed.lineage.context import HINT_ALIAS, HINT_SCHEMA, HINT_SPELLING, Context
from lakebed.lineage.relations import NO_REFS, Refs, Relation, at_field, mark_approximate, union
from lakebed.lineage.scope import Scope

Identifier = exp.Identifier


def column_refs(node: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    """The sources of a column that an expression names."""
    refs = _found_refs(node, scope, ctx)
    if ctx.references is not None:
        ctx.refer(refs, node)
    return refs


def _found_refs(node: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    args = node.args
    identifier = args["this"]
    table = args.get("table")
    if type(identifier) is not Identifier:
        return _literal_column(node, scope, ctx)
    if table is None:
        id_args = identifier.args
        name = id_args["this"]
        key = ctx.column_key(name, id_args.get("quoted") is True)
        # the common case first: one level, one relation that has it
        if not scope.merged:
            found = None
            for relation in scope.relations:
                refs = relation.by_key.get(key)
                if refs is not None:
                    if found is not None:
                        break
                    found = refs
                    if relation.repeated and key in relation.repeated:
                        found = None
                        break
            else:
                if found is not None:
                    return found
        return _unqualified(key, node, identifier, scope, ctx)
    return _qualified(node, identifier, table, scope, ctx)


def _literal_column(node: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    """SQLite's `t.'c'` is the column c, ClickHouse's `c.1` the first element of the tuple c."""
    literal = node.args["this"]
    if isinstance(literal, exp.Parameter):
        table = node.args.get("table")
        relation = scope.names.get(ctx.key_of(table)) if table is not None else None
        return _at_position(literal, relation)
    qualifiers = [node.args[part].copy() for part in ("table", "db", "catalog") if node.args.get(part) is not None]
    if not isinstance(literal, exp.Literal) or not qualifiers:
        return NO_REFS
    names = [exp.to_identifier(literal.name, quoted=True), *qualifiers] if literal.is_string else qualifiers
    column = exp.Column(**dict(zip(("this", "table", "db", "catalog"), names, strict=False)))
    path = () if literal.is_string else tuple(literal.name.split("."))
    return at_field(column_refs(column, scope, ctx), path)


def positional_refs(parameter: exp.Expr, scope: Scope) -> Refs:
    """Snowflake's `$1`: the first column of what a query reads."""
    return _at_position(parameter, scope.relations[0] if len(scope.relations) == 1 else None)


def _at_position(parameter: exp.Expr, relation: Relation | None) -> Refs:
    number = parameter.args.get("this")
    if relation is None or not isinstance(number, exp.Literal) or number.is_string:
        return NO_REFS
    place = int(number.name) - 1
    if relation.open is not None:
        # a file in a stage has no other names
        return relation.open.lookup(f"${number.name}", f"${number.name}")
    return relation.refs[place] if 0 <= place < len(relation.refs) else NO_REFS


def _unqualified(key: str, node: exp.Expr, identifier: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    level: Scope | None = scope
    while level is not None:
        refs = _refs_at_level(key, identifier, level, ctx)
        if refs is not None:
            return refs
        level = level.parent
    return _fallback_refs(key, node, identifier, scope, ctx)


def _refs_at_level(key: str, identifier: exp.Expr, level: Scope, ctx: Context) -> Refs | None:
    merged = level.merged.get(key)
    if merged is not None:
        return merged
    having = [relation for relation in level.relations if key in relation.by_key]
    if len(having) == 1:
        relation = having[0]
        if key in relation.repeated:
            _ambiguous(identifier, [relation], ctx)
            return mark_approximate(relation.by_key[key])
        return relation.by_key[key]
    if having:
        _ambiguous(identifier, having, ctx)
        return mark_approximate(union(relation.by_key[key] for relation in having))
    open_relations = [relation for relation in level.relations if relation.open is not None]
    if level.aliases is not None and key in level.aliases:
        # a real column would win, and an unknown table may have one
        return mark_approximate(level.aliases[key]) if open_relations else level.aliases[key]
    if not open_relations:
        return None
    if _is_pseudo(identifier, ctx):
        return NO_REFS
    variable = _variable_refs(identifier, ctx)
    if variable is not None:
        return variable
    if key in level.names and level.names[key].unknown is None:
        return None
    name = ctx.spelling_of(identifier)
    possible = [(relation, refs) for relation in open_relations if (refs := _guess(relation, key, name)) is not None]
    if not possible:
        return None
    if len(possible) == 1:
        relation, refs = possible[0]
        if relation.unknown is not None and not relation.unknown.certain():
            _ambiguous(identifier, [relation], ctx)
        return refs
    _ambiguous(identifier, [relation for relation, _ in possible], ctx)
    return mark_approximate(union(refs for _, refs in possible))


def _guess(relation: Relation, key: str, name: str) -> Refs | None:
    """The sources that a name would have in a relation of unknown columns; None where it cannot be there."""
    unknown = relation.unknown
    if unknown is None:
        return None
    refs = unknown.lookup(key, name)
    if refs or not unknown.tables():
        return refs
    return None


def _fallback_refs(key: str, node: exp.Expr, identifier: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    level: Scope | None = scope
    while level is not None:
        relation = level.names.get(key)
        if relation is not None:
            # the whole row: `row_to_json(t)`
            return whole_row(relation)
        level = level.parent
    if _is_pseudo(identifier, ctx):
        return NO_REFS
    variable = _variable_refs(identifier, ctx)
    if variable is not None:
        return variable
    for relation in scope.relations:
        if relation.unknown is not None and relation.unknown.fields:
            return relation.unknown.lookup(key, key)
    tables = [relation.table for relation in scope.relations if relation.table is not None]
    name = ctx.spelling_of(identifier)
    where = f" in {', '.join(dict.fromkeys(tables))}" if tables else ""
    ctx.issue_once(
        "UNKNOWN_COLUMN",
        "warning",
        name,
        f"there is no column {name}{where}",
        HINT_SPELLING,
        identifier,
        resolution_source=ctx.resolution_of(tables),
    )
    if len(tables) == 1 and len(scope.relations) == 1:
        return ((tables[0], name, (), "value", True),)
    return NO_REFS


def _variable_refs(identifier: exp.Expr, ctx: Context) -> Refs | None:
    """The sources of a variable of the procedure around; None where there is none of that name."""
    body = ctx.piece.body if ctx.piece is not None else None
    if body is None:
        return None
    refs = body.variables.get(str(identifier.args["this"]).lower())
    return ctx.note_sources(refs) if refs is not None else None


def _record_refs(parts: list[exp.Expr], path: tuple[str, ...], ctx: Context) -> Refs | None:
    """`r.a` of a loop over rows, `NEW.a` of a trigger, `p.v` where v is a variable of the procedure p."""
    body = ctx.piece.body if ctx.piece is not None else None
    if body is None:
        return None
    first = str(parts[0].args["this"]).lower()
    if first in body.records:
        return ctx.note_sources(_of_relation(body.records[first], parts[1], path[1:], ctx))
    if first in ("new", "old") and body.trigger_table is not None:
        return _of_relation(ctx.read_table(list(body.trigger_table), None), parts[1], path[1:], ctx)
    if first in ctx.catalog.routines:
        return _variable_refs(parts[1], ctx)
    refs = body.variables.get(first)
    return ctx.note_sources(refs) if refs is not None else None


def whole_row(relation: Relation) -> Refs:
    """Every column of a relation as one value."""
    refs = union(relation.refs)
    return mark_approximate(refs) if relation.unknown is not None else refs


def _qualified(node: exp.Expr, identifier: exp.Expr, table: exp.Expr, scope: Scope, ctx: Context) -> Refs:
    args = node.args
    db = args.get("db")
    if db is None:
        alias = ctx.key_of(table)
        level: Scope | None = scope
        while level is not None:
            relation = level.names.get(alias)
            if relation is not None:
                return _of_relation(relation, identifier, (), ctx)
            level = level.parent
        return _dotted(node, [table, identifier], scope, ctx)
    parts = [
        part for part in (args.get("catalog"), db, table, identifier) if part is not None and part.args.get("this")
    ]
    return _dotted(node, parts, scope, ctx)


def _dotted(node: exp.Expr, parts: list[exp.Expr], scope: Scope, ctx: Context) -> Refs:
    """A dotted name that may be table.column, column.field, or both at once."""
    keys = [ctx.key_of(part) for part in parts]
    table_keys = tuple(
        ctx.catalog.rules.table_key(part.args["this"], part.args.get("quoted") is True) for part in parts
    )
    level: Scope | None = scope
    while level is not None:
        for length in range(len(parts) - 1, 0, -1):
            relation = _named(level, keys, table_keys, length)
            if relation is not None:
                path = tuple(ctx.spelling_of(part) for part in parts[length + 1 :])
                return _of_relation(relation, parts[length], path, ctx)
        level = level.parent
    path = tuple(ctx.spelling_of(part) for part in parts[1:])
    level = scope
    while level is not None:
        if keys[0] in level.merged:
            return at_field(level.merged[keys[0]], path)
        having = [relation for relation in level.relations if keys[0] in relation.by_key]
        if having:
            refs = union(relation.by_key[keys[0]] for relation in having)
            if having[0].table is not None:
                return at_field(refs, path)
            field = ctx.column_field(having[0], keys[0], path, ctx) if len(having) == 1 else None
            return refs if field is None else field
        if level.aliases is not None and keys[0] in level.aliases:
            return level.aliases[keys[0]]
        level = level.parent
    return _unresolved(node, parts, path, scope, ctx)


def _named(level: Scope, keys: list[str], table_keys: tuple[str, ...], length: int) -> Relation | None:
    if length == 1:
        return level.names.get(keys[0])
    wanted = table_keys[:length]
    for source in level.sources:
        if source.parts[-length:] == wanted:
            return source.relation
    return None


def _of_relation(relation: Relation, identifier: exp.Expr, path: tuple[str, ...], ctx: Context) -> Refs:
    if type(identifier) is not Identifier:
        return whole_row(relation)
    id_args = identifier.args
    name = id_args["this"]
    key = ctx.column_key(name, id_args.get("quoted") is True)
    refs = relation.by_key.get(key)
    if refs is not None:
        if key in relation.repeated:
            _ambiguous(identifier, [relation], ctx)
            refs = mark_approximate(refs)
        if not path or relation.table is not None:
            return at_field(refs, path) if path else refs
        field = ctx.column_field(relation, key, path, ctx)
        return refs if field is None else field
    name = ctx.spelling_of(identifier)
    unknown = relation.unknown
    if unknown is not None:
        if _is_pseudo(identifier, ctx):
            return NO_REFS
        guess = _guess(relation, key, name)
        if guess is not None:
            if not unknown.certain():
                _ambiguous(identifier, [relation], ctx)
            return at_field(guess, path) if path else guess
    if _is_pseudo(identifier, ctx):
        return NO_REFS
    where = relation.table or "the query that it names"
    ctx.issue_once(
        "UNKNOWN_COLUMN",
        "warning",
        f"{where}.{name}",
        f"there is no column {name} in {where}",
        HINT_SPELLING,
        identifier,
        resolution_source=ctx.resolution_of([relation.table] if relation.table is not None else []),
    )
    return ((relation.table, name, path, "value", True),) if relation.table is not None else NO_REFS


def _unresolved(node: exp.Expr, parts: list[exp.Expr], path: tuple[str, ...], scope: Scope, ctx: Context) -> Refs:
    written = ".".join(ctx.spelling_of(part) for part in parts)
    if _is_pseudo(parts[-1], ctx):
        return NO_REFS
    record = _record_refs(parts, path, ctx)
    if record is not None:
        return record
    candidates = [relation for relation in scope.relations if relation.unknown is not None]
    if ctx.dialect.structs and len(candidates) == 1:
        relation = candidates[0]
        refs = _guess(relation, ctx.key_of(parts[0]), ctx.spelling_of(parts[0]))
        if refs:
            ctx.issue_once(
                "UNRESOLVED_REFERENCE",
                "info",
                written,
                f"nothing here is called {ctx.spelling_of(parts[0])}: {written} is taken for a field of a column",
                HINT_SCHEMA,
                node,
            )
            return mark_approximate(at_field(refs, path))
    ctx.issue_once(
        "UNRESOLVED_REFERENCE",
        "error",
        written,
        f"{written} does not name anything that this query reads",
        HINT_ALIAS,
        node,
    )
    return NO_REFS


def _ambiguous(identifier: exp.Expr, relations: list[Relation], ctx: Context) -> None:
    name = ctx.spelling_of(identifier)
    known = all(relation.unknown is None for relation in relations)
    tables: list[str] = []
    for relation in relations:
        if relation.table is not None:
            tables.append(relation.table)
        elif relation.unknown is not None:
            tables.extend(relation.unknown.tables())
    several = dict.fromkeys(tables)
    if several:
        message = f"{name} can be a column of {' or '.join(several)}"
    else:
        message = f"several columns that this query reads are called {name}"
    ctx.issue_once(
        "AMBIGUOUS_COLUMN",
        "error" if known else "warning",
        name,
        message,
        "Write the table's alias before it." if known else f"Write the table's alias before it. {HINT_SCHEMA}",
        identifier,
    )


def _is_pseudo(identifier: exp.Expr, ctx: Context) -> bool:
    name = identifier.args.get("this")
    return isinstance(name, str) and (name.lower() in ctx.dialect.pseudo_columns or name.lower() == "default")
