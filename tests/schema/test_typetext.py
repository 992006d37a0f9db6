"""The texts in which DuckDB, Spark and Iceberg write types, as they really write them."""

import json

import duckdb
import pytest
from tests.support.spark_json import spark_json

from lakebed.errors import UnsupportedType
from lakebed.schema.duckdb import from_duckdb, quote_identifier, quote_literal, to_duckdb, to_duckdb_columns
from lakebed.schema.iceberg import from_iceberg, from_iceberg_schema, to_iceberg_schema
from lakebed.schema.spark import from_spark, from_spark_ddl, from_spark_json, to_spark, to_spark_ddl
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
)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("VARCHAR", Text()),
        ("DECIMAL(18,2)", Decimal(18, 2)),
        ("DECIMAL", Decimal(18, 3)),
        ("HUGEINT", Decimal(38, 0)),
        ("UUID", Text()),
        ("JSON", Text()),
        ("ENUM('a', 'b''c')", Text()),
        ("TIMESTAMP", Timestamp("us")),
        ("TIMESTAMP_NS", Timestamp("ns")),
        ("TIMESTAMP WITH TIME ZONE", Timestamp("us", "UTC")),
        ("TIME_NS", Time("ns")),
        ("INTEGER[3]", List(Integer(32))),
        ("UTINYINT[][]", List(List(Integer(8, signed=False)))),
        ("MAP(VARCHAR, DOUBLE[])", Map(Text(), List(Float(64)))),
        (
            'STRUCT(a INTEGER, "b ""c" STRUCT("map" BLOB)[])',
            Struct((Column("a", Integer(32)), Column('b "c', List(Struct((Column("map", Binary()),)))))),
        ),
    ],
)
def test_duckdb_prints_and_we_read(text: str, ours: DataType) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (c {text})")
        described = connection.execute("SELECT data_type FROM information_schema.columns").fetchall()[0][0]
    assert from_duckdb(text) == ours
    assert from_duckdb(described) == ours


@pytest.mark.parametrize(
    "text",
    ["INTERVAL", "BIT", "UNION(a INTEGER)", "DECIMAL(", "DECIMAL(x)", "DECIMAL(18,'2')", "STRUCT(", "STRUCT(1 INTEGER)",
     "INTEGER]", "INTEGER INTEGER", "(INTEGER)", "1", "", "a?"],
)  # fmt: skip
def test_what_duckdb_has_and_we_have_not_is_refused_by_column(text: str) -> None:
    with pytest.raises(UnsupportedType) as refused:
        from_duckdb(text, column="c")
    assert (refused.value.column, refused.value.system, refused.value.type_name) == ("c", "DuckDB", text)


def test_duckdb_creates_a_table_from_our_column_list() -> None:
    schema = Schema.of([Column('we"ird', Decimal(38, 18), nullable=False), Column("m", Map(Text(), Text()))])
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({to_duckdb_columns(schema)})")
        described = connection.execute("DESCRIBE t").fetchall()
    assert [(name, from_duckdb(type_), null == "YES") for name, type_, null, *_ in described] == [
        (column.name, column.type, column.nullable) for column in schema
    ]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Integer(8), "TINYINT"),
        (Integer(16), "SMALLINT"),
        (Integer(32), "INTEGER"),
        (Integer(64), "BIGINT"),
        (Integer(8, signed=False), "UTINYINT"),
        (Integer(16, signed=False), "USMALLINT"),
        (Integer(32, signed=False), "UINTEGER"),
        (Integer(64, signed=False), "UBIGINT"),
    ],
)
def test_integers_are_of_their_own_size_in_duckdb(type_: Integer, text: str) -> None:
    assert to_duckdb(type_) == text
    assert from_duckdb(text) == type_


def test_quoting() -> None:
    assert quote_identifier('a"b') == '"a""b"'
    assert quote_literal("it's") == "'it''s'"


def test_a_moment_that_duckdb_cannot_hold_is_refused() -> None:
    with pytest.raises(UnsupportedType, match="column t"):
        to_duckdb(Timestamp("ns", "UTC"), column="t")


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("bigint", Integer(64)),
        ("long", Integer(64)),
        ("decimal(38,18)", Decimal(38, 18)),
        ("varchar(10)", Text()),
        ("timestamp", Timestamp("us", "UTC")),
        ("timestamp_ntz", Timestamp("us")),
        ("void", Null()),
        (
            "array<struct<a:int,b:map<string,boolean>>>",
            List(Struct((Column("a", Integer(32)), Column("b", Map(Text(), Boolean()))))),
        ),
        (
            "STRUCT<`a b`: DATE NOT NULL COMMENT 'it\\'s', c: BINARY>",
            Struct((Column("a b", Date(), nullable=False), Column("c", Binary()))),
        ),
    ],
)
def test_spark_prints_and_we_read(text: str, ours: DataType) -> None:
    assert from_spark(text) == ours


def test_spark_schemas_travel_as_ddl() -> None:
    schema = Schema.of(
        [
            Column("id", Integer(64), nullable=False),
            Column("back`tick", Struct((Column("x", Decimal(10, 2), nullable=False),))),
            Column("cost", Decimal(38, 18), original="lineItem/UnblendedCost"),
        ]
    )
    ddl = to_spark_ddl(schema)
    assert ddl == "`id` bigint NOT NULL, `back``tick` struct<`x`:decimal(10,2) NOT NULL>, `cost` decimal(38,18)"
    assert from_spark_ddl(ddl).names == schema.names
    assert from_spark_json(spark_json(schema)) == schema


def test_spark_takes_the_narrowest_type_that_holds_the_values() -> None:
    assert to_spark(Integer(8, signed=False)) == "smallint"
    assert to_spark(Integer(64, signed=False)) == "decimal(20,0)"
    assert to_spark(Timestamp("ms")) == "timestamp_ntz"


@pytest.mark.parametrize("type_", [Timestamp("ns"), Time("us")])
def test_what_spark_cannot_hold_is_refused_by_column(type_: DataType) -> None:
    with pytest.raises(UnsupportedType, match="column t"):
        to_spark(List(type_), column="t")


@pytest.mark.parametrize(
    "text",
    ["interval day", "variant", json.dumps({"type": "udt"}), "decimal(a)", "struct<1:int>", "struct<a:int COMMENT b>"],
)
def test_what_spark_has_and_we_have_not_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedType):
        from_spark(text)


def test_iceberg_metadata_has_ids_level_by_level_and_the_original_as_doc() -> None:
    schema = Schema.of(
        [
            Column("l", List(Struct((Column("x", Integer(32)),)))),
            Column("m", Map(Text(), Decimal(38, 18)), nullable=False, original="product"),
        ]
    )
    metadata = to_iceberg_schema(schema)
    assert metadata == {
        "type": "struct",
        "fields": [
            {
                "id": 1,
                "name": "l",
                "required": False,
                "type": {
                    "type": "list",
                    "element-id": 3,
                    "element": {"type": "struct", "fields": [{"id": 4, "name": "x", "required": False, "type": "int"}]},
                    "element-required": False,
                },
            },
            {
                "id": 2,
                "name": "m",
                "required": True,
                "type": {
                    "type": "map",
                    "key-id": 5,
                    "key": "string",
                    "value-id": 6,
                    "value": "decimal(38, 18)",
                    "value-required": False,
                },
                "doc": "product",
            },
        ],
    }
    assert from_iceberg_schema(metadata) == schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "struct"},
        {"type": "struct", "fields": {"name": "a"}},
        [],
        "string",
        {"type": "struct", "fields": [{"name": "a", "type": {"type": "struct", "fields": None}, "nullable": True}]},
        {"type": "struct", "fields": [{"name": "a", "type": {"type": "new"}, "nullable": True}]},
    ],
)
def test_json_that_spark_does_not_write_is_refused(schema: object) -> None:
    with pytest.raises(UnsupportedType):
        from_spark_json(json.dumps(schema))


@pytest.mark.parametrize("type_", ["uuid", "fixed[]", "variant", {"type": "list"}, 3])
def test_what_iceberg_has_and_we_have_not_is_refused_by_column(type_: object) -> None:
    with pytest.raises(UnsupportedType) as refused:
        from_iceberg(type_, column="c")
    assert refused.value.column == "c"


def test_iceberg_moments() -> None:
    assert from_iceberg("timestamptz_ns") == Timestamp("ns", "UTC")
    with pytest.raises(UnsupportedType, match="column t"):
        to_iceberg_schema(Schema.of([Column("t", Timestamp("ns"))]))
