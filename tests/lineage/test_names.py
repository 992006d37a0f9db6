"""Imported names under the dialect's rules, and what the answer says about where names are known from."""

import pytest

import lakebed
from lakebed.errors import LineageError


def tables(**columns: list[str]) -> dict[str, object]:
    return {"tables": [{"name": name, "columns": list(listed)} for name, listed in columns.items()]}


def edges(result: lakebed.AnalyzeResult, place: int = -1) -> set[tuple[str, str, str | None]]:
    lineage = result.statements[place].column_lineage
    return {
        (e.source_table.lower(), e.source_column.lower(), e.target_column and e.target_column.lower()) for e in lineage
    }


@pytest.mark.parametrize("dialect", ["snowflake", "oracle", "postgres", "spark", "duckdb", "bigquery", "clickhouse"])
@pytest.mark.parametrize("case", [str.lower, str.upper])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("WITH c AS (SELECT * FROM {t}) SELECT {a} FROM c", {("t", "a", "a")}),
        ("SELECT q.{a} FROM (SELECT * FROM {t}) q WHERE q.{b} > 1", {("t", "a", "a"), ("t", "b", None)}),
        ("CREATE TABLE x AS SELECT * FROM {t}; SELECT {a} FROM x", {("x", "a", "a")}),
        ("SELECT {a} FROM {t} NATURAL JOIN {u}", {("t", "a", "a"), ("t", "a", None), ("u", "a", None)}),
        ("SELECT {b} FROM {t} JOIN {u} USING ({a})", {("t", "b", "b"), ("t", "a", None), ("u", "a", None)}),
        ("INSERT INTO {u} ({d}) SELECT {b} FROM {t}", {("t", "b", "d")}),
    ],
)
def test_imported_names_follow_the_dialect(dialect: str, case: object, sql: str, expected: set[object]) -> None:
    spell = str.lower if dialect in ("bigquery", "clickhouse") else case
    text = sql.format(t="t", u="u", a="a", b="b", d="d")
    schema = tables(**{spell("t"): [spell("a"), spell("b")], spell("u"): [spell("a"), spell("d")]})  # type: ignore[operator]
    result = lakebed.analyze(text, dialect=dialect, schema=schema)
    assert [issue for issue in result.issues if issue.severity != "info"] == []
    assert edges(result) == expected


def test_a_quoted_name_means_the_spelling_that_was_imported() -> None:
    sql = 'WITH c AS (SELECT * FROM t) SELECT "a", b FROM c'
    result = lakebed.analyze(sql, dialect="snowflake", schema=tables(t=["a", "b"]))
    assert result.issues == ()
    assert edges(result) == {("t", "a", "a"), ("t", "b", "b")}


def test_names_that_differ_in_case_alone_stay_apart() -> None:
    sql = 'SELECT "a" AS x, a AS y FROM t'
    result = lakebed.analyze(sql, dialect="snowflake", schema=tables(t=["a", "A"]))
    found = [(edge.source_column, edge.target_column) for edge in result.statements[0].column_lineage]
    assert found == [("a", "X"), ("A", "Y")]


@pytest.mark.parametrize("dialect", ["snowflake", "oracle"])
def test_unpivot_with_a_list_of_names(dialect: str) -> None:
    sql = "SELECT k, v FROM sales UNPIVOT (amount FOR month IN (jan, feb)) p (id2, k, v)"
    result = lakebed.analyze(sql, dialect=dialect, schema=tables(sales=["id", "jan", "feb"]))
    assert edges(result) == {("sales", "jan", "v"), ("sales", "feb", "v")}


def test_rename_in_a_star_finds_lower_case_names() -> None:
    sql = "SELECT * RENAME (a AS z) FROM t"
    result = lakebed.analyze(sql, dialect="snowflake", schema=tables(t=["a", "b"]))
    assert [name.lower() for name in result.statements[0].outputs] == ["z", "b"]


def test_an_unknown_case_sensitivity_is_refused() -> None:
    with pytest.raises(LineageError, match="caseSensitivity is 'sometimes'"):
        lakebed.analyze("SELECT 1", schema={"caseSensitivity": "sometimes", "tables": []})


@pytest.mark.parametrize(
    ("sql", "source"),
    [
        ("SELECT z FROM t", "imported"),
        ("SELECT t.z FROM t", "imported"),
        ("CREATE TABLE x (a INT); SELECT z FROM x", "implied"),
        ("SELECT q.z FROM (SELECT a FROM t) q", "implied"),
        ("INSERT INTO t (z) SELECT a FROM t", "imported"),
        ("SELECT 1 FROM t JOIN u USING (z)", "imported"),
        ("SELECT * EXCEPT (z) FROM t", "imported"),
    ],
)
def test_an_unknown_column_says_where_its_table_is_known_from(sql: str, source: str) -> None:
    result = lakebed.analyze(sql, schema=tables(t=["a"], u=["a"]))
    found = [issue.to_dict() for issue in result.issues if issue.code == "UNKNOWN_COLUMN"]
    assert found
    assert {issue["resolutionSource"] for issue in found} == {source}


def test_the_resolved_schema_lists_what_was_used() -> None:
    schema = tables(t=["a"], u=["a"], v=["a"], w=["a"])
    sql = "CREATE TABLE n AS SELECT a FROM t; INSERT INTO u SELECT a FROM n; CREATE TABLE l LIKE w"
    result = lakebed.analyze(sql, schema=schema)
    assert [table.name for table in result.resolved_schema.tables] == ["t", "u", "w", "n", "l"]


def test_a_byte_order_mark_is_no_character() -> None:
    result = lakebed.analyze("\ufeffSELECT a FROM t")
    assert [issue for issue in result.issues if issue.severity == "error"] == []
    assert result.statements[0].outputs == ("a",)
    assert result.statements[0].span.start == 1


@pytest.mark.parametrize(
    ("dialect", "table", "sql"),
    [
        ("postgres", {"name": "public.users"}, "SELECT * FROM public.users"),
        ("snowflake", {"name": "prod.app.users"}, "SELECT * FROM PROD.app.USERS"),
        ("bigquery", {"name": "my-proj.app.users"}, "SELECT * FROM `my-proj.app.users`"),
        ("spark", {"schema": "lake.app", "name": "users"}, "SELECT * FROM lake.app.users"),
        # a name that has a dot in it is still found in quotes
        ("duckdb", {"name": "users.csv"}, "SELECT * FROM 'users.csv'"),
    ],
)
def test_a_table_may_be_imported_under_its_whole_name(dialect: str, table: dict[str, object], sql: str) -> None:
    imported = {"tables": [{**table, "columns": [{"name": "id"}, {"name": "email"}]}]}
    result = lakebed.analyze(sql, dialect=dialect, schema=imported)
    assert [name.lower() for name in result.statements[0].outputs] == ["id", "email"]
    assert not result.issues


def test_a_whole_name_hides_no_table_of_that_schema() -> None:
    tables = [
        {"name": "app.users", "columns": [{"name": "a"}]},
        {"schema": "app", "name": "users", "columns": [{"name": "b"}]},
    ]
    for order in (tables, tables[::-1]):
        result = lakebed.analyze("SELECT * FROM app.users", dialect="postgres", schema={"tables": order})
        assert result.statements[0].outputs == ("b",)
