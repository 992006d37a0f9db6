"""Output columns equal to what DuckDB's DESCRIBE says, on hundreds of generated queries and on both TPC workloads."""

import duckdb
import pytest
from tests.support.sql_grammar import DDL, TABLES, Grammar
from tests.support.tpc_workload import connection as tpc_connection
from tests.support.tpc_workload import workload

import lakebed
from lakebed.lineage.contract import VALUE_ROLES

SCHEMA = {"tables": [{"name": name, "columns": [{"name": c} for c in columns]} for name, columns in TABLES.items()]}


def test_generated_queries_have_duckdbs_columns() -> None:
    with duckdb.connect() as connection:
        for statement in DDL:
            connection.execute(statement)
        asked = 0
        for seed in range(1200):
            sql = Grammar(seed).query()
            try:
                described = connection.execute(f"DESCRIBE {sql}").fetchall()
            except duckdb.Error:
                # names that occur twice in a derived table: the grammar does not avoid them all
                continue
            asked += 1
            result = lakebed.analyze(sql, dialect="duckdb", schema=SCHEMA)
            assert [issue for issue in result.issues if issue.severity == "error"] == [], sql
            (statement,) = result.statements
            assert list(statement.outputs) == [row[0] for row in described], sql
            assert not any(edge.approximate for edge in statement.column_lineage), sql
            for edge in statement.column_lineage:
                assert edge.source_column in TABLES[edge.source_table], sql
        assert asked > 800


@pytest.mark.parametrize("name", ["tpcds", "tpch"])
def test_tpc_queries_have_duckdbs_columns(name: str) -> None:
    queries, schema = workload(name)
    with tpc_connection(name) as connection:
        for sql in queries:
            described = connection.execute(f"DESCRIBE {sql.strip().rstrip(';')}").fetchall()
            result = lakebed.analyze(sql, dialect="duckdb", schema=schema)
            assert result.issues == ()
            (statement,) = result.statements
            assert len(statement.outputs) == len(described)
            for ours, (theirs, *_) in zip(statement.outputs, described, strict=True):
                assert ours.lower() == theirs.lower() or "(" in theirs, (sql, ours, theirs)
            assert all(edge.position is not None for edge in statement.column_lineage if edge.role in VALUE_ROLES)


@pytest.mark.parametrize(
    "expression",
    ["count(*)", "age + 1", "age * id - 2", "sum(age * id)", "max(people.age)", "upper(city)", "1", "'x'", "age > 1"],
)
def test_expressions_without_an_alias_have_duckdbs_names(expression: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(DDL[0])
        query = f"SELECT {expression} FROM people"
        described = connection.execute(f"DESCRIBE {query}").fetchall()
    result = lakebed.analyze(query, dialect="duckdb", schema=SCHEMA)
    assert list(result.statements[0].outputs) == [row[0] for row in described]
