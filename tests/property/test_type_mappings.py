"""Every format gives back the type it was given, or the narrowest it has that holds all the values."""

import io
import json
from collections.abc import Callable

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema as IcebergSchema
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from tests.support.schema_strategies import schemas, types
from tests.support.spark_json import spark_json

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


def plain(type_: pa.DataType) -> pa.DataType:
    """An Arrow type without what its writers may choose: the size of offsets, names and nullability inside."""
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(plain(type_.key_type), plain(type_.item_type))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(plain(type_.value_type))
    if pa.types.is_large_string(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return pa.binary()
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, "UTC")
    return type_


@given(type_=types)
def test_duckdb_holds_the_values_of_our_arrow_type(connection: duckdb.DuckDBPyConnection, type_: DataType) -> None:
    """DuckDB itself says which Arrow type its type is: our two mappings must agree with it."""
    expected = storable(type_, duckdb_types.RULES)
    if expected is None:
        return
    connection.execute(f"CREATE OR REPLACE TABLE t (c {duckdb_types.to_duckdb(type_)})")
    assert plain(connection.execute("FROM t").to_arrow_table().schema.field("c").type) == plain(
        arrow.to_arrow(expected)
    )


@given(schemas)
def test_pyspark_reads_our_schema_as_the_same_arrow_types(schema: Schema) -> None:
    expected = stored(schema, spark.RULES)
    if expected is not None:
        theirs = to_arrow_schema(StructType.fromJson(json.loads(spark_json(schema))))
        ours = arrow.to_arrow_schema(expected)
        assert theirs.names == ours.names
        for their, our in zip(theirs, ours, strict=True):
            assert (plain(their.type), their.nullable) == (plain(our.type), our.nullable)


@given(schemas)
def test_pyiceberg_reads_our_schema_as_the_same_arrow_types(schema: Schema) -> None:
    expected = stored(schema, iceberg.RULES)
    if expected is not None:
        theirs = schema_to_pyarrow(IcebergSchema.model_validate(iceberg.to_iceberg_schema(schema)))
        ours = arrow.to_arrow_schema(expected)
        assert theirs.names == ours.names
        for their, our in zip(theirs, ours, strict=True):
            assert (plain(their.type), their.nullable) == (plain(our.type), our.nullable)


@given(types)
def test_spark_ddl_gives_back_what_it_can_hold(type_: DataType) -> None:
    expected = storable(type_, spark.RULES)
    text = there_or_refused(lambda: spark.to_spark(type_, column="c"), expected=expected)
    if text is not None and expected is not None:
        assert spark.from_spark(str(text)) == without_originals(expected)


@given(schemas)
def test_spark_json_gives_back_what_it_can_hold_through_pyspark(schema: Schema) -> None:
    expected = stored(schema, spark.RULES)
    text = there_or_refused(lambda: spark_json(schema), expected=expected)
    if text is not None:
        through_pyspark = StructType.fromJson(json.loads(str(text))).json()
        assert spark.from_spark_json(through_pyspark) == expected


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
