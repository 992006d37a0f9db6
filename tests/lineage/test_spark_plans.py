"""Edges equal to Spark's own analysed plans, on every query of TPC-DS and TPC-H."""

from collections.abc import Iterator

import pytest
import sqlglot
from pyspark.sql import SparkSession
from tests.support.spark_plan import plan_lineage
from tests.support.tpc_workload import workload

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.lineage.contract import VALUE_ROLES
from lakebed.lineage.imports import from_spark

pytestmark = pytest.mark.spark


@pytest.fixture
def spark(spark_local: Session) -> Iterator[SparkSession]:
    """The session of the whole run; views that a test makes go away with it."""
    session = spark_local.spark
    yield session
    for table in session.catalog.listTables():
        if table.isTemporary:
            session.catalog.dropTempView(table.name)


def _spark_schema(workload_schema: dict[str, object]) -> dict[str, str]:
    schemas = {}
    for table in workload_schema["tables"]:  # type: ignore[attr-defined]
        columns = []
        for column in table["columns"]:
            kind = sqlglot.exp.DataType.build(column["dataType"], dialect="duckdb").sql("spark")
            columns.append(f"{column['name']} {kind}")
        schemas[table["name"]] = ", ".join(columns)
    return schemas


@pytest.mark.parametrize(("name", "count"), [("tpcds", 99), ("tpch", 22)])
def test_edges_equal_those_of_sparks_analysed_plan(spark: SparkSession, name: str, count: int) -> None:
    queries, schema = workload(name)
    assert len(queries) == count
    for table, columns in _spark_schema(schema).items():
        spark.createDataFrame([], columns).createOrReplaceTempView(table)
    owner = {
        column["name"]: table["name"]
        for table in schema["tables"]  # type: ignore[attr-defined]
        for column in table["columns"]
    }
    assert len(owner) == sum(len(table["columns"]) for table in schema["tables"])  # type: ignore[attr-defined]
    different = []
    for number, text in enumerate(queries, 1):
        query = sqlglot.transpile(text, read="duckdb", write="spark")[0]
        frame = spark.sql(query)
        expected = [
            {(owner[column], column) for column in sources}
            for _, sources in plan_lineage(frame._jdf.queryExecution().analyzed().toJSON())
        ]
        result = lakebed.analyze(query, dialect="spark", schema=schema)
        (statement,) = result.statements
        found: list[set[tuple[str, str]]] = [set() for _ in statement.outputs]
        for edge in statement.column_lineage:
            if edge.role in VALUE_ROLES:
                assert edge.position is not None
                assert not edge.approximate
                found[edge.position].add((edge.source_table, edge.source_column))
        if found != expected or result.issues:
            different.append((number, [pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1]]))
        assert len(statement.outputs) == len(frame.columns)
        if [name.lower() for name in statement.outputs] != [name.lower() for name in frame.columns]:
            unnamed = [
                (ours, theirs) for ours, theirs in zip(statement.outputs, frame.columns, strict=True) if ours != theirs
            ]
            assert all("(" in theirs for _, theirs in unnamed), (number, unnamed)
    assert different == []


def test_the_catalog_of_a_session_is_a_schema(spark: SparkSession) -> None:
    spark.createDataFrame([], "id int, amount decimal(38,18), tags map<string,string>").createOrReplaceTempView("costs")
    tables = {str(table["name"]): table["columns"] for table in from_spark(session=spark)}
    assert tables["costs"] == [
        {"name": "id", "dataType": "int"},
        {"name": "amount", "dataType": "decimal(38,18)"},
        {"name": "tags", "dataType": "map<string,string>"},
    ]
    result = lakebed.analyze("SELECT * FROM costs", schema={"tables": from_spark(session=spark)})
    assert result.statements[0].star_expansion == "full"


def test_expressions_without_an_alias_have_sparks_names(spark: SparkSession) -> None:
    spark.createDataFrame([], "a int, b int, c string, d date, arr array<int>").createOrReplaceTempView("named")
    schema = {"tables": [{"name": "named", "columns": ["a", "b", "c", "d", "arr"]}]}
    for expression in [
        "a + 1",
        "a * b - 2",
        "-a",
        "sum(a)",
        "count(*)",
        "count(DISTINCT a)",
        "max(named.a)",
        "upper(c)",
        "c || 'y'",
        "CAST(a AS STRING)",
        "'x'",
        "coalesce(a, b)",
        "if(a > 1, b, 0)",
        "CASE WHEN a > 1 THEN b ELSE 0 END",
        "a = b AND b < 2",
        "a IN (1, 2)",
        "c LIKE 'x%'",
        "NOT (a > 1)",
        "a IS NOT NULL",
        "current_date",
        "date_add(d, 1)",
        "arr[0]",
        "explode(arr)",
        "sum(a) / count(*)",
        "a <> b",
        "row_number() OVER (PARTITION BY a ORDER BY b)",
        "sum(a) OVER (PARTITION BY b)",
        "(SELECT max(a) FROM named)",
        "a BETWEEN 1 AND 2",
        "sum(CASE WHEN a > 1 THEN b ELSE 0 END)",
    ]:
        query = f"SELECT {expression} FROM named"
        assert list(lakebed.analyze(query, schema=schema).statements[0].outputs) == spark.sql(query).columns, expression
