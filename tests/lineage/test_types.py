"""Inferred types of output columns: the family that an engine gives, or none."""

import duckdb
import pytest
from tests.support.sql_grammar import DDL, Grammar
from tests.support.tpc_workload import connection as tpc_connection
from tests.support.tpc_workload import workload

import lakebed
from lakebed.lineage.data_types import common_type, holds, type_family

TABLE = "CREATE TABLE t (a INT, b DECIMAL(10, 2), s STRING, d DATE, st STRUCT<x: INT, y: STRING>);"


def types(sql: str, dialect: str = "spark") -> dict[str, str | None]:
    result = lakebed.analyze(f"{TABLE} CREATE VIEW v AS {sql}", dialect=dialect)
    view = next(table for table in result.resolved_schema.tables if table.name == "v")
    assert all(column.inferred == (column.data_type is not None) for column in view.columns)
    return {column.name: column.data_type for column in view.columns}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a, b, st FROM t", {"a": "INT", "b": "DECIMAL(10, 2)", "st": "STRUCT<x: INT, y: STRING>"}),
        ("SELECT * FROM (SELECT * FROM t) q", {"a": "INT", "s": "STRING", "d": "DATE"}),
        ("WITH c (x, y) AS (SELECT a, d FROM t) SELECT y, x FROM c", {"x": "INT", "y": "DATE"}),
        ("SELECT t.a AS x, u.b AS y FROM t JOIN t u USING (a)", {"x": "INT", "y": "DECIMAL(10, 2)"}),
        ("SELECT cast(s AS DATE) AS x, count(*) AS n, 'x' AS l FROM t", {"x": "DATE", "n": "BIGINT", "l": "STRING"}),
        ("SELECT a FROM t UNION ALL SELECT cast(a AS DOUBLE) FROM t", {"a": "DOUBLE"}),
        ("SELECT a FROM t UNION ALL SELECT s FROM t", {"a": None}),
        ("SELECT some_function(a) AS x, q.z AS y FROM t, q", {"x": None, "y": None}),
        ("SELECT (SELECT max(a) FROM t) AS x FROM t", {"x": None}),
        ("SELECT b * 2 AS x FROM t", {"x": "DECIMAL"}),
    ],
)
def test_types_of_views(sql: str, expected: dict[str, str | None]) -> None:
    assert types(sql).items() >= expected.items()


def test_long_chains_and_circles_end() -> None:
    chain = ", ".join(f"c{n} AS (SELECT a FROM c{n - 1})" for n in range(1, 90))
    assert types(f"WITH c0 AS (SELECT a FROM t), {chain} SELECT a FROM c89")["a"] in ("INT", None)
    assert types("WITH RECURSIVE r AS (SELECT a FROM t UNION ALL SELECT a + 1 FROM r) SELECT a FROM r").keys() == {"a"}


def test_an_inferred_type_contradicts_no_imported_one() -> None:
    schema = {"tables": [{"name": "v", "columns": [{"name": "x", "dataType": "string"}]}]}
    assert lakebed.analyze("CREATE VIEW v AS SELECT 1 AS x", schema=schema).issues == ()


def test_generated_queries_have_duckdbs_families() -> None:
    checked = known = 0
    with duckdb.connect() as connection:
        for statement in DDL:
            connection.execute(statement)
        script = ";".join(DDL)
        for seed in range(300):
            sql = Grammar(seed).query()
            try:
                described = connection.execute(f"DESCRIBE {sql}").fetchall()
            except duckdb.Error:
                continue
            result = lakebed.analyze(f"{script}; CREATE VIEW v AS {sql}", dialect="duckdb")
            view = next(table for table in result.resolved_schema.tables if table.name == "v")
            for column, (_, theirs, *_) in zip(view.columns, described, strict=True):
                checked += 1
                if column.data_type is not None:
                    known += 1
                    assert type_family(column.data_type, "duckdb") == type_family(theirs, "duckdb"), (sql, column)
    assert checked > 400
    assert known > checked / 2


@pytest.mark.parametrize("name", ["tpcds", "tpch"])
def test_tpc_queries_have_duckdbs_families(name: str) -> None:
    queries, schema = workload(name)
    wrong, known, checked = [], 0, 0
    with tpc_connection(name) as connection:
        for sql in queries:
            text = sql.strip().rstrip(";")
            described = connection.execute(f"DESCRIBE {text}").fetchall()
            result = lakebed.analyze(f"CREATE VIEW v AS {text}", dialect="duckdb", schema=schema)
            view = next(table for table in result.resolved_schema.tables if table.name == "v")
            for column, (_, theirs, *_) in zip(view.columns, described, strict=True):
                checked += 1
                known += column.data_type is not None
                if column.data_type and type_family(column.data_type, "duckdb") != type_family(theirs, "duckdb"):
                    wrong.append((column.name, column.data_type, theirs, text[:60]))
    assert wrong == []
    assert known > checked * 0.9


def test_families_and_widths() -> None:
    assert common_type(["INT", "BIGINT"], "spark") == "BIGINT"
    assert common_type(["INT", None], "spark") is None
    assert holds("BIGINT", "INT", "spark")
    assert not holds("INT", "BIGINT", "spark")
    assert holds("STRING", "INT", "spark")
    assert not holds("INT", "STRING", "spark")
    assert holds("whatever", "INT", "spark")
    assert type_family("VARCHAR(10)", "postgres") == "text"
    assert type_family(None, "postgres") is None
