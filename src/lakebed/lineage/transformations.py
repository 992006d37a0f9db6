"""How a column's value is made of its sources: passed on, computed or aggregated, and whether it can still be read.

The words are OpenLineage's. Only asked for by those who export them: it looks at every expression a second time.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.relations import Ref, Relation
from lakebed.lineage.scope import Scope
from lakebed.lineage.type_inference import SelectOrigin

Subtype = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION"]
_RANK: dict[Subtype, int] = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}

# What cannot be read back: hashes, encryption, masks, and counts.
_MASKING_CLASSES = (
    "MD5 MD5Digest SHA SHA1Digest SHA2 SHA2Digest FarmFingerprint StandardHash Count CountIf ApproxDistinct Encrypt"
)
_MASKING_NAMES = re.compile(
    r"md5|sha\d|hash|mask|crc32|murmur|digest|hmac|encrypt|tokenize|redact|fingerprint|anonymize|pseudonymize"
)
# sqlglot has not had all of them in every version
_MASKING = tuple(getattr(exp, name) for name in _MASKING_CLASSES.split() if hasattr(exp, name))
_MAX_DEPTH = 60

# (table, column, path) of a source
SourceKey = tuple[str, str, tuple[str, ...]]


class Transformation(NamedTuple):
    """How one source becomes part of one column."""

    subtype: Subtype
    masking: bool = False

    def then(self, outer: "Transformation") -> "Transformation":
        """What becomes of the source when its column is used in an expression."""
        return Transformation(_stronger(self.subtype, outer.subtype), self.masking or outer.masking)


_IDENTITY = Transformation("IDENTITY")
_TRANSFORMATION = Transformation("TRANSFORMATION")

# target column -> source -> how it gets there
Transformations = Mapping[str, Mapping[SourceKey, Transformation]]


def _stronger(one: Subtype, other: Subtype) -> Subtype:
    return one if _RANK[one] >= _RANK[other] else other


@dataclass(slots=True)
class ExplainedParts:
    """What a statement writes, and the expressions that it is made of."""

    rows: list[tuple[list[str], Relation]] = field(default_factory=list)
    values: list[tuple[str, exp.Expr, Scope]] = field(default_factory=list)


def explain(parts: ExplainedParts, ctx: Context) -> Transformations:
    """How the columns that a statement writes come from their sources."""
    trace = _Trace(ctx)
    found: dict[str, dict[SourceKey, Transformation]] = {}
    for names, relation in parts.rows:
        for place, name in enumerate(names[: len(relation.refs)]):
            _add(found.setdefault(name, {}), trace.column(relation, place))
    for name, node, scope in parts.values:
        _add(found.setdefault(name, {}), trace.expression(node, scope))
    return found


def _add(found: dict[SourceKey, Transformation], more: Mapping[SourceKey, Transformation]) -> None:
    for key, how in more.items():
        known = found.get(key)
        # a value that arrives unmasked on one way can be read
        masking = how.masking and (known is None or known.masking)
        found[key] = Transformation(_stronger(how.subtype, known.subtype) if known else how.subtype, masking)


class _Trace:
    """One statement's columns, each looked at once."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._known: dict[tuple[int, int], Mapping[SourceKey, Transformation]] = {}
        self._depth = 0

    def column(self, relation: Relation, place: int) -> Mapping[SourceKey, Transformation]:
        key = (id(relation), place)
        if key in self._known:
            return self._known[key]
        self._known[key] = {}
        self._depth += 1
        try:
            found = self._column(relation, place) if self._depth < _MAX_DEPTH else {}
        finally:
            self._depth -= 1
        self._known[key] = found
        return found

    def _column(self, relation: Relation, place: int) -> Mapping[SourceKey, Transformation]:
        origin = relation.origin
        if relation.table is not None:
            return dict.fromkeys(_sources(relation.refs[place]), _IDENTITY)
        if isinstance(origin, SelectOrigin):
            node = origin.expressions[place] if place < len(origin.expressions) else None
            if node is not None:
                return self.expression(node, origin.scope)
            return self._merged(self._named(relation.keys[place], None, origin.scope))
        if isinstance(origin, Relation):
            return self.column(origin, place) if place < len(origin.refs) else {}
        if origin:
            return self._merged((branch, place) for branch in origin if place < len(branch.refs))
        # a table function, a pivot: what comes out was computed
        return dict.fromkeys(_sources(relation.refs[place]), _TRANSFORMATION)

    def _merged(self, columns: Iterator[tuple[Relation, int]]) -> Mapping[SourceKey, Transformation]:
        found: dict[SourceKey, Transformation] = {}
        for relation, place in columns:
            _add(found, self.column(relation, place))
        return found

    def expression(self, root: exp.Expr, scope: Scope) -> Mapping[SourceKey, Transformation]:
        """The sources of an expression, and what it does to them."""
        found: dict[SourceKey, Transformation] = {}
        stack: list[tuple[exp.Expr, Transformation]] = [(root, _IDENTITY)]
        while stack:
            node, outer = stack.pop()
            if isinstance(node, exp.Column):
                identifier, table = node.args.get("this"), node.args.get("table")
                if isinstance(identifier, exp.Identifier):
                    columns = self._named(self._ctx.key_of(identifier), table, scope)
                    _add(found, {key: how.then(outer) for key, how in self._merged(columns).items()})
                continue
            if isinstance(node, exp.Query):
                continue
            if not isinstance(node, exp.Alias | exp.Paren | exp.Window | exp.Dot):
                outer = outer.then(_step(node))
            stack.extend((child, outer) for child in _value_children(node))
        return found

    def _named(self, key: str, table: exp.Expr | None, scope: Scope) -> Iterator[tuple[Relation, int]]:
        """The columns that a name means in the nearest scope that has it."""
        level: Scope | None = scope
        while level is not None:
            relations = level.relations
            if table is not None:
                named = level.names.get(self._ctx.key_of(table))
                relations = [named] if named is not None else []
            having = [relation for relation in relations if key in relation.by_key]
            if having:
                for relation in having:
                    yield from ((relation, place) for place, own in enumerate(relation.keys) if own == key)
                return
            level = level.parent


def _sources(refs: tuple[Ref, ...]) -> Iterator[SourceKey]:
    for table, column, path, *_ in refs:
        yield table, column, path


def _value_children(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Window):
        # what it is partitioned and ordered by is no value
        yield node.args["this"]
    else:
        yield from node.iter_expressions()


def _step(node: exp.Expr) -> Transformation:
    """What one function or operator does to its arguments."""
    masking = isinstance(node, _MASKING) or (
        isinstance(node, exp.Anonymous) and _MASKING_NAMES.search(node.name.lower()) is not None
    )
    return Transformation("AGGREGATION" if isinstance(node, exp.AggFunc) else "TRANSFORMATION", masking)
