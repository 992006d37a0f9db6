"""One expression, four dialects."""

import duckdb
import pytest
import sqlglot

from lakebed.finops.projection import (
    DIALECTS,
    Dialect,
    OutputColumn,
    Projection,
    literal_text,
    null_text,
    write_expression,
    write_name,
    write_select,
)
from lakebed.schema.types import Decimal, Float, Map, Text, Timestamp

MAP = """BILL_MAP('a', "x", 'it''s', NULLIF("y", ''))"""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            MAP,
            {
                "duckdb": """MAP_FROM_ENTRIES([e FOR e IN [{'k': 'a', 'v': "x"}, """
                """{'k': 'it''s', 'v': NULLIF("y", '')}] IF NOT e.v IS NULL])""",
                "spark": "MAP_FILTER(MAP('a', `x`, 'it\\'s', NULLIF(`y`, '')), (k, v) -> NOT v IS NULL)",
                "trino": """MAP_FILTER(MAP(ARRAY['a', 'it''s'], ARRAY["x", NULLIF("y", '')]), """
                "(k, v) -> NOT v IS NULL)",
                "snowflake": """OBJECT_CONSTRUCT('a', "x", 'it\\'s', NULLIF("y", ''))""",
            },
        ),
        (
            """COALESCE("region", BILL_ENTRY("product", 'region'))""",
            {
                "duckdb": """COALESCE("region", "product"['region'])""",
                "spark": "COALESCE(`region`, TRY_ELEMENT_AT(`product`, 'region'))",
                "trino": """COALESCE("region", ELEMENT_AT("product", 'region'))""",
                "snowflake": """COALESCE("region", CAST(GET("product", 'region') AS VARCHAR))""",
            },
        ),
        (
            null_text(Map(Text(), Float(64))),
            {
                "duckdb": "CAST(MAP() AS MAP(TEXT, DOUBLE))",
                "spark": "CAST(MAP() AS MAP<STRING, DOUBLE>)",
                "trino": "CAST(MAP() AS MAP(VARCHAR, DOUBLE))",
                "snowflake": "OBJECT_CONSTRUCT()",
            },
        ),
        (
            null_text(Timestamp()),
            {
                "duckdb": "CAST(NULL AS TIMESTAMP)",
                "spark": "CAST(NULL AS TIMESTAMP_NTZ)",
                "trino": "CAST(NULL AS TIMESTAMP)",
                "snowflake": "CAST(NULL AS TIMESTAMPNTZ)",
            },
        ),
        (
            # What is nested is written too.
            """BILL_JSON(BILL_MAP('a', BILL_ENTRY("m", 'k')))""",
            {
                "duckdb": "CAST(TO_JSON(MAP_FROM_ENTRIES([e FOR e IN [{'k': 'a', 'v': \"m\"['k']}] "
                "IF NOT e.v IS NULL])) AS TEXT)",
                "spark": "TO_JSON(MAP_FILTER(MAP('a', TRY_ELEMENT_AT(`m`, 'k')), (k, v) -> NOT v IS NULL))",
                "trino": "JSON_FORMAT(CAST(MAP_FILTER(MAP(ARRAY['a'], ARRAY[ELEMENT_AT(\"m\", 'k')]), "
                "(k, v) -> NOT v IS NULL) AS JSON))",
                "snowflake": "TO_JSON(OBJECT_CONSTRUCT('a', CAST(GET(\"m\", 'k') AS VARCHAR)))",
            },
        ),
    ],
)
def test_an_expression_in_each_dialect(text: str, written: dict[Dialect, str]) -> None:
    assert {dialect: write_expression(text, dialect) for dialect in DIALECTS} == written


def test_snowflake_reads_what_is_quoted_and_offers_plain_names() -> None:
    plan = Projection((OutputColumn("line_item_type", Text(), '"line_item_type"', ("lineItem/Type",)),))
    assert write_select(plan, "report", "snowflake") == 'SELECT\n  "line_item_type" AS line_item_type\nFROM report'
    assert write_name("Two words", "snowflake") == '"Two words"'


@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_names_stay_names(dialect: Dialect) -> None:
    hostile = "a\"; DROP TABLE `t` -- ' \\"
    plan = Projection((OutputColumn(hostile, Text(), literal_text(hostile)),))
    [select] = sqlglot.parse(write_select(plan, "t", dialect), dialect=dialect)
    assert select is not None
    assert (select.selects[0].alias, select.selects[0].this.this) == (hostile, hostile)


def test_duckdb_leaves_out_what_is_null() -> None:
    found = duckdb.sql(f"SELECT {write_expression(MAP, 'duckdb')} FROM (VALUES ('1', ''), (NULL, '2')) AS t(x, y)")
    assert found.fetchall() == [({"a": "1"},), ({"it's": "2"},)]


def test_null_has_its_type() -> None:
    [[kind]] = duckdb.sql(f"SELECT typeof({write_expression(null_text(Decimal(38, 18)), 'duckdb')})").fetchall()
    assert kind == "DECIMAL(38,18)"
