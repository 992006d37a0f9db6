"""Types of the columns that queries make, where the schema and the expressions allow it.

A column that is passed on keeps its type; what expressions make of their arguments is known to sqlglot's annotator,
which gets every column with the type that its relation has. What is not known stays unknown: no type is guessed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from sqlglot import MappingSchema, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import TypeAnnotator

from lakebed.lineage.context import Context
from lakebed.lineage.data_types import common_type, parse_type
from lakebed.lineage.relations import Relation
from lakebed.lineage.scope import Scope

# Chains of CTEs that are longer lose their types, before Python loses its patience.
_MAX_DEPTH = 60


class SelectOrigin(NamedTuple):
    """The select list that a relation comes from: an expression per column, None where a star stands for it."""

    expressions: list[exp.Expr | None]
    scope: Scope


_AROUND = (exp.Alias, exp.Paren)
# What gives its argument's type.
_PASSING = (exp.Window, exp.Max, exp.Min, exp.First, exp.Last, exp.AnyValue, exp.IgnoreNulls, exp.RespectNulls)
_SAME_TYPE = (exp.Add, exp.Sub, exp.Mul)
_WHOLE_NUMBERS = frozenset({"INT", "BIGINT", "INTEGER"})
_UNKNOWN = exp.DataType(this=exp.DType.UNKNOWN)


@lru_cache(maxsize=64)
def _schema_of(parser: str) -> MappingSchema:
    return MappingSchema(dialect=parser or None)


@dataclass(slots=True)
class TypeInference:
    """The types of one statement's relations, each looked at once."""

    ctx: Context
    _depth: int = 0
    _found: dict[int, tuple[Relation, list[str | None]]] = field(default_factory=dict)
    _annotator: TypeAnnotator | None = None

    def column_types(self, relation: Relation) -> list[str | None]:
        """The type of each column of a relation, None where it is not known."""
        known = self._found.get(id(relation))
        if known is not None:
            return known[1]
        if relation.types is not None:
            types = [relation.types.get(key) for key in relation.keys]
        elif self._depth >= _MAX_DEPTH:
            return [None] * len(relation.keys)
        else:
            # a relation that leads back to itself does not know its types while they are looked for
            self._found[id(relation)] = (relation, [None] * len(relation.keys))
            self._depth += 1
            try:
                types = self._derived_types(relation)
            finally:
                self._depth -= 1
        self._found[id(relation)] = (relation, types)
        return types

    def _derived_types(self, relation: Relation) -> list[str | None]:
        width = len(relation.keys)
        origin = relation.origin
        if isinstance(origin, SelectOrigin):
            types = [
                self._type_of_key(key, origin.scope) if node is None else self.expression_type(node, origin.scope)
                for key, node in zip(relation.keys, origin.expressions, strict=False)
            ]
        elif isinstance(origin, Relation):
            types = self.column_types(origin)[:width]
        elif origin:
            branches = [self.column_types(branch) for branch in origin]
            types = [common_type(parts, self.ctx.dialect.parser) for parts in zip(*branches, strict=False)]
        else:
            types = []
        return types + [None] * (width - len(types))

    def expression_type(self, node: exp.Expr, scope: Scope) -> str | None:
        """The type of an expression's value."""
        while isinstance(node, _AROUND):
            node = node.args["this"]
        if isinstance(node, exp.Column):
            return self.column_type(node, scope)
        if isinstance(node, exp.Cast):
            to = node.args.get("to")
            return to.sql(self.ctx.dialect.parser or None) if isinstance(to, exp.DataType) else None
        if isinstance(node, _PASSING):
            # a window's function, the greatest of a column: the value is one of the column's
            inner = node.args.get("this")
            return self.expression_type(inner, scope) if isinstance(inner, exp.Expr) else None
        if isinstance(node, _SAME_TYPE):
            # sums of whole numbers of one type are the most frequent expressions of all
            one, other = (self.expression_type(node.args[part], scope) for part in ("this", "expression"))
            if one is not None and one == other and one in _WHOLE_NUMBERS:
                return one
        if node.find(exp.Query) is not None:
            return None
        return _shown(self._annotated(node, scope), self.ctx.dialect.parser)

    def _annotated(self, node: exp.Expr, scope: Scope) -> exp.DataType | None:
        for column in node.find_all(exp.Column):
            kind = self.column_type(column, scope)
            parsed = parse_type(kind, self.ctx.dialect.parser) if kind is not None else None
            column._type = parsed if parsed is not None else _UNKNOWN
        if self._annotator is None:
            self._annotator = TypeAnnotator(_schema_of(self.ctx.dialect.parser), overwrite_types=False)
        try:
            self._annotator.annotate(node, annotate_scope=False)
        except (SqlglotError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            # the annotator expects well-formed arguments; without a type nothing is lost but the type
            return None
        annotated: exp.DataType | None = node.type
        return annotated

    def column_type(self, node: exp.Expr, scope: Scope) -> str | None:
        """The type of a column that an expression names."""
        identifier = node.args.get("this")
        if not isinstance(identifier, exp.Identifier):
            return None
        key, table = self.ctx.key_of(identifier), node.args.get("table")
        level: Scope | None = scope
        while level is not None:
            if table is None:
                if any(key in relation.by_key for relation in level.relations):
                    return self._type_of_key(key, level)
            elif (relation := level.names.get(self.ctx.key_of(table))) is not None:
                return next(iter(self._types_in(relation, key)), None)
            level = level.parent
        return None

    def _type_of_key(self, key: str, scope: Scope) -> str | None:
        """The type that all relations of a scope agree on for a name."""
        if len(scope.relations) == 1:
            types = scope.relations[0].types
            if types is not None:
                return types.get(key)
        found = {kind for relation in scope.relations for kind in self._types_in(relation, key)}
        return found.pop() if len(found) == 1 else None

    def _types_in(self, relation: Relation, key: str) -> Iterator[str | None]:
        if relation.types is not None:
            if key in relation.by_key:
                yield relation.types.get(key)
            return
        if key in relation.by_key:
            types = self.column_types(relation)
            if key in relation.keys and key not in relation.repeated:
                yield types[relation.keys.index(key)]
            else:
                yield from (kind for own, kind in zip(relation.keys, types, strict=True) if own == key)


def _shown(kind: exp.DataType | None, parser: str) -> str | None:
    if kind is None or kind.this in (exp.DType.UNKNOWN, exp.DType.NULL):
        return None
    if not kind.expressions or kind.this in exp.DataType.NUMERIC_TYPES:
        # what an engine makes of a decimal's digits in an expression, each decides for itself
        return _plain_name(kind.this, parser)
    return kind.sql(parser or None)


@lru_cache(maxsize=1024)
def _plain_name(kind: exp.DType, parser: str) -> str:
    return str(exp.DataType(this=kind).sql(parser or None))
