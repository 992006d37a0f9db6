"""INSERT in its forms: by position, by column list, by name, into several tables, with conflict clauses."""

from sqlglot import exp

from lakebed.lineage.context import Context, Env
from lakebed.lineage.contract import StatementLineage, TableUse
from lakebed.lineage.ctes import with_ctes
from lakebed.lineage.expressions import predicate, refs_of
from lakebed.lineage.from_clause import add_from, add_join
from lakebed.lineage.query import select_from
from lakebed.lineage.relations import NO_REFS, Refs, Relation, union
from lakebed.lineage.scope import NamedRelation, Scope
from lakebed.lineage.statements.result import WriteTarget, Written, statement_lineage, target_use
from lakebed.lineage.statements.session import report_unsupported
from lakebed.lineage.statements.update import assigned


def insert(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """Rows of a query or of VALUES into one table."""
    env = with_ctes(node, ctx.env, ctx)
    return _insert(node, env, ctx, None)


def insert_multiple(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """Hive's `FROM s INSERT ... INSERT ...` and Snowflake's INSERT ALL: one result for each target."""
    env = with_ctes(node, ctx.env, ctx)
    source = node.args["source"]
    results: list[StatementLineage] = []
    for item in node.args.get("expressions") or []:
        inner = ctx.nested_context(env)
        if isinstance(item, exp.ConditionalInsert):
            results += _conditional(item, source, env, inner)
        else:
            results += _insert(item, env, inner, source)
        ctx.issues += inner.issues
    return results


def _conditional(item: exp.Expr, source: exp.Expr, env: Env, ctx: Context) -> list[StatementLineage]:
    relation = ctx.resolve_query(source, env, None, ctx)
    scope = Scope(None, env)
    scope.add(NamedRelation("", relation))
    if item.args.get("expression") is not None:
        predicate(item.args["expression"], scope, ctx, "filter")
    node = item.args["this"]
    values = node.args.get("expression")
    if values is not None:
        row = values.args["expressions"][0]
        items = row.args.get("expressions") or [] if isinstance(row, exp.Tuple) else [row]
        refs = [refs_of(value, scope, ctx) for value in items]
        relation = Relation([value.name or f"column{i}" for i, value in enumerate(items)], [""] * len(items), refs)
    target, listed = _target(node, ctx)
    return [_mapped(node, target, listed, relation, ctx)]


def _target(node: exp.Expr, ctx: Context) -> tuple[WriteTarget, list[exp.Expr]]:
    this = node.args["this"]
    listed: list[exp.Expr] = []
    if isinstance(this, exp.Schema):
        listed = this.args.get("expressions") or []
        this = this.args["this"]
    return WriteTarget(this, ctx), [item.args["this"] if isinstance(item, exp.Column) else item for item in listed]


def _insert(node: exp.Expr, env: Env, ctx: Context, source: exp.Expr | None) -> list[StatementLineage]:
    this = node.args["this"]
    if not isinstance(this, exp.Schema | exp.Table):
        return _into_place(node, env, ctx)
    target, listed = _target(node, ctx)
    query = node.args.get("expression") or node.args.get("source")
    if not isinstance(query, exp.Expr):
        # DEFAULT VALUES
        return [statement_lineage(ctx, "INSERT", target.name, [], target_use=target_use(target))]
    if source is not None and isinstance(query, exp.Select):
        inner = with_ctes(query, env, ctx)
        relation = select_from(query, source, inner, ctx)
    else:
        relation = ctx.resolve_query(query, env, None, ctx)
    return [_mapped(node, target, listed, relation, ctx)]


def _into_place(node: exp.Expr, env: Env, ctx: Context) -> list[StatementLineage]:
    """INSERT OVERWRITE DIRECTORY: the place is no table, but what it gets is known."""
    query = node.args.get("expression")
    if not isinstance(query, exp.Query):
        return report_unsupported(ctx, "INSERT")
    relation = ctx.resolve_query(query, env, None, ctx)
    name = node.args["this"].name or "directory"
    written: list[Written] = [(n, i, r) for i, (n, r) in enumerate(zip(relation.names, relation.refs, strict=True))]
    use = TableUse(name, "directory", "unknown")
    return [statement_lineage(ctx, "INSERT", name, written, outputs=relation.names, target_use=use)]


def _mapped(
    node: exp.Expr, target: WriteTarget, listed: list[exp.Expr], relation: Relation, ctx: Context
) -> StatementLineage:
    if not target.known:
        ctx.report_unknown_table(target.name, target.parts, target.node, target=True)
    by_name = bool(node.args.get("by_name"))
    names = _target_names(node, target, listed, relation, ctx, by_name)
    written: list[Written] = [
        (name, place, refs) for place, (name, refs) in enumerate(zip(names, relation.refs, strict=False))
    ]
    if ctx.explained is not None:
        ctx.explained.rows.append((names, relation))
    if ctx.typed is not None:
        ctx.typed.rows.append((target.name, target.relation, names, relation))
    conflict = node.args.get("conflict")
    if conflict is not None:
        written = _with_updates(written, _conflict(node, conflict, target, names, relation, ctx))
    where = node.args.get("where")
    if where is not None:
        scope = Scope(None, {})
        scope.add(NamedRelation("", target.relation))
        predicate(where, scope, ctx, "filter")
    return statement_lineage(
        ctx, "INSERT", target.name, written, outputs=names, target_use=target_use(target), target_kind=target.kind
    )


def _with_updates(inserted: list[Written], updated: list[Written]) -> list[Written]:
    """A column that the insert gives and the conflict clause updates has the sources of both."""
    extra: dict[str, list[Refs]] = {}
    for name, _, refs in updated:
        extra.setdefault(name, []).append(refs)
    merged: list[Written] = [
        (name, place, union([refs, *extra.pop(name)]) if name in extra else refs) for name, place, refs in inserted
    ]
    return merged + [(name, None, union(parts)) for name, parts in extra.items()]


def _target_names(
    node: exp.Expr, target: WriteTarget, listed: list[exp.Expr], relation: Relation, ctx: Context, by_name: bool
) -> list[str]:
    """Which column of the target each column of the source goes to: by the list, by the known columns, by name."""
    static, dynamic = _partition(node, ctx)
    if by_name:
        spelled = dict(zip(target.relation.keys, target.relation.names, strict=True))
        return [spelled.get(key, name) for name, key in zip(relation.names, relation.keys, strict=True)]
    if listed:
        names = [target.spelled(identifier, ctx) for identifier in listed]
    elif target.relation.names and target.relation.open is None:
        pairs = list(zip(target.relation.names, target.relation.keys, strict=True))
        # a partition column with a value takes none from the query; without one it comes last, in the order given
        names = [name for name, key in pairs if key not in static and key not in dynamic]
        names += [name for wanted in dynamic for name, key in pairs if key == wanted]
        # values go by position: the statement needs every column to be where it is
        ctx.refer(tuple((target.name, name, (), "value", False) for name in names), target.node)
    elif isinstance(node.args.get("expression"), exp.Values):
        # rows of constants for columns whose names are not known
        return []
    else:
        return list(relation.names)
    if relation.unknown is not None:
        # a star that is not expanded: which column comes at which place is not known
        return _known_places(names, relation)
    if len(relation.names) != len(names):
        ctx.issue(
            "INSERT_COLUMN_COUNT",
            "warning",
            f"{target.name} takes {len(names)} columns and the query gives {len(relation.names)}",
            "Check the column list, or the schema of the target.",
            target.node,
        )
        names += relation.names[len(names) :]
    return names[: len(relation.names)]


def _known_places(names: list[str], relation: Relation) -> list[str]:
    relation.refs = [NO_REFS] * len(names)
    relation.names = list(names)
    relation.keys = list(names)
    return names


def _partition(node: exp.Expr, ctx: Context) -> tuple[set[str], list[str]]:
    """PARTITION (day = 1, hour): keys that have a value, and keys that come from the query."""
    this = node.args["this"]
    table = this.args["this"] if isinstance(this, exp.Schema) else this
    clause = table.args.get("partition") or node.args.get("partition")
    static: set[str] = set()
    dynamic: list[str] = []
    if isinstance(clause, exp.Partition):
        for item in clause.args.get("expressions") or []:
            if isinstance(item, exp.EQ) and isinstance(item.args["this"], exp.Column):
                static.add(ctx.key_of(item.args["this"].args["this"]))
            elif isinstance(item, exp.Column):
                dynamic.append(ctx.key_of(item.args["this"]))
    return static, dynamic


def _conflict(
    node: exp.Expr, conflict: exp.Expr, target: WriteTarget, names: list[str], relation: Relation, ctx: Context
) -> list[Written]:
    """ON CONFLICT DO UPDATE and ON DUPLICATE KEY UPDATE: the new row is `excluded`, the old one the target's."""
    scope = Scope(None, {})
    own = target.relation
    alias = target.node.args.get("alias")
    name = target.parts[-1]
    scope.add(NamedRelation(ctx.column_key(name.text, name.quoted), own, ctx.catalog.key(target.parts)))
    if isinstance(alias, exp.TableAlias) and alias.args.get("this") is not None:
        scope.names[ctx.key_of(alias.args["this"])] = own
    refs: list[Refs] = list(relation.refs[: len(names)]) + [NO_REFS] * max(0, len(names) - len(relation.refs))
    scope.names["excluded"] = Relation(list(names), [ctx.column_key(name, True) for name in names], refs)
    folded = scope.names["excluded"]
    folded.keys = [ctx.column_key(name, False) for name in names]
    scope.names[ctx.column_key("excluded", False)] = folded
    scope.names.setdefault(ctx.column_key("new", False), folded)
    _add_source_tables(node.args.get("expression"), relation, scope, ctx)
    written: list[Written] = []
    for assignment in conflict.args.get("expressions") or []:
        written += assigned(assignment, target, scope, ctx)
    where = conflict.args.get("where")
    if where is not None:
        predicate(where, scope, ctx, "filter")
    return written


def _add_source_tables(query: exp.Expr | None, relation: Relation, scope: Scope, ctx: Context) -> None:
    """MySQL lets the update read the columns of the SELECT, and of the tables that it reads."""
    if relation.unknown is not None or not relation.names:
        return
    scope.parent = Scope(None, ctx.env)
    scope.parent.add(NamedRelation("", relation))
    from_ = query.args.get("from_") if isinstance(query, exp.Select) else None
    if from_ is not None and query is not None and not query.args.get("with_"):
        tables = Scope(None, ctx.env)
        add_from(from_.args["this"], tables, ctx)
        for join in query.args.get("joins") or []:
            add_join(join, tables, ctx)
        scope.parent.parent = tables
