"""The rows that a reader wants: values of columns, or a condition in SQL, as an Arrow expression.

A condition means what it means in SQL: a comparison with NULL is no answer, and rows without an answer are left out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from lakebed.errors import ConfigError
from lakebed.schema.types import Column, Float, Integer, Schema, fold
from lakebed.schema.types import Decimal as DecimalType
from lakebed.table.typed_values import typed_value

Where: TypeAlias = str | Mapping[str, object]
"""Rows to read: a condition in SQL, or the values that columns have; None is NULL."""

_COMPARISONS: dict[type[exp.Expr], Callable[..., pc.Expression]] = {
    exp.EQ: eq,
    exp.NEQ: ne,
    exp.GT: gt,
    exp.GTE: ge,
    exp.LT: lt,
    exp.LTE: le,
}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}


class UnknownCondition(ConfigError):
    """A condition that is SQL, and more than is understood here."""


@dataclass(frozen=True)
class Condition:
    """What rows must fulfil, the columns that it asks for, and the values that every such row has in some of them."""

    expression: pc.Expression
    columns: tuple[str, ...]
    equal: Mapping[str, object] = field(default_factory=dict)


def parse_where(where: Where, schema: Schema) -> Condition:
    """The condition for a table of this schema. Raises ConfigError where it is none, or names a column it lacks."""
    if not where or (isinstance(where, str) and not where.strip()):
        raise ConfigError("where is empty", remedy="Leave it out to read all rows.")
    if not isinstance(where, str):
        return _values(where, schema)
    try:
        parsed = sqlglot.parse_one(f"SELECT 1 WHERE {where}", read="spark")
    except SqlglotError as error:
        raise _no_condition(where, str(error).splitlines()[0]) from error
    if not isinstance(parsed, exp.Select) or parsed.args.get("where") is None:
        raise _no_condition(where, "it is more than one query")
    if behind := {name for name, value in parsed.args.items() if value} - {"expressions", "where"}:
        raise _no_condition(where, f"it goes on with {', '.join(sorted(behind))}")
    return _Reader(where, schema).read(parsed.args["where"].this)


def _no_condition(where: str, why: str) -> ConfigError:
    return ConfigError(
        f"where={where!r} is no condition in SQL: {why}",
        remedy="Write it as behind WHERE: \"day = '2026-11-01' AND cost > 0\".",
    )


def _values(values: Mapping[str, object], schema: Schema) -> Condition:
    typed = {(column := _column(schema, name)).name: typed_value(column, given) for name, given in values.items()}
    parts = [pc.field(name).is_null() if one is None else pc.field(name) == one for name, one in typed.items()]
    return Condition(reduce(and_, parts), tuple(typed), typed)


def _column(schema: Schema, name: str) -> Column:
    column = schema.get(name)
    if column is None:
        raise ConfigError(
            f"the table has no column {name} to read by", remedy=f"Columns: {', '.join(schema.names[:20])}."
        )
    return column


class _Reader:
    """Turns a parsed condition into Arrow's, node by node."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._text = text
        self._schema = schema
        self._columns: dict[str, None] = {}

    def read(self, node: exp.Expr) -> Condition:
        expression = self._condition(node)
        return Condition(expression, tuple(self._columns), dict(self._equalities(node)))

    def _equalities(self, node: exp.Expr) -> Iterator[tuple[str, object]]:
        match node:
            case exp.Paren():
                yield from self._equalities(node.this)
            case exp.And():
                yield from self._equalities(node.left)
                yield from self._equalities(node.right)
            case exp.EQ() if isinstance(node.left, exp.Column) and isinstance(node.right, exp.Literal):
                column = self._name(node.left)
                yield column.name, self._value(column, node.right)

    def _condition(self, node: exp.Expr) -> pc.Expression:
        match node:
            case exp.Paren():
                return self._condition(node.this)
            case exp.And():
                return and_(self._condition(node.left), self._condition(node.right))
            case exp.Or():
                return or_(self._condition(node.left), self._condition(node.right))
            case exp.Not():
                return ~self._condition(node.this)
            case exp.Is(expression=exp.Null()) if isinstance(node.this, exp.Column):
                return pc.field(self._name(node.this).name).is_null()
            case exp.In() if isinstance(node.this, exp.Column) and node.expressions:
                column = self._name(node.this)
                same = (pc.field(column.name) == self._value(column, one) for one in node.expressions)
                return reduce(or_, same)
            case exp.Between() if isinstance(node.this, exp.Column):
                column = self._name(node.this)
                low, high = (self._value(column, node.args[end]) for end in ("low", "high"))
                return and_(pc.field(column.name) >= low, pc.field(column.name) <= high)
            case exp.Column():
                return pc.field(self._name(node).name)
            case exp.Boolean():
                return pc.scalar(bool(node.this))
        if type(node) in _COMPARISONS:
            return self._comparison(node)
        raise self._unknown(node)

    def _comparison(self, node: exp.Expr) -> pc.Expression:
        kind: type[exp.Expr] = type(node)
        left, right = node.this, node.expression
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            kind, left, right = _TURNED.get(kind, kind), right, left
        if not isinstance(left, exp.Column):
            raise self._unknown(node)
        column = self._name(left)
        other = pc.field(self._name(right).name) if isinstance(right, exp.Column) else self._value(column, right)
        return _COMPARISONS[kind](pc.field(column.name), other)

    def _name(self, node: exp.Column) -> Column:
        name = ".".join(part.name for part in node.parts)
        column = _column(self._schema, name)
        self._columns.setdefault(column.name)
        return column

    def _value(self, column: Column, node: exp.Expr) -> object:
        sign = ""
        if isinstance(node, exp.Neg):
            sign, node = "-", node.this
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
            # DATE '2026-11-01' and TIMESTAMP '...': the column's own type decides.
            node = node.this
        if isinstance(node, exp.Boolean):
            return typed_value(column, bool(node.this))
        if not isinstance(node, exp.Literal):
            raise self._unknown(node)
        if node.is_string:
            return typed_value(column, node.this)
        number = Decimal(sign + node.this)
        if isinstance(column.type, Float):
            return float(number)
        if isinstance(column.type, Integer | DecimalType):
            # A number between two that the column can hold is still one to compare with.
            return pa.scalar(number)
        return typed_value(column, sign + node.this)

    def _unknown(self, node: exp.Expr) -> UnknownCondition:
        return UnknownCondition(
            f"where={self._text!r}: {node.sql('spark')} is not understood here",
            remedy="Compare columns with values (=, <>, <, <=, >, >=, IN, BETWEEN, IS NULL), joined by AND, OR, NOT, "
            "or read with spark=, which takes any condition of Spark's.",
        )


def excludes(condition: Condition, partition: Mapping[str, str | None]) -> bool:
    """Whether no row of a partition can fulfil the condition. Partitions are known as text."""
    here = {fold(name): value for name, value in partition.items()}
    return any(
        fold(name) in here and here[fold(name)] != value
        for name, value in condition.equal.items()
        if isinstance(value, str | None)
    )
