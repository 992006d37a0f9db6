"""Edges equal to Spark's own analysed plans, on every query of TPC-DS and TPC-H."""

from collections.abc import Iterator

import pytest
import sqlglot
from pyspark.sql import SparkSession
from tests.lineage.spark_plan import plan_lineage
from tests.lineage.tpc_workload import workload

import lakebed
from lakebed.lineage.model import VALUE_ROLES

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    for table in session.catalog.listTables():
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
