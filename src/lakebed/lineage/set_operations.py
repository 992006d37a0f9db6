"""UNION, INTERSECT, EXCEPT: branches become one relation, by position or by name."""

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.identifiers import identifier_of
from lakebed.lineage.relations import AllOf, Refs, Relation, Unknown, mark_approximate, union


def branches(node: exp.Expr) -> list[exp.Expr]:
    """The operands from left to right; sqlglot nests them to the left, possibly thousands deep."""
    found: list[exp.Expr] = []
    current: exp.Expr = node
    while isinstance(current, exp.SetOperation) and (current is node or not current.args.get("with_")):
        found.append(current.args["expression"])
        current = current.args["this"]
    found.append(current)
    found.reverse()
    return found


def combine(relations: list[Relation], node: exp.Expr, ctx: Context) -> Relation:
    """Combines branches by position, with the names of the first."""
    first = relations[0]
    if len(relations) == 1:
        return first
    rest = relations[1:]
    if first.unknown is None:
        width = len(first.names)
        for relation in rest:
            if relation.unknown is None and len(relation.names) != width:
                ctx.issue_once(
                    "SET_OPERATION_MISMATCH",
                    "error",
                    "width",
                    f"the branches of this set operation have {width} and {len(relation.names)} columns",
                    "Give every branch the same number of columns.",
                    node,
                )
        refs = []
        for place, own in enumerate(first.refs):
            parts = [own]
            for relation in rest:
                # a branch with unknown columns has them at unknown places
                if relation.unknown is None and place < len(relation.refs):
                    parts.append(relation.refs[place])
            refs.append(union(parts) if len(parts) > 1 else own)
        combined = Relation(first.names, first.keys, refs, origin=relations)
        if ctx.typed is not None:
            ctx.typed.relations.append(combined)
        return combined
    unknowns = [relation.unknown for relation in rest if relation.unknown is not None]
    by_key = [relation.by_key for relation in rest]
    refs = [
        union([own, *(mark_approximate(index[key]) for index in by_key if key in index)])
        for key, own in zip(first.keys, first.refs, strict=True)
    ]
    return Relation(
        first.names, first.keys, refs, unknown=AllOf(first.unknown, unknowns) if unknowns else first.unknown
    )


def steps(node: exp.Expr) -> tuple[exp.Expr, list[tuple[exp.Expr, list[exp.Expr]]]]:
    """The first operand, and the others in groups that are combined alike: by position, or by name in the same way."""
    operations: list[exp.Expr] = []
    current: exp.Expr = node
    while isinstance(current, exp.SetOperation) and (current is node or not current.args.get("with_")):
        operations.append(current)
        current = current.args["this"]
    groups: list[tuple[exp.Expr, list[exp.Expr]]] = []
    for operation in reversed(operations):
        operand = operation.args["expression"]
        if groups and _mode(groups[-1][0]) == _mode(operation):
            groups[-1][1].append(operand)
        else:
            groups.append((operation, [operand]))
    return current, groups


def _mode(operation: exp.Expr) -> tuple[object, ...]:
    args = operation.args
    by_name = bool(args.get("by_name"))
    return (by_name, args.get("side"), args.get("kind"), str(args.get("on") or "")) if by_name else (False,)


def combine_by_name(relations: list[Relation], operation: exp.Expr, ctx: Context) -> Relation:
    """Combines branches by the names of their columns: all of them, the first one's (LEFT), the common ones (INNER)."""
    combined = _all_by_name(relations)
    on = operation.args.get("on") or []
    side, kind = str(operation.args.get("side") or "").upper(), str(operation.args.get("kind") or "").upper()
    if on:
        kept = [ctx.key_of(identifier_of(column)) for column in on]
    elif kind == "INNER":
        kept = [key for key in relations[0].keys if all(key in relation.by_key for relation in relations[1:])]
    elif side == "LEFT":
        kept = list(relations[0].keys)
    else:
        return combined
    by_key = {key: (name, refs) for name, key, refs in zip(combined.names, combined.keys, combined.refs, strict=True)}
    kept = [key for key in kept if key in by_key]
    return Relation([by_key[key][0] for key in kept], kept, [by_key[key][1] for key in kept], unknown=combined.unknown)


def _all_by_name(relations: list[Relation]) -> Relation:
    names: dict[str, str] = {}
    refs: dict[str, list[Refs]] = {}
    for relation in relations:
        for name, key, own in zip(relation.names, relation.keys, relation.refs, strict=True):
            names.setdefault(key, name)
            refs.setdefault(key, []).append(own)
    unknowns = [relation.unknown for relation in relations if relation.unknown is not None]
    unknown: Unknown | None = AllOf(unknowns[0], unknowns[1:]) if unknowns else None
    return Relation(list(names.values()), list(names), [union(parts) for parts in refs.values()], unknown=unknown)
