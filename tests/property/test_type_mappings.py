"""Every format gives back the type it was given, or the narrowest it has that holds all the values."""

import io
from collections.abc import Callable

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from pyiceberg.schema import Schema as IcebergSchema
from tests.support.schema_strategies import schemas, types

from lakebed.errors import UnsupportedType
from lakebed.schema import arrow, iceberg, spark
from lakebed.schema import duckdb as duckdb_types
from lakebed.schema.types import Column, DataType, List, Map, Schema, Struct
from lakebed.schema.widen import FormatRules, storable, widen


def bare(type_: DataType) -> DataType:
    """The type without what SQL text cannot carry: originals, and required fields."""
    match type_:
        case Struct(fields):
            return Struct(tuple(Column(field.name, bare(field.type)) for field in fields))
        case List(element):
            return List(bare(element))
        case Map(key, value):
            return Map(bare(key), bare(value))
        case _:
            return type_


def without_originals(type_: DataType) -> DataType:
    match type_:
        case Struct(fields):
            return Struct(tuple(Column(field.name, without_originals(field.type), field.nullable) for field in fields))
        case List(element):
            return List(without_originals(element))
        case Map(key, value):
            return Map(without_originals(key), without_originals(value))
        case _:
            return type_


def stored(schema: Schema, rules: FormatRules) -> Schema | None:
    columns = [(column, storable(column.type, rules)) for column in schema]
    if any(type_ is None for _, type_ in columns):
        return None
    return Schema.of(
        Column(column.name, type_, column.nullable, column.original) for column, type_ in columns if type_ is not None
    )


def there_or_refused(write: Callable[[], object], *, expected: object) -> object | None:
    """What was written, or None where the format has nothing for it, which must then raise."""
    if expected is None:
        with pytest.raises(UnsupportedType):
            write()
        return None
    return write()


@given(schemas)
def test_arrow_gives_back_every_schema(schema: Schema) -> None:
    assert arrow.from_arrow_schema(arrow.to_arrow_schema(schema)) == schema


@given(types)
def test_duckdb_gives_back_what_it_can_hold(type_: DataType) -> None:
    expected = storable(type_, duckdb_types.RULES)
    text = there_or_refused(lambda: duckdb_types.to_duckdb(type_, column="c"), expected=expected)
    if text is not None and expected is not None:
        assert duckdb_types.from_duckdb(str(text)) == bare(expected)


@given(type_=types)
def test_duckdb_itself_describes_the_type_as_we_read_it(connection: duckdb.DuckDBPyConnection, type_: DataType) -> None:
    expected = storable(type_, duckdb_types.RULES)
    if expected is None:
        return
    connection.execute(f"CREATE OR REPLACE TABLE t (c {duckdb_types.to_duckdb(type_)})")
    described = connection.execute("DESCRIBE t").fetchall()[0][1]
    assert duckdb_types.from_duckdb(described) == bare(expected)


@given(types)
def test_spark_ddl_gives_back_what_it_can_hold(type_: DataType) -> None:
    expected = storable(type_, spark.RULES)
    text = there_or_refused(lambda: spark.to_spark(type_, column="c"), expected=expected)
    if text is not None and expected is not None:
        assert spark.from_spark(str(text)) == without_originals(expected)


@given(schemas)
def test_iceberg_gives_back_what_it_can_hold_through_pyiceberg(schema: Schema) -> None:
    expected = stored(schema, iceberg.RULES)
    metadata = there_or_refused(lambda: iceberg.to_iceberg_schema(schema), expected=expected)
    if isinstance(metadata, dict):
        assert iceberg.from_iceberg_schema(metadata) == expected
        through_pyiceberg = IcebergSchema.model_validate(metadata).model_dump(by_alias=True)
        assert iceberg.from_iceberg_schema(through_pyiceberg) == expected


@given(types)
@pytest.mark.parametrize("rules", [duckdb_types.RULES, spark.RULES, iceberg.RULES])
def test_what_a_format_stores_instead_holds_every_value(rules: FormatRules, type_: DataType) -> None:
    replacement = storable(type_, rules)
    if replacement is not None:
        assert widen(replacement, type_) == replacement
        assert storable(replacement, rules) == replacement


@given(schemas)
def test_the_arrow_schema_survives_a_parquet_file(schema: Schema) -> None:
    buffer = io.BytesIO()
    pq.write_table(arrow.to_arrow_schema(schema).empty_table(), buffer)
    read = arrow.from_arrow_schema(pq.read_schema(pa.BufferReader(buffer.getvalue())))
    assert read == stored(schema, FormatRules(coarsest_time_unit="ms"))
