"""UPDATE: assignments, tuples, FROM, joins, and targets that are aliases."""

from sqlglot import exp

from lakebed.lineage.context import Context, Env
from lakebed.lineage.contract import StatementLineage
from lakebed.lineage.ctes import with_ctes
from lakebed.lineage.expressions import predicate, refs_of
from lakebed.lineage.from_clause import add_from, add_join, read_cte
from lakebed.lineage.relations import NO_REFS
from lakebed.lineage.scope import Cte, NamedRelation, Scope
from lakebed.lineage.statements.result import WriteTarget, Written, behind_cte, statement_lineage, target_use


def update(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """Columns of one table from expressions over it and over others."""
    env = with_ctes(node, ctx.env, ctx)
    table = node.args["this"]
    scope = Scope(None, env)
    aliased = _aliased_table(node, table, ctx)
    found = behind_cte(table, env, ctx) if aliased is None else None
    target = WriteTarget(aliased if aliased is not None else found[0] if found is not None else table, ctx)
    if not target.known:
        ctx.report_unknown_table(target.name, target.parts, target.node, target=True)
    if found is not None:
        add_cte(found[1], table, scope, ctx)
        ctx.used.pop(target.name, None)
    elif aliased is None:
        add_target(target, table, scope, ctx)
        for join in table.args.get("joins") or []:
            add_join(join, scope, ctx)
    from_ = node.args.get("from_")
    if from_ is not None:
        add_from(from_.args["this"], scope, ctx)
    if aliased is not None and not _reads_elsewhere(node, target, env, ctx):
        # T-SQL names the target again in FROM: it is written, and read only where its columns are
        ctx.used.pop(target.name, None)
    assignments = node.args.get("expressions") or []
    target = _joined_target(assignments, table, target, ctx)
    written: list[Written] = []
    if found is None:
        for assignment in assignments:
            written += assigned(assignment, target, scope, ctx)
    else:
        seen = WriteTarget(found[0], ctx)
        seen.relation = scope.relations[0]
        for assignment in assignments:
            written += assigned(assignment, seen, scope, ctx)
        written = [(_base_column(name, scope, ctx), place, refs) for name, place, refs in written]
    where = node.args.get("where")
    if where is not None:
        predicate(where.args["this"], scope, ctx, "filter")
    return [
        statement_lineage(ctx, "UPDATE", target.name, written, target_use=target_use(target), target_kind=target.kind)
    ]


def add_target(target: WriteTarget, table: exp.Expr, scope: Scope, ctx: Context) -> None:
    """The target as something to read; it counts as read only where a column of it is."""
    alias = table.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("this") is not None:
        scope.add(NamedRelation(ctx.key_of(alias.args["this"]), target.relation))
    elif target.parts:
        last = target.parts[-1]
        scope.add(NamedRelation(ctx.column_key(last.text, last.quoted), target.relation, ctx.catalog.key(target.parts)))


def add_cte(cte: Cte, table: exp.Expr, scope: Scope, ctx: Context) -> None:
    """A CTE whose table is written: its columns can be read, and its conditions choose the rows."""
    alias = table.args.get("alias")
    name = alias.args["this"] if isinstance(alias, exp.TableAlias) and alias.args.get("this") else table.args["this"]
    scope.add(NamedRelation(ctx.key_of(name), read_cte(cte, ctx)))


def _aliased_table(node: exp.Expr, table: exp.Expr, ctx: Context) -> exp.Expr | None:
    """T-SQL: UPDATE t ... FROM tab AS t: the table behind the alias."""
    from_ = node.args.get("from_")
    if from_ is None or not isinstance(table, exp.Table) or table.args.get("db") is not None:
        return None
    wanted = ctx.key_of(table.args["this"]) if isinstance(table.args.get("this"), exp.Identifier) else None
    for item in [from_.args["this"], *(join.args["this"] for join in from_.args["this"].args.get("joins") or [])]:
        alias = item.args.get("alias") if isinstance(item, exp.Table) else None
        if isinstance(alias, exp.TableAlias) and isinstance(alias.args.get("this"), exp.Identifier):
            if ctx.key_of(alias.args["this"]) == wanted:
                found: exp.Expr = item
                return found
        elif isinstance(item, exp.Table) and ctx.dialect.name in ("tsql", "fabric"):
            identifier = item.args.get("this")
            if isinstance(identifier, exp.Identifier) and ctx.key_of(identifier) == wanted:
                return item
    return None


def _reads_elsewhere(node: exp.Expr, target: WriteTarget, env: Env, ctx: Context) -> bool:
    """Whether the target stands in FROM more than once."""
    from_ = node.args["from_"]
    count = sum(1 for table in from_.find_all(exp.Table) if WriteTarget(table, ctx).name == target.name)
    return count > 1


def _joined_target(assignments: list[exp.Expr], table: exp.Expr, target: WriteTarget, ctx: Context) -> WriteTarget:
    """MySQL: UPDATE a JOIN b SET b.x = ...: the table whose column is assigned."""
    joins = table.args.get("joins") or []
    if not joins or not assignments:
        return target
    column = assignments[0].args.get("this")
    qualifier = column.args.get("table") if isinstance(column, exp.Column) else None
    if qualifier is None:
        return target
    wanted = ctx.key_of(qualifier)
    for join in joins:
        item = join.args["this"]
        if isinstance(item, exp.Table) and item.alias_or_name and ctx.column_key(item.alias_or_name, False) == wanted:
            ctx.used.pop(WriteTarget(item, ctx).name, None)
            if target.name not in ctx.used:
                ctx.read_table(target.parts, table)
            return WriteTarget(item, ctx)
    return target


def _base_column(name: str, scope: Scope, ctx: Context) -> str:
    """The column of the table that a column of the CTE is."""
    refs = scope.relations[0].by_key.get(ctx.column_key(name, True)) or scope.relations[0].by_key.get(name)
    return refs[0][1] if refs and len(refs) == 1 else name


def assigned(assignment: exp.Expr, target: WriteTarget, scope: Scope, ctx: Context) -> list[Written]:
    """`a = x` and `(a, b) = (SELECT x, y ...)`."""
    if not isinstance(assignment, exp.EQ | exp.PropertyEQ):
        return []
    left, right = assignment.args["this"], assignment.args["expression"]
    if not isinstance(left, exp.Tuple | exp.Paren):
        name = _name(left, target, ctx)
        if ctx.explained is not None:
            ctx.explained.values.append((name, right, scope))
        if ctx.typed is not None:
            ctx.typed.values.append((target.name, target.relation, name, right, scope))
        return [(name, None, refs_of(right, scope, ctx))]
    names = left.args.get("expressions") or [left.args.get("this")]
    while isinstance(right, exp.Paren):
        right = right.args["this"]
    if isinstance(right, exp.Tuple):
        values = [refs_of(value, scope, ctx) for value in right.args.get("expressions") or []]
    elif isinstance(right, exp.Query):
        values = list(ctx.resolve_query(right, scope.env, scope, ctx).refs)
    else:
        values = [refs_of(right, scope, ctx)]
    values += [NO_REFS] * max(0, len(names) - len(values))
    return [(_name(name, target, ctx), None, refs) for name, refs in zip(names, values, strict=False)]


def _name(column: exp.Expr, target: WriteTarget, ctx: Context) -> str:
    while isinstance(column, exp.Paren | exp.Dot | exp.Bracket):
        column = column.args["this"]
    identifier = column.args["this"] if isinstance(column, exp.Column) else column
    if not isinstance(identifier, exp.Identifier):
        return column.name
    # `addr.city = ...` writes a field of the column addr
    qualifier = column.args.get("table") if isinstance(column, exp.Column) else None
    known = target.relation.by_key
    if qualifier is not None and ctx.key_of(qualifier) in known and ctx.key_of(identifier) not in known:
        identifier = qualifier
    return target.spelled(identifier, ctx)
