"""Our types as Spark's DDL writes them, and back from DDL and JSON. Text only: PySpark is not imported.

A type that Spark lacks becomes the narrowest that holds all its values (`uint8` is `smallint`, milliseconds are
microseconds); one that nothing holds raises UnsupportedType.
"""

import json
from collections.abc import Mapping

from lakebed.errors import UnsupportedType
from lakebed.schema.originals import read_originals
from lakebed.schema.types import (
    ORIGINAL_KEY,
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
    Timestamp,
)
from lakebed.schema.typetext import TypeText
from lakebed.schema.widen import FormatRules, storable

RULES = FormatRules(unsigned_integers=False, nanoseconds=False, coarsest_time_unit="us", time_of_day_units=())

_INTEGERS = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}
# JSON has names of its own for them.
_JSON_INTEGERS = {8: "byte", 16: "short", 32: "integer", 64: "long"}

_BY_WORD: dict[str, DataType] = {
    **{name.upper(): Integer(bits) for names in (_INTEGERS, _JSON_INTEGERS) for bits, name in names.items()},
    "BOOLEAN": Boolean(),
    "FLOAT": Float(32),
    "REAL": Float(32),
    "DOUBLE": Float(64),
    "STRING": Text(),
    "BINARY": Binary(),
    "DATE": Date(),
    "TIMESTAMP": Timestamp("us", "UTC"),
    "TIMESTAMP_LTZ": Timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": Timestamp("us"),
    "VOID": Null(),
    "NULL": Null(),
}


def quote_identifier(name: str) -> str:
    """A name as Spark SQL writes it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def to_spark(type_: DataType, *, column: str | None = None) -> str:
    """The type as Spark's DDL writes it."""
    match _stored(type_, column):
        case List(element):
            return f"array<{to_spark(element, column=column)}>"
        case Map(key, value):
            return f"map<{to_spark(key, column=column)},{to_spark(value, column=column)}>"
        case Struct(fields):
            inner = (
                f"{quote_identifier(field.name)}:{to_spark(field.type, column=column)}"
                f"{'' if field.nullable else ' NOT NULL'}"
                for field in fields
            )
            return f"struct<{','.join(inner)}>"
        case scalar:
            return _scalar(scalar, column)


def to_spark_ddl(schema: Schema) -> str:
    """The schema as `spark.createDataFrame`, `mapInArrow` and CREATE TABLE take it."""
    return ", ".join(
        f"{quote_identifier(column.name)} {to_spark(column.type, column=column.name)}"
        f"{'' if column.nullable else ' NOT NULL'}"
        for column in schema
    )


def from_spark(text: str, *, column: str | None = None) -> DataType:
    """Our type for a type in Spark's DDL, such as `simpleString()` and DESCRIBE print.

    They do not quote the names of fields: where a name is not plain, only `schema.json()` can be read back.
    """
    return TypeText(text, system="Spark", column=column).whole(_read)


def from_spark_ddl(text: str) -> Schema:
    """The schema of a column list in Spark's DDL, such as `StructType.toDDL()` prints."""
    cursor = TypeText(text, system="Spark", column=None)
    columns: list[Column] = []
    while not cursor.at_end():
        if columns:
            cursor.expect(",")
        columns.append(_read_field(cursor))
    return Schema.of(columns)


def from_spark_json(text: str) -> Schema:
    """The schema that `DataFrame.schema.json()` prints."""
    return Schema(_fields_from_json(json.loads(text), ""))


def _stored(type_: DataType, column: str | None) -> DataType:
    stored = storable(type_, RULES)
    if stored is None:
        raise UnsupportedType(system="Spark", type_name=str(type_), column=column)
    return stored


def _scalar(type_: DataType, column: str | None) -> str:
    match type_:
        case Null():
            return "void"
        case Boolean():
            return "boolean"
        case Integer(bits):
            return _INTEGERS[bits]
        case Float(bits):
            return "float" if bits == 32 else "double"
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Text():
            return "string"
        case Binary():
            return "binary"
        case Date():
            return "date"
        case Timestamp(_, zone):
            return "timestamp" if zone else "timestamp_ntz"
        case _:
            raise UnsupportedType(system="Spark", type_name=str(type_), column=column)


def _read(cursor: TypeText) -> DataType:
    match word := cursor.word():
        case "DECIMAL" | "DEC" | "NUMERIC":
            return cursor.decimal(Decimal(10, 0))
        case "VARCHAR" | "CHAR" | "CHARACTER":
            cursor.expect("(")
            cursor.number()
            cursor.expect(")")
            return Text()
        case "ARRAY":
            cursor.expect("<")
            element = _read(cursor)
            cursor.expect(">")
            return List(element)
        case "MAP":
            return cursor.map(_read, "<", ">")
        case "STRUCT":
            return _read_struct(cursor)
        case _:
            return cursor.known(word, _BY_WORD)


def _read_struct(cursor: TypeText) -> Struct:
    cursor.expect("<")
    fields: list[Column] = []
    while not cursor.accept(">"):
        if fields:
            cursor.expect(",")
        fields.append(_read_field(cursor))
    return Struct(tuple(fields))


def _read_field(cursor: TypeText) -> Column:
    name = cursor.name()
    cursor.accept(":")
    type_ = _read(cursor)
    nullable = not cursor.accept("NOT", "NULL")
    if cursor.accept("COMMENT"):
        cursor.text()
    return Column(name, type_, nullable=nullable)


def _fields_from_json(struct: object, within: str) -> tuple[Column, ...]:
    fields = struct.get("fields") if isinstance(struct, Mapping) else None
    if not isinstance(fields, list):
        raise UnsupportedType(system="Spark", type_name=json.dumps(struct), column=within or None)
    return tuple(_field_from_json(field, within) for field in fields)


def _field_from_json(field: Mapping[str, object], within: str) -> Column:
    name = str(field["name"])
    path = f"{within}.{name}" if within else name
    metadata = field.get("metadata")
    text = metadata.get(ORIGINAL_KEY) if isinstance(metadata, Mapping) else None
    original, aliases = read_originals(None if text is None else str(text))
    return Column(
        name,
        _type_from_json(field["type"], path),
        nullable=bool(field.get("nullable", True)),
        original=original,
        aliases=aliases,
    )


def _type_from_json(value: object, column: str) -> DataType:
    match value:
        case str():
            return from_spark(value, column=column)
        case {"type": "array", "elementType": element}:
            return List(_type_from_json(element, column))
        case {"type": "map", "keyType": key, "valueType": item}:
            return Map(_type_from_json(key, column), _type_from_json(item, column))
        case {"type": "struct"}:
            return Struct(_fields_from_json(value, column))
        case _:
            raise UnsupportedType(system="Spark", type_name=json.dumps(value), column=column)
