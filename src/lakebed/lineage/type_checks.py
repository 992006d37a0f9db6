"""Where the types of a statement do not fit: comparisons, arithmetic, branches of a union, what a table takes.

Only asked for when a type changes: engines disagree about what they convert, so that a conflict is worth a word where
it is new, and not where it has always been.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.data_types import holds, type_family
from lakebed.lineage.relations import Relation
from lakebed.lineage.scope import Scope
from lakebed.lineage.type_inference import SelectOrigin, TypeInference

TYPE_CONFLICT = "TYPE_CONFLICT"
_HINT = "Cast one side, or change the other column's type too."
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_NUMERIC_AGGREGATES = (exp.Sum, exp.Avg)


@dataclass(slots=True)
class TypedParts:
    """The parts of a statement whose types are compared once it is resolved."""

    expressions: list[tuple[exp.Expr, Scope]] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    # the table's name, its columns' types, the columns that are written, and what they get
    rows: list[tuple[str, Relation, list[str], Relation]] = field(default_factory=list)
    values: list[tuple[str, Relation, str, exp.Expr, Scope]] = field(default_factory=list)


def report_type_conflicts(parts: TypedParts, ctx: Context) -> None:
    """Reports what does not fit as issues of the statement."""
    inference = TypeInference(ctx)
    checks = _Checks(inference, ctx)
    for expression, scope in parts.expressions:
        checks.expression(expression, scope)
    for relation in parts.relations:
        origin = relation.origin
        if isinstance(origin, SelectOrigin):
            for node in origin.expressions:
                if node is not None:
                    checks.expression(node, origin.scope)
        elif isinstance(origin, list):
            checks.branches(relation, origin)
    for table, target, names, given in parts.rows:
        types = inference.column_types(given)
        for name, kind in zip(names, types, strict=False):
            checks.written(table, target, name, kind, None)
    for table, target, name, node, scope in parts.values:
        checks.written(table, target, name, inference.expression_type(node, scope), node)


@dataclass(slots=True)
class _Checks:
    inference: TypeInference
    ctx: Context

    def expression(self, root: exp.Expr, scope: Scope) -> None:
        for node in _nodes(root):
            if isinstance(node, _COMPARISONS):
                self._compare(node, [node.args["this"], node.args["expression"]], scope)
            elif isinstance(node, exp.In) and node.args.get("expressions"):
                self._compare(node, [node.args["this"], *node.args["expressions"]], scope)
            elif isinstance(node, exp.Between):
                self._compare(node, [node.args["this"], node.args["low"], node.args["high"]], scope)
            elif isinstance(node, _ARITHMETIC):
                for side in (node.args["this"], node.args["expression"]):
                    self._number(side, scope)
            elif isinstance(node, _NUMERIC_AGGREGATES) and isinstance(node.args.get("this"), exp.Expr):
                self._number(node.args["this"], scope)

    def _compare(self, node: exp.Expr, sides: list[exp.Expr], scope: Scope) -> None:
        first, *rest = sides
        one = self._family(first, scope)
        for side in rest:
            other = self._family(side, scope)
            if one is None or other is None or one == other:
                continue
            if any(isinstance(value, exp.Literal) and value.is_string for value in (first, side)):
                # every engine reads a literal as what it is compared with
                continue
            self._report(f"{self._sql(first)} is {one} and {self._sql(side)} is {other}", node)

    def _number(self, node: exp.Expr, scope: Scope) -> None:
        if self._family(node, scope) == "text" and not isinstance(node, exp.Literal):
            self._report(f"{self._sql(node)} is text where a number is needed", node)

    def branches(self, relation: Relation, branches: list[Relation]) -> None:
        parser = self.ctx.dialect.parser
        columns = zip(*(self.inference.column_types(branch) for branch in branches), strict=False)
        for name, types in zip(relation.names, columns, strict=False):
            families = {family for kind in types if (family := type_family(kind, parser)) is not None}
            if len(families) > 1:
                shown = " and ".join(sorted(families))
                self._report(f"the branches of this set operation give {name} as {shown}", None)

    def written(self, table: str, target: Relation, name: str, kind: str | None, node: exp.Expr | None) -> None:
        takes = next(
            (t for n, t in zip(target.names, self.inference.column_types(target), strict=True) if n == name), None
        )
        if takes is not None and kind is not None and not holds(takes, kind, self.ctx.dialect.parser):
            self._report(f"{table}.{name} is {takes} and gets {kind}", node)

    def _family(self, node: exp.Expr, scope: Scope) -> str | None:
        return type_family(self.inference.expression_type(node, scope), self.ctx.dialect.parser)

    def _sql(self, node: exp.Expr) -> str:
        return node.sql(self.ctx.dialect.parser or None, comments=False)

    def _report(self, message: str, node: exp.Expr | None) -> None:
        self.ctx.issue_once(TYPE_CONFLICT, "warning", message, message, _HINT, node)


def _nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression; queries inside of it are looked at on their own."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Query):
            continue
        yield node
        stack.extend(node.iter_expressions())
