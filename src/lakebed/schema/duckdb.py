"""Our types as DuckDB writes them, and back; and how DuckDB quotes. Text only: DuckDB itself is not imported.

A type that DuckDB lacks becomes the narrowest that holds all its values; what nothing holds raises UnsupportedType.
"""

from uuid import uuid4

from lakebed.errors import UnsupportedType
from lakebed.model import Lacking
from lakebed.schema.types import (
    Binary,
    Boolean,
    Column,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    List,
    Map,
    Null,
    Schema,
    Struct,
    Text,
    Time,
    Timestamp,
    TimeUnit,
)
from lakebed.schema.typetext import TypeText
from lakebed.schema.widen import FormatRules

# TIMESTAMPTZ and TIME count microseconds: there is a TIME_NS, which DuckDB cannot read from Parquet. A column must have
# a type, and a struct a field.
RULES = FormatRules(
    zoned_timestamp_units=("us",),
    time_of_day_units=("us",),
    null_type=False,
    empty_structs=False,
    fixed_binary=False,
)

# How names of our own begin, of columns, tables and aliases: drawn by each process, so that no user has them.
OWN = f"lakebed {uuid4().hex}"

_INTEGERS = {(8, True): "TINYINT", (16, True): "SMALLINT", (32, True): "INTEGER", (64, True): "BIGINT"}
_INTEGERS |= {(bits, False): f"U{name}" for (bits, _), name in list(_INTEGERS.items())}
_TIMESTAMPS: dict[TimeUnit, str] = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}

_BY_WORD: dict[str, DataType] = {
    **{name: Integer(bits, signed) for (bits, signed), name in _INTEGERS.items()},
    "BOOLEAN": Boolean(),
    "BOOL": Boolean(),
    "INT": Integer(32),
    "FLOAT": Float(32),
    "REAL": Float(32),
    "DOUBLE": Float(64),
    # What DuckDB itself makes of it for Arrow.
    "HUGEINT": Decimal(38, 0),
    "VARCHAR": Text(),
    "TEXT": Text(),
    "STRING": Text(),
    # What DuckDB reads and writes as text by itself.
    "UUID": Text(),
    "JSON": Text(),
    "BLOB": Binary(),
    "BYTEA": Binary(),
    "DATE": Date(),
    "TIME": Time("us"),
    "TIME_NS": Time("ns"),
    "DATETIME": Timestamp("us"),
    "TIMESTAMPTZ": Timestamp("us", "UTC"),
    **{name: Timestamp(unit) for unit, name in _TIMESTAMPS.items()},
}


def quote_identifier(name: str) -> str:
    """A name as DuckDB, and standard SQL, write it whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """A string as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def to_duckdb(type_: DataType, *, column: str | None = None) -> str:
    """The type as DuckDB writes it in DDL and casts."""
    match type_:
        case Null():
            return "VARCHAR"
        case Boolean():
            return "BOOLEAN"
        case Integer(bits, signed):
            return _INTEGERS[bits, signed]
        case Float(bits):
            return "FLOAT" if bits == 32 else "DOUBLE"
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Text():
            return "VARCHAR"
        case Binary():
            return "BLOB"
        case Date():
            return "DATE"
        case Time(unit) if unit != "ns":
            return "TIME"
        case Timestamp(unit, None):
            return _TIMESTAMPS[unit]
        case Timestamp(unit, _) if unit != "ns":
            return "TIMESTAMP WITH TIME ZONE"
        case List(element):
            return f"{to_duckdb(element, column=column)}[]"
        case Map(key, value):
            return f"MAP({to_duckdb(key, column=column)}, {to_duckdb(value, column=column)})"
        case Struct(fields) if fields:
            inner = (f"{quote_identifier(field.name)} {to_duckdb(field.type, column=column)}" for field in fields)
            return f"STRUCT({', '.join(inner)})"
        case _:
            raise UnsupportedType(system="DuckDB", type_name=str(type_), column=column)


def to_duckdb_columns(schema: Schema) -> str:
    """The column list of a CREATE TABLE."""
    return ", ".join(_column(column) for column in schema)


def _column(column: Column) -> str:
    required = "" if column.nullable else " NOT NULL"
    return f"{quote_identifier(column.name)} {to_duckdb(column.type, column=column.name)}{required}"


def struct_with_kept_fields(type_: DataType, lacking: Lacking, *, source: str, target: str) -> str:
    """The struct `source` with the fields that it lacks from `target`; NULL only where it is and nothing is kept."""
    if not isinstance(type_, Struct):
        return source
    parts, kept = [], []
    for field in type_.fields:
        name = quote_literal(field.name)
        value, before = f"struct_extract({source}, {name})", f"struct_extract({target}, {name})"
        if field.name in lacking:
            inner = lacking[field.name]
            value = before if inner is None else struct_with_kept_fields(field.type, inner, source=value, target=before)
            kept.append(f"({value}) IS NULL")
        parts.append(f"{name}: {value}")
    nothing = " AND ".join([f"{source} IS NULL", *kept])
    return f"CASE WHEN {nothing} THEN NULL ELSE {{{', '.join(parts)}}} END"


def from_duckdb(text: str, *, column: str | None = None) -> DataType:
    """Our type for what DESCRIBE, `information_schema` or `typeof` print."""
    return TypeText(text, system="DuckDB", column=column).whole(_read)


def _read(cursor: TypeText) -> DataType:
    type_ = _read_one(cursor)
    while cursor.accept("["):
        if not cursor.accept("]"):
            cursor.number()
            cursor.expect("]")
        type_ = List(type_)
    return type_


def _read_one(cursor: TypeText) -> DataType:
    if cursor.accept("TIMESTAMP", "WITH", "TIME", "ZONE"):
        return Timestamp("us", "UTC")
    match word := cursor.word():
        case "DECIMAL" | "NUMERIC":
            return cursor.decimal(Decimal(18, 3))
        case "STRUCT":
            return _read_struct(cursor)
        case "MAP":
            return cursor.map(_read, "(", ")")
        case "ENUM":
            cursor.expect("(")
            cursor.text()
            while cursor.accept(","):
                cursor.text()
            cursor.expect(")")
            return Text()
        case _:
            return cursor.known(word, _BY_WORD)


def _read_struct(cursor: TypeText) -> Struct:
    cursor.expect("(")
    fields = [Column(cursor.name(), _read(cursor))]
    while cursor.accept(","):
        fields.append(Column(cursor.name(), _read(cursor)))
    cursor.expect(")")
    return Struct(tuple(fields))
