"""A projection as data: columns, each with an expression in one small SQL, and how each engine's dialect writes them.

The small SQL is DuckDB's, with three functions of its own, which every dialect has in another form:
`BILL_ENTRY(map, 'key')` is the value or NULL, `BILL_MAP('key', value, ...)` a map of the values that are not NULL, and
`BILL_JSON(map)` the JSON object of a map.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp, parse_one

from lakebed.schema.types import Boolean, DataType, Date, Decimal, Float, Integer, Map, Timestamp

Dialect: TypeAlias = Literal["duckdb", "spark", "trino", "snowflake"]
"""Who is to run the SQL. Athena speaks Trino's."""
DIALECTS: tuple[Dialect, ...] = ("duckdb", "spark", "trino", "snowflake")

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column: its expression over the columns of a relation, and the original names of what it reads."""

    name: str
    type: DataType
    expression: str
    originals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Projection:
    """The columns that are made of one relation, in their order."""

    columns: tuple[OutputColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Those that nothing was found for: they are NULL in every row."""
        return tuple(column.name for column in self.columns if not column.originals)


def write_select(projection: Projection, relation: str, dialect: Dialect, *, where: str | None = None) -> str:
    """`SELECT ... FROM relation`; the relation is written as that dialect writes it, `where` in the small SQL."""
    lines = ",\n".join(f"  {line}" for line in write_columns(projection, dialect))
    condition = "" if where is None else f"\nWHERE {write_expression(where, dialect)}"
    return f"SELECT\n{lines}\nFROM {relation}{condition}"


def write_columns(projection: Projection, dialect: Dialect) -> list[str]:
    """Each column as `expression AS name`."""
    return [
        f"{write_expression(column.expression, dialect)} AS {write_name(column.name, dialect)}"
        for column in projection.columns
    ]


def write_expression(text: str, dialect: Dialect) -> str:
    """An expression of the small SQL in a dialect.

    >>> write_expression('COALESCE("region", BILL_ENTRY("product", \\'region\\'))', "spark")
    "COALESCE(`region`, TRY_ELEMENT_AT(`product`, 'region'))"
    """
    # In brackets, so that what is replaced is never the root.
    tree = exp.Paren(this=parse_one(text, dialect="duckdb"))
    # The innermost first.
    for node in reversed(list(tree.find_all(exp.Anonymous))):
        node.replace(_own_function(node, dialect))
    return str(tree.this.sql(dialect=dialect))


def write_name(name: str, dialect: Dialect) -> str:
    """A name as a statement writes it. Snowflake takes a quoted one letter by letter, so that plain ones stay bare."""
    bare = dialect == "snowflake" and _PLAIN.fullmatch(name)
    return str(exp.to_identifier(name, quoted=not bare).sql(dialect=dialect))


def write_type(type_: DataType) -> str:
    """A type in the small SQL."""
    match type_:
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Timestamp():
            return "TIMESTAMPNTZ"
        case Float():
            return "DOUBLE"
        case Integer():
            return "BIGINT"
        case Boolean():
            return "BOOLEAN"
        case Date():
            return "DATE"
        case Map(key, value):
            return f"MAP({write_type(key)}, {write_type(value)})"
        case _:
            return "TEXT"


def column_text(name: str) -> str:
    """A column of the relation in the small SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal_text(text: str) -> str:
    """A text in the small SQL."""
    return "'" + text.replace("'", "''") + "'"


def cast_text(expression: str, type_: DataType) -> str:
    return f"CAST({expression} AS {write_type(type_)})"


def null_text(type_: DataType) -> str:
    """NULL of this type: a map that nothing is known of is empty."""
    return f"BILL_MAP({write_type_name(type_)})" if isinstance(type_, Map) else cast_text("NULL", type_)


def write_type_name(type_: DataType) -> str:
    """The type as a text, as the first argument of BILL_MAP without entries needs it."""
    return literal_text(write_type(type_))


def _own_function(node: exp.Anonymous, dialect: Dialect) -> exp.Expression:
    match str(node.this).upper():
        case "BILL_ENTRY":
            return _ENTRY[dialect](*node.expressions)
        case "BILL_MAP":
            if len(node.expressions) == 1:
                return _empty_map(str(node.expressions[0].this), dialect)
            return _MAPS[dialect](node.expressions[::2], node.expressions[1::2])
        case "BILL_JSON":
            return _JSON[dialect](node.expressions[0])
    return node


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _snowflake_entry(map_: exp.Expression, key: exp.Expression) -> exp.Expression:
    return exp.cast(_call("GET", map_, key), "VARCHAR")


_ENTRY: dict[Dialect, Callable[[exp.Expression, exp.Expression], exp.Expression]] = {
    # Brackets find nothing quietly in DuckDB only.
    "duckdb": lambda map_, key: exp.Bracket(this=map_, expressions=[key]),
    "spark": lambda map_, key: _call("TRY_ELEMENT_AT", map_, key),
    "trino": lambda map_, key: _call("ELEMENT_AT", map_, key),
    "snowflake": _snowflake_entry,
}
_JSON: dict[Dialect, Callable[[exp.Expression], exp.Expression]] = {
    "duckdb": lambda map_: exp.cast(_call("TO_JSON", map_), "TEXT"),
    "spark": lambda map_: _call("TO_JSON", map_),
    "trino": lambda map_: _call("JSON_FORMAT", exp.cast(map_, "JSON")),
    "snowflake": lambda map_: _call("TO_JSON", map_),
}


def _duckdb_map(keys: Sequence[exp.Expression], values: Sequence[exp.Expression]) -> exp.Expression:
    entries = ", ".join(
        f"{{'k': {key.sql('duckdb')}, 'v': {value.sql('duckdb')}}}" for key, value in zip(keys, values, strict=True)
    )
    present = f"[e FOR e IN [{entries}] IF e.v IS NOT NULL]"
    return _call("MAP_FROM_ENTRIES", exp.maybe_parse(present, dialect="duckdb"))


def _is_present() -> exp.Expression:
    """`(k, v) -> NOT v IS NULL`"""
    value = exp.Not(this=exp.Is(this=exp.column("v"), expression=exp.Null()))
    return exp.Lambda(this=value, expressions=[exp.to_identifier("k"), exp.to_identifier("v")])


def _spark_map(keys: Sequence[exp.Expression], values: Sequence[exp.Expression]) -> exp.Expression:
    pairs = [part for pair in zip(keys, values, strict=True) for part in pair]
    return _call("MAP_FILTER", _call("MAP", *pairs), _is_present())


def _trino_map(keys: Sequence[exp.Expression], values: Sequence[exp.Expression]) -> exp.Expression:
    pairs = exp.Map(keys=exp.Array(expressions=list(keys)), values=exp.Array(expressions=list(values)))
    return _call("MAP_FILTER", pairs, _is_present())


def _snowflake_map(keys: Sequence[exp.Expression], values: Sequence[exp.Expression]) -> exp.Expression:
    # It leaves NULL out by itself.
    return _call("OBJECT_CONSTRUCT", *(part for pair in zip(keys, values, strict=True) for part in pair))


_MAPS: dict[Dialect, Callable[[Sequence[exp.Expression], Sequence[exp.Expression]], exp.Expression]] = {
    "duckdb": _duckdb_map,
    "spark": _spark_map,
    "trino": _trino_map,
    "snowflake": _snowflake_map,
}


def _empty_map(type_: str, dialect: Dialect) -> exp.Expression:
    if dialect == "snowflake":
        return _call("OBJECT_CONSTRUCT")
    return exp.cast(_call("MAP"), exp.DataType.build(type_, dialect="duckdb"))
