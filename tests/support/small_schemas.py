"""Schemas in a few words, and the policy that keeps both sides of a conflict."""

from lakebed.schema.evolve import Policy
from lakebed.schema.types import Column, DataType, Integer, Schema, Struct, Text

INT, LONG, TEXT = Integer(32), Integer(64), Text()
VARIANT = Policy(on_conflict="variant")


def schema(**columns: DataType) -> Schema:
    return Schema.of(Column(name, type_) for name, type_ in columns.items())


def struct(**columns: DataType) -> Struct:
    return Struct(schema(**columns).columns)
