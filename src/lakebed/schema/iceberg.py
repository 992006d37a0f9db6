"""Our types as the Iceberg table format writes them in JSON, and back. Plain values: PyIceberg is not imported.

A type that Iceberg lacks becomes the narrowest that holds all its values; what nothing holds raises UnsupportedType.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from lakebed.errors import UnsupportedType
from lakebed.schema.originals import originals_text, read_originals
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
    Schema,
    Struct,
    Text,
    Time,
    Timestamp,
)
from lakebed.schema.widen import FormatRules, storable

# Format version 2, which every reader has: no nanoseconds, and no promotion but int to long, float to double and more
# digits of a decimal.
RULES = FormatRules(
    decimal_scale_may_grow=False,
    integer_to_decimal=False,
    integer_to_float=False,
    date_to_timestamp=False,
    unsigned_integers=False,
    small_integers=False,
    nanoseconds=False,
    coarsest_time_unit="us",
    null_type=False,
    empty_structs=False,
    fixed_binary_may_grow=False,
    map_keys_may_grow=False,
)

_BY_NAME: dict[str, DataType] = {
    "boolean": Boolean(),
    "int": Integer(32),
    "long": Integer(64),
    "float": Float(32),
    "double": Float(64),
    "string": Text(),
    "binary": Binary(),
    "date": Date(),
    "time": Time("us"),
    "timestamp": Timestamp("us"),
    "timestamptz": Timestamp("us", "UTC"),
    # Version 3 of the format.
    "timestamp_ns": Timestamp("ns"),
    "timestamptz_ns": Timestamp("ns", "UTC"),
}
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def to_iceberg_schema(schema: Schema, *, ids: Iterator[int] | None = None) -> dict[str, object]:
    """The schema as table metadata holds it; the original names are the fields' `doc`, and ids count from 1."""
    return {"type": "struct", "fields": _fields(schema.columns, ids or count(1), None)}


def to_iceberg(type_: DataType, *, ids: Iterator[int] | None = None, column: str | None = None) -> object:
    """The type as JSON values: a string, or an object where something is nested, which takes field ids from `ids`."""
    stored = storable(type_, RULES)
    if stored is None:
        raise UnsupportedType(system="Iceberg", type_name=str(type_), column=column)
    numbers = ids or count(1)
    match stored:
        case List(element):
            return {
                "type": "list",
                "element-id": next(numbers),
                "element": to_iceberg(element, ids=numbers, column=column),
                "element-required": False,
            }
        case Map(key, value):
            return {
                "type": "map",
                "key-id": next(numbers),
                "key": to_iceberg(key, ids=numbers, column=column),
                "value-id": next(numbers),
                "value": to_iceberg(value, ids=numbers, column=column),
                "value-required": False,
            }
        case Struct(fields):
            return {"type": "struct", "fields": _fields(fields, numbers, column)}
        case scalar:
            return _scalar(scalar, column)


def from_iceberg_schema(schema: Mapping[str, object]) -> Schema:
    """Our schema for one of table metadata's, such as PyIceberg's `schema.model_dump()` gives."""
    return Schema(_columns(schema.get("fields"), ""))


def from_iceberg(value: object, *, column: str | None = None) -> DataType:
    """Our type for a type of table metadata: its text or its JSON object."""
    match value:
        case str() if value in _BY_NAME:
            return _BY_NAME[value]
        case str() if found := _DECIMAL.fullmatch(value):
            return Decimal(int(found[1]), int(found[2]))
        case str() if found := _FIXED.fullmatch(value):
            return Binary(int(found[1]))
        case {"type": "list", "element": element}:
            return List(from_iceberg(element, column=column))
        case {"type": "map", "key": key, "value": item}:
            return Map(from_iceberg(key, column=column), from_iceberg(item, column=column))
        case {"type": "struct", "fields": fields}:
            return Struct(_columns(fields, column or ""))
        case _:
            raise UnsupportedType(system="Iceberg", type_name=str(value), column=column)


def _fields(columns: Sequence[Column], ids: Iterator[int], within: str | None) -> list[dict[str, object]]:
    # Iceberg numbers the fields of one level before what lies inside them.
    numbered = [(next(ids), column) for column in columns]
    fields = []
    for number, column in numbered:
        path = f"{within}.{column.name}" if within else column.name
        field: dict[str, object] = {
            "id": number,
            "name": column.name,
            "required": not column.nullable,
            "type": to_iceberg(column.type, ids=ids, column=path),
        }
        if (text := originals_text(column)) is not None:
            field["doc"] = text
        fields.append(field)
    return fields


def _scalar(type_: DataType, column: str | None) -> str:
    match type_:
        case Decimal(precision, scale):
            return f"decimal({precision}, {scale})"
        case Timestamp(_, zone):
            return "timestamptz" if zone else "timestamp"
        case Binary(int(width)):
            return f"fixed[{width}]"
        case _:
            for name, known in _BY_NAME.items():
                if known == type_:
                    return name
            raise UnsupportedType(system="Iceberg", type_name=str(type_), column=column)


def _columns(fields: object, within: str) -> tuple[Column, ...]:
    if not isinstance(fields, list | tuple):
        raise UnsupportedType(system="Iceberg", type_name=str(fields), column=within or None)
    return tuple(_column(field, within) for field in fields)


def _column(field: Mapping[str, object], within: str) -> Column:
    name = str(field["name"])
    path = f"{within}.{name}" if within else name
    doc = field.get("doc")
    original, aliases = read_originals(None if doc is None else str(doc))
    return Column(
        name,
        from_iceberg(field["type"], column=path),
        nullable=not field.get("required", False),
        original=original,
        aliases=aliases,
    )
