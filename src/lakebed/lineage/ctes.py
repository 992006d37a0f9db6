"""WITH: what a CTE sees, which CTEs are recursive, and what a recursive one comes from."""

from sqlglot import exp

from lakebed.lineage.context import Context, Env
from lakebed.lineage.from_clause import read_cte
from lakebed.lineage.relations import Ref, Refs, Relation
from lakebed.lineage.scope import Cte
from lakebed.lineage.set_operations import branches, combine


def with_ctes(node: exp.Expr, env: Env, ctx: Context) -> Env:
    """The CTEs that a query sees: those around it, and those of its WITH, each of which sees the ones before it."""
    clause = node.args.get("with_")
    if clause is None:
        return env
    current: dict[str, Cte] = dict(env)
    # each is resolved where it is written, with what stands before it: a chain of a thousand is no deeper than one
    recursive = bool(clause.args.get("recursive"))
    for cte in clause.args.get("expressions") or []:
        alias = cte.args.get("alias")
        identifier = alias.args.get("this") if alias is not None else None
        if identifier is None:
            continue
        key = ctx.key_of(identifier)
        entry = Cte(cte, current)
        if _is_recursive(cte, key, recursive, ctx):
            with ctx.collect_reads() as reads:
                entry.relation = _resolve_recursive(cte, key, current, ctx)
            entry.reads = reads
        else:
            read_cte(entry, ctx, count=False)
        current[key] = entry
    return current


def _is_recursive(cte: exp.Expr, key: str, keyword: bool, ctx: Context) -> bool:
    body = _unwrap(cte.args["this"])
    if not isinstance(body, exp.SetOperation) or not (keyword or ctx.dialect.recursive_without_keyword):
        return False
    first, *rest = branches(body)
    return not _reads(first, key, ctx) and any(_reads(branch, key, ctx) for branch in rest)


def _unwrap(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.Subquery):
        query = query.args["this"]
    return query


def _reads(node: exp.Expr, key: str, ctx: Context) -> bool:
    return any(
        isinstance(table.args.get("this"), exp.Identifier)
        and table.args.get("db") is None
        and ctx.key_of(table.args["this"]) == key
        for table in node.find_all(exp.Table)
    )


def _resolve_recursive(cte: exp.Expr, key: str, env: Env, ctx: Context) -> Relation:
    """A recursive CTE: the sources of its columns are the closure over its recursive branches.

    A recursive branch reads marks in place of the CTE's own columns; afterwards each mark is replaced by the sources
    of the column that it stands for, until nothing new is found.
    """
    body = _unwrap(cte.args["this"])
    env = with_ctes(body, env, ctx)
    parts = branches(body)
    anchors = [part for part in parts if not _reads(part, key, ctx)]
    steps = [part for part in parts if _reads(part, key, ctx)]
    base = combine([ctx.resolve_query(branch, env, None, ctx) for branch in anchors], body, ctx)
    alias = cte.args.get("alias")
    columns = (alias.args.get("columns") or []) if alias is not None else []
    if columns:
        base = base.renamed([ctx.spelling_of(c) for c in columns], [ctx.key_of(c) for c in columns])
    # a dotted name cannot contain this character, so no table is taken for a mark
    mark = f"\0{key}"
    marks: list[Refs] = [((mark, str(place), (), "value", False),) for place in range(len(base.names))]
    own = Relation(list(base.names), list(base.keys), marks, unknown=base.unknown)
    inner = {**env, key: Cte(cte, env, own)}
    before = dict(ctx.predicates)
    recursive = [ctx.resolve_query(step, inner, None, ctx) for step in steps]
    sources: list[dict[Ref, None]] = [dict.fromkeys(refs) for refs in base.refs]
    changed = True
    while changed:
        changed = False
        for relation in recursive:
            for place, refs in enumerate(relation.refs[: len(sources)]):
                size = len(sources[place])
                for ref in _unmarked(refs, mark, sources):
                    sources[place][ref] = None
                changed = changed or len(sources[place]) > size
    added = [ref for ref in ctx.predicates if ref not in before]
    for ref in added:
        if ref[0] == mark:
            del ctx.predicates[ref]
            ctx.predicates.update(dict.fromkeys(_unmarked((ref,), mark, sources)))
    return Relation(base.names, base.keys, [tuple(found) for found in sources], unknown=base.unknown)


def _unmarked(refs: Refs, mark: str, sources: list[dict[Ref, None]]) -> list[Ref]:
    found = []
    for ref in refs:
        if ref[0] != mark:
            found.append(ref)
            continue
        for table, column, path, role, approximate in list(sources[int(ref[1])]):
            found.append((table, column, path + ref[2], role if ref[3] == "value" else ref[3], approximate or ref[4]))
    return found
