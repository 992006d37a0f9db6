"""The schema of a Spark session: given as it is, or by the word `spark` where one is active."""

import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.lineage.imports import load_schema

pytestmark = pytest.mark.spark


def test_a_session_and_the_active_one(spark_local: Session) -> None:
    spark = spark_local.spark
    spark.createDataFrame([(1, "x")], "id INT, `odd name` STRING").createOrReplaceTempView("people_of_lineage")
    try:
        for schema in (spark, "spark", "spark:default"):
            result = lakebed.analyze("SELECT * FROM people_of_lineage", schema=schema)
            assert result.statements[0].outputs == ("id", "odd name"), schema
        tables = {table["name"]: table for table in load_schema(["spark"])["tables"]}  # type: ignore[attr-defined]
        assert tables["people_of_lineage"]["columns"][0] == {"name": "id", "dataType": "int"}
    finally:
        spark.catalog.dropTempView("people_of_lineage")
