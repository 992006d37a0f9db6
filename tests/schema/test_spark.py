"""Spark's own parser reads our DDL, and we read what Spark prints."""

import pytest
from pyspark.sql.types import StructType

from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session
from lakebed.schema.spark import from_spark, from_spark_ddl, from_spark_json, to_spark_ddl
from lakebed.schema.types import (
    Binary,
    Boolean,
    Column,
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

pytestmark = pytest.mark.spark

PLAIN = [
    Boolean(),
    Integer(8),
    Integer(16),
    Integer(32),
    Integer(64),
    Float(32),
    Float(64),
    Decimal(38, 18),
    Text(),
    Binary(),
    Date(),
    Timestamp("us"),
    Timestamp("us", "UTC"),
    Null(),
    List(Text()),
    Map(Text(), List(Integer(32))),
    Struct((Column("a", Integer(32)), Column("b", Map(Text(), Text())))),
]
ODD = Struct((Column("a b", Integer(32), nullable=False), Column("NOT", Text()), Column("größe", Date())))


def test_spark_and_we_read_each_other() -> None:
    schema = Schema.of(
        [
            *(Column(f"c{number}", type_) for number, type_ in enumerate(PLAIN)),
            Column("back`tick end", ODD),
            Column("id", Integer(64), nullable=False),
        ]
    )
    with open_session(load_settings({"master": "local[2]"})) as session:
        # Both the parser of DDL and the frame's schema are the JVM's.
        parsed = StructType.fromDDL(to_spark_ddl(schema))
        frame = session.spark.createDataFrame([], parsed)
        frame.createOrReplaceTempView("described")
        described = {row.col_name: row.data_type for row in session.spark.sql("DESCRIBE described").collect()}
        read_back = frame.schema.json()
    assert from_spark_json(read_back) == schema
    for column, type_ in zip(schema, PLAIN, strict=False):
        assert from_spark(described[column.name]) == type_
    assert from_spark_ddl(to_spark_ddl(schema)) == schema
