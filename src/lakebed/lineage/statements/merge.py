"""MERGE: each clause sees both sides or the source only; conditions are `join`."""

from sqlglot import exp

from lakebed.lineage.context import HINT_SCHEMA, Context
from lakebed.lineage.contract import StatementLineage
from lakebed.lineage.ctes import with_ctes
from lakebed.lineage.expressions import predicate, refs_of
from lakebed.lineage.from_clause import resolve_from_item
from lakebed.lineage.identifiers import identifier_of
from lakebed.lineage.relations import NO_REFS, Refs, Relation, UnknownTable, mark_approximate, union
from lakebed.lineage.scope import NamedRelation, Scope
from lakebed.lineage.statements.result import WriteTarget, Written, statement_lineage, target_use
from lakebed.lineage.statements.update import add_target, assigned


def merge(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """WHEN MATCHED, NOT MATCHED and NOT MATCHED BY SOURCE, with UPDATE SET *, INSERT * and ROW."""
    env = with_ctes(node, ctx.env, ctx)
    target = WriteTarget(node.args["this"], ctx)
    if not target.known:
        ctx.report_unknown_table(target.name, target.parts, target.node, target=True)
    scope = Scope(None, env)
    add_target(target, node.args["this"], scope, ctx)
    source = resolve_from_item(node.args["using"], Scope(None, env), ctx)
    scope.add(source)
    if node.args.get("on") is not None:
        predicate(node.args["on"], scope, ctx, "join")
    for name in node.args.get("using_cond") or []:
        for relation in (target.relation, source.relation):
            ctx.predicate(_by_name(relation, name, ctx), "join")
    source_only = Scope(None, env)
    source_only.add(source)
    written: list[Written] = []
    whens = node.args.get("whens")
    for when in whens.args.get("expressions") or [] if whens is not None else []:
        # an insert has no row of the target to read; its unqualified names are the source's
        matched = bool(when.args.get("matched")) or bool(when.args.get("source"))
        view = scope if matched else source_only
        condition = when.args.get("condition")
        if condition is not None:
            predicate(condition, view, ctx, "join")
        written += _action(when.args.get("then"), target, source, view, ctx)
    return [
        statement_lineage(
            ctx, "MERGE", target.name, _merge_writes(written), target_use=target_use(target), target_kind=target.kind
        )
    ]


def _merge_writes(written: list[Written]) -> list[Written]:
    """A column that several clauses write has the sources of all of them."""
    parts: dict[str, list[Refs]] = {}
    for name, _, refs in written:
        parts.setdefault(name, []).append(refs)
    return [(name, None, union(refs)) for name, refs in parts.items()]


def _action(
    then: exp.Expr | None, target: WriteTarget, source: NamedRelation, scope: Scope, ctx: Context
) -> list[Written]:
    if isinstance(then, exp.Update):
        assignments = then.args.get("expressions") or []
        # SET * is a list of one star, `UPDATE *` the star itself
        if not isinstance(assignments, list) or not assignments or isinstance(assignments[0], exp.Star):
            return _star(target, source.relation, ctx, then, by_position=False)
        return [item for assignment in assignments for item in assigned(assignment, target, scope, ctx)]
    if isinstance(then, exp.Insert):
        return _insert(then, target, source, scope, ctx)
    return []


def _insert(then: exp.Expr, target: WriteTarget, source: NamedRelation, scope: Scope, ctx: Context) -> list[Written]:
    columns, values = then.args.get("this"), then.args.get("expression")
    row = isinstance(columns, exp.Var) and columns.name.upper() == "ROW"
    if (columns is None and values is None) or isinstance(columns, exp.Star) or row:
        return _star(target, source.relation, ctx, then, by_position=row)
    if isinstance(values, exp.Var) and values.name.upper() == "ROW":
        return _star(target, source.relation, ctx, then, by_position=True)
    items = _items(values)
    if columns is None or isinstance(columns, exp.Values):
        names = list(target.relation.names)
        items = items or _items(columns)
        if not names:
            names = [ctx.spelling_of(identifier_of(item)) for item in items]
    else:
        names = [target.spelled(identifier_of(column), ctx) for column in _items(columns)]
    refs = [refs_of(value, scope, ctx) for value in items]
    if ctx.explained is not None:
        ctx.explained.values += [(name, value, scope) for name, value in zip(names, items, strict=False)]
    return [(name, None, own) for name, own in zip(names, refs, strict=False)]


def _items(node: exp.Expr | None) -> list[exp.Expr]:
    if node is None:
        return []
    if isinstance(node, exp.Values):
        rows = node.args.get("expressions") or []
        return _items(rows[0]) if rows else []
    if isinstance(node, exp.Tuple | exp.Schema):
        return list(node.args.get("expressions") or [])
    if isinstance(node, exp.Paren):
        return [node.args["this"]]
    return [node]


def _star(target: WriteTarget, source: Relation, ctx: Context, node: exp.Expr, *, by_position: bool) -> list[Written]:
    """UPDATE SET * and INSERT *: each column of the source goes to the target's column of the same name."""
    if source.open is not None and not source.names:
        ctx.stars.append("none")
        ctx.unexpanded.update(source.open.tables())
        if target.relation.names and target.relation.open is None and isinstance(source.open, UnknownTable):
            # the target's columns are known, and the engine takes them from the source by name
            ctx.stars[-1] = "partial"
            ctx.issue_once("APPROXIMATE_LINEAGE", "info", "merge star", _star_message(source), HINT_SCHEMA, node)
            return [
                (name, None, mark_approximate(source.open.lookup(key, name)))
                for name, key in zip(target.relation.names, target.relation.keys, strict=True)
            ]
        ctx.issue_once("APPROXIMATE_LINEAGE", "warning", "merge star", _star_message(source), HINT_SCHEMA, node)
        return []
    refs: list[Refs] = list(source.refs)
    if source.open is not None:
        ctx.stars.append("partial")
        ctx.unexpanded.update(source.open.tables())
        ctx.issue_once("APPROXIMATE_LINEAGE", "info", "merge star", _star_message(source), HINT_SCHEMA, node)
        refs = [mark_approximate(own) for own in refs]
    else:
        ctx.stars.append("full")
    if source.doubt or target.relation.doubt:
        refs = [mark_approximate(own) for own in refs]
    if not target.relation.names or target.relation.open is not None:
        return [(name, None, own) for name, own in zip(source.names, refs, strict=True)]
    if by_position:
        return [(name, None, own) for name, own in zip(target.relation.names, refs, strict=False)]
    by_key = dict(zip(source.keys, refs, strict=True))
    if ctx.explained is not None:
        spelled = dict(zip(target.relation.keys, target.relation.names, strict=True))
        ctx.explained.rows.append(([spelled.get(key, key) for key in source.keys], source))
    return [
        (name, None, by_key.get(key, NO_REFS))
        for name, key in zip(target.relation.names, target.relation.keys, strict=True)
        if key in by_key
    ]


def _star_message(source: Relation) -> str:
    tables = source.open.tables() if source.open is not None else ()
    whose = ", ".join(tables) or "the source"
    return f"the star of this MERGE cannot be expanded fully: the columns of {whose} are not known"


def _by_name(relation: Relation, name: exp.Expr, ctx: Context) -> Refs:
    identifier = identifier_of(name)
    key = ctx.key_of(identifier)
    refs = relation.by_key.get(key)
    if refs is None and relation.unknown is not None:
        refs = relation.unknown.lookup(key, ctx.spelling_of(identifier))
    return refs or NO_REFS
