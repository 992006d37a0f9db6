"""A schema as `StructType.json()` prints it, for tests of what reads that."""

import json

from lakebed.schema.spark import ORIGINAL_KEY, RULES, to_spark
from lakebed.schema.types import Column, DataType, List, Map, Schema, Struct
from lakebed.schema.widen import storable

# What JSON calls the types that DDL writes otherwise.
JSON_NAMES = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}


def spark_json(schema: Schema) -> str:
    return json.dumps(_struct_json(schema.columns, None))


def _struct_json(fields: tuple[Column, ...], column: str | None) -> dict[str, object]:
    return {
        "type": "struct",
        "fields": [
            {
                "name": field.name,
                "type": _type_json(field.type, column or field.name),
                "nullable": field.nullable,
                "metadata": {} if field.original is None else {ORIGINAL_KEY: field.original},
            }
            for field in fields
        ],
    }


def _type_json(type_: DataType, column: str) -> object:
    match storable(type_, RULES) or type_:
        case List(element):
            return {"type": "array", "elementType": _type_json(element, column), "containsNull": True}
        case Map(key, value):
            return {
                "type": "map",
                "keyType": _type_json(key, column),
                "valueType": _type_json(value, column),
                "valueContainsNull": True,
            }
        case Struct(fields):
            return _struct_json(fields, column)
        case scalar:
            text = to_spark(scalar, column=column)
            return JSON_NAMES.get(text, text)
