"""The influence test on Spark: an input column gets other values, and the outputs that change must be explained."""

from collections import Counter

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.lineage.contract import VALUE_ROLES

pytestmark = [pytest.mark.spark, pytest.mark.full]

TABLES = {
    "people": {"id": "INT", "name": "STRING", "age": "INT", "city": "STRING"},
    "orders": {"order_id": "INT", "id": "INT", "amount": "INT"},
    "lists": {"k": "INT", "xs": "ARRAY<INT>", "s": "STRUCT<p: INT, q: INT>"},
}
ROWS = {
    "people": "(1, 'ann', 3, 'rome'), (2, 'bob', 2, 'oslo'), (3, 'cid', 4, 'rome'), (4, 'dan', 1, 'bonn')",
    "orders": "(10, 1, 5), (11, 1, 7), (12, 2, 5), (13, 9, 1)",
    "lists": "(1, array(1, 2), named_struct('p', 1, 'q', 2)), (2, array(5, 3), named_struct('p', 3, 'q', 4))",
}
# One change each: every question is a job of Spark's.
CHANGES = {
    "INT": "1 - 3 * {c}",
    "STRING": "concat('z', reverse({c}))",
    "ARRAY<INT>": "transform(reverse({c}), x -> x + 1)",
    "STRUCT<p: INT, q: INT>": "named_struct('p', {c}.q + 1, 'q', {c}.p * 3)",
}
QUERIES = [
    "SELECT p.name, l.m FROM people p, LATERAL (SELECT max(amount) AS m FROM orders o WHERE o.id = p.id) l",
    "SELECT name, (SELECT sum(amount) FROM orders o WHERE o.id = p.id) AS s FROM people p",
    "SELECT name FROM people p WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = p.id)",
    "SELECT k, x FROM lists LATERAL VIEW explode(xs) t AS x",
    "SELECT k, i, x FROM lists LATERAL VIEW posexplode(xs) t AS i, x",
    "SELECT s.*, s.p + k AS t FROM lists",
    "SELECT r.s.x, r.s.y FROM (SELECT struct(age AS x, city AS y) AS s FROM people) r",
    "SELECT m.n AS v, m.a AS w FROM (SELECT max(struct(age AS a, name AS n)) AS m FROM people)",
    "SELECT max_by(struct(name AS n, city AS c), age).c AS v FROM people",
    "SELECT inline(array(struct(age AS x, id AS y), struct(id AS x, 0 AS y))) FROM people",
    "SELECT id, name, amount FROM people FULL JOIN orders USING (id)",
    "SELECT name FROM people LEFT ANTI JOIN orders ON people.id = orders.id",
    "SELECT name, lag(age) OVER (PARTITION BY city ORDER BY id) AS before FROM people",
    "SELECT city, sum(age) AS s, count(*) AS n FROM people GROUP BY city",
    "SELECT age + 1 AS b, b * 2 AS c, CASE WHEN c > 5 THEN name ELSE city END AS d FROM people",
    "SELECT id AS a, age AS b FROM people UNION ALL SELECT amount, id FROM orders",
    "WITH a AS (SELECT id, age FROM people), b AS (SELECT age AS x FROM a WHERE id < 9) SELECT x + 1 AS z FROM b",
    "SELECT stack(2, 'age', age, 'id', id) AS (k, v) FROM people",
    "SELECT * FROM (SELECT city, age FROM people) PIVOT (sum(age) FOR city IN ('rome', 'oslo'))",
    "SELECT * FROM (SELECT id, age, id * 2 AS twice FROM people) UNPIVOT (v FOR n IN (age, twice))",
]


def outputs(spark: SparkSession, sql: str) -> list[Counter[str]] | None:
    try:
        frame = spark.sql(sql)
        rows = frame.collect()
    except PySparkException:
        return None
    return [Counter(repr(row[place]) for row in rows) for place in range(len(frame.columns))]


def make(spark: SparkSession, table: str, column: str | None = None, change: str = "") -> None:
    names = ", ".join(TABLES[table])
    items = [change.format(c=f"t.{name}") + f" AS {name}" if name == column else name for name in TABLES[table]]
    rows = f"SELECT {', '.join(items)} FROM (VALUES {ROWS[table]}) AS t({names})"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW {table} AS {rows}")


@pytest.fixture(scope="module")
def spark(spark_local: Session) -> SparkSession:
    return spark_local.spark


@pytest.mark.parametrize("sql", QUERIES)
def test_edges_are_what_changes_on_spark(spark: SparkSession, sql: str) -> None:
    schema = {
        "tables": [
            {"name": name, "columns": [{"name": c, "dataType": t} for c, t in columns.items()]}
            for name, columns in TABLES.items()
        ]
    }
    result = lakebed.analyze(sql, dialect="spark", schema=schema)
    assert [issue.message for issue in result.issues] == []
    (statement,) = result.statements
    columns: dict[tuple[str, str], set[int | None]] = {}
    rows = set()
    for edge in statement.column_lineage:
        source = (edge.source_table, edge.source_column)
        if edge.role in VALUE_ROLES:
            columns.setdefault(source, set()).add(edge.position)
        else:
            rows.add(source)
    if "GROUP BY" in sql or "PIVOT" in sql:
        rows |= set(columns)
    try:
        for table in TABLES:
            make(spark, table)
        before = outputs(spark, sql)
        assert before is not None
        for table in [name for name in TABLES if name in sql]:
            for column, kind in TABLES[table].items():
                make(spark, table, column, CHANGES[kind])
                after = outputs(spark, sql) or before
                make(spark, table)
                changed = {place for place, values in enumerate(after) if values != before[place]}
                source = (table, column)
                assert source in rows or changed <= columns.get(source, set()), f"an edge from {source} is missing"
    finally:
        for table in TABLES:
            spark.catalog.dropTempView(table)
