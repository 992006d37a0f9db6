"""The rules, the four examples and the testing plan of the schema handling specification."""

import json
from datetime import datetime

import pytest

import lakebed
from lakebed.errors import LineageError
from lakebed.lineage import AnalyzeResult

USERS = {"tables": [{"name": "users", "columns": [{"name": "id"}, {"name": "name"}]}]}


def edges(result: AnalyzeResult, statement: int = -1) -> list[tuple[str, str | None, bool]]:
    return [
        (f"{edge.source_table}.{edge.source_column}", edge.target_column, edge.approximate)
        for edge in result.statements[statement].column_lineage
        if edge.target_column is not None
    ]


def codes(result: AnalyzeResult, statement: int | None = None) -> list[tuple[str, str]]:
    return [
        (issue.code, issue.severity)
        for issue in result.issues
        if statement is None or issue.statement_index == statement
    ]


def implied(result: AnalyzeResult) -> dict[str, list[str]]:
    return {
        table.name: [column.name for column in table.columns]
        for table in result.resolved_schema.by_origin("implied").tables
    }


def test_example_1_imported_wins() -> None:
    result = lakebed.analyze(
        "CREATE TABLE users (id INT, name VARCHAR(10), email VARCHAR(10)); SELECT * FROM users", schema=USERS
    )
    assert result.statements[1].outputs == ("id", "name")
    assert edges(result) == [("users.id", "id", True), ("users.name", "name", True)]
    assert codes(result, 0) == [("SCHEMA_MISMATCH", "warning")]
    assert implied(result) == {}


def test_example_2_implied_fills_a_gap() -> None:
    result = lakebed.analyze("CREATE VIEW active_users AS SELECT id, name FROM users; SELECT * FROM active_users")
    assert edges(result) == [("active_users.id", "id", False), ("active_users.name", "name", False)]
    assert implied(result) == {"active_users": ["id", "name"]}


def test_example_3_schema_builds_up_as_the_script_goes() -> None:
    result = lakebed.analyze(
        "CREATE TABLE orders AS SELECT user_id, amount FROM raw_orders; INSERT INTO report SELECT * FROM orders",
        schema={"tables": [{"name": "users", "columns": [{"name": "id"}]}]},
    )
    assert edges(result) == [("orders.user_id", "user_id", False), ("orders.amount", "amount", False)]
    assert result.statements[1].star_expansion == "full"


@pytest.mark.parametrize("way", ["argument", "request"])
def test_example_4_without_implied_schema(way: str) -> None:
    sql = "CREATE TABLE new_table AS SELECT * FROM users; SELECT * FROM new_table"
    if way == "argument":
        result = lakebed.analyze(sql, schema=USERS, allow_implied=False)
    else:
        result = lakebed.analyze(sql, schema={**USERS, "allowImplied": False})
    assert implied(result) == {}
    assert ("UNKNOWN_TABLE", "warning") in codes(result, 1)
    assert ("APPROXIMATE_LINEAGE", "warning") in codes(result, 1)
    assert edges(result, 0) == [("users.id", "id", False), ("users.name", "name", False)]


def test_columns_of_create_table_are_captured_with_their_types() -> None:
    result = lakebed.analyze("CREATE TABLE t (id INT, price DECIMAL(10, 2), PRIMARY KEY (id))")
    (table,) = result.resolved_schema.tables
    assert [(c.name, c.data_type, c.origin) for c in table.columns] == [
        ("id", "INT", "implied"),
        ("price", "DECIMAL(10, 2)", "implied"),
    ]
    assert (table.origin, table.source_statement_index, table.temporary) == ("implied", 0, False)


def test_types_are_declared_or_inferred_and_say_which() -> None:
    result = lakebed.analyze("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a, a + 1 AS b, f(a) AS c FROM t")
    declared, inferred = (table.to_dict()["columns"] for table in result.resolved_schema.tables)
    assert declared == [{"name": "a", "dataType": "INT", "origin": "implied"}]
    assert inferred == [
        {"name": "a", "dataType": "INT", "origin": "implied", "inferred": True},
        {"name": "b", "dataType": "INT", "origin": "implied", "inferred": True},
        {"name": "c", "origin": "implied"},
    ]


def test_create_or_replace_takes_the_place_of_the_earlier_entry() -> None:
    result = lakebed.analyze("CREATE VIEW v AS SELECT 1 AS a; CREATE OR REPLACE VIEW v AS SELECT 2 AS b, 3 AS c")
    (table,) = result.resolved_schema.tables
    assert [column.name for column in table.columns] == ["b", "c"]
    assert table.source_statement_index == 1


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgres", "CREATE TEMP TABLE x (a INT)"),
        ("postgres", "CREATE TEMPORARY TABLE x AS SELECT 1 AS a"),
        ("spark", "CREATE OR REPLACE TEMPORARY VIEW x AS SELECT 1 AS a"),
        ("spark", "CACHE TABLE x AS SELECT 1 AS a"),
        ("tsql", "SELECT 1 AS a INTO #x"),
        ("tsql", "CREATE TABLE #x (a INT)"),
    ],
)
def test_temporary_tables_are_marked(dialect: str, sql: str) -> None:
    (table,) = lakebed.analyze(sql, dialect=dialect).resolved_schema.tables
    assert table.temporary
    assert [column.name for column in table.columns] == ["a"]


def test_drop_forgets_an_implied_table_and_keeps_an_imported_one() -> None:
    result = lakebed.analyze(
        "CREATE TABLE t (a INT); DROP TABLE t; DROP TABLE users; SELECT * FROM users", schema=USERS
    )
    assert [table.name for table in result.resolved_schema.tables] == ["users"]
    assert result.statements[3].outputs == ("id", "name")


def test_nothing_declared_later_counts_earlier_and_nothing_is_learned_from_use() -> None:
    result = lakebed.analyze("SELECT a, b FROM t; SELECT * FROM t; CREATE TABLE t (a INT); SELECT * FROM t")
    assert [statement.star_expansion for statement in result.statements] == [None, "none", None, "full"]


def test_alter_table_changes_implied_schema() -> None:
    result = lakebed.analyze(
        "CREATE TABLE t (a INT, b INT); ALTER TABLE t ADD COLUMN c INT; ALTER TABLE t DROP COLUMN a; "
        "ALTER TABLE t RENAME COLUMN b TO bb; SELECT * FROM t; ALTER TABLE t RENAME TO s; SELECT * FROM s"
    )
    assert result.statements[4].outputs == ("bb", "c")
    assert edges(result) == [("s.bb", "bb", False), ("s.c", "c", False)]
    assert implied(result) == {"s": ["bb", "c"]}
    assert result.issues == ()


def test_a_mismatch_of_types_is_signalled_under_the_dialects_rules() -> None:
    schema = {"tables": [{"name": "t", "columns": [{"name": "A", "dataType": "int"}, {"name": "b"}]}]}
    same = lakebed.analyze("CREATE TABLE T (a INTEGER, B STRING); SELECT * FROM t", schema=schema)
    assert codes(same) == []
    assert edges(same) == [("t.A", "A", False), ("t.b", "b", False)]
    other = lakebed.analyze("CREATE TABLE t (a STRING, b STRING); SELECT * FROM t; SELECT a FROM t", schema=schema)
    assert codes(other) == [("SCHEMA_MISMATCH", "warning")]
    assert edges(other, 1) == [("t.A", "A", True), ("t.b", "b", True)]
    assert edges(other, 2) == [("t.A", "a", False)]


def test_if_not_exists_keeps_the_first_declaration_and_still_signals_a_contradiction() -> None:
    again = lakebed.analyze("CREATE TABLE t (a INT); CREATE TABLE IF NOT EXISTS t (b INT); SELECT * FROM t")
    assert again.statements[2].outputs == ("a",)
    other = lakebed.analyze("CREATE TABLE IF NOT EXISTS users (id INT); SELECT * FROM users", schema=USERS)
    assert codes(other) == [("SCHEMA_MISMATCH", "warning")]


def test_merging_columns_uses_both_and_keeps_their_origins() -> None:
    result = lakebed.analyze(
        "CREATE TABLE users (id INT, email STRING); SELECT * FROM users", schema=USERS, merge_columns=True
    )
    assert edges(result) == [
        ("users.id", "id", False),
        ("users.name", "name", False),
        ("users.email", "email", False),
    ]
    (table,) = result.resolved_schema.tables
    assert [(c.name, c.origin) for c in table.columns] == [
        ("id", "imported"),
        ("name", "imported"),
        ("email", "implied"),
    ]


def test_star_full_partial_and_none() -> None:
    result = lakebed.analyze(
        "SELECT * FROM users; SELECT * FROM users JOIN other ON users.id = other.id; SELECT * FROM other", schema=USERS
    )
    assert [statement.star_expansion for statement in result.statements] == ["full", "partial", "none"]
    assert edges(result, 0) == [("users.id", "id", False), ("users.name", "name", False)]
    assert edges(result, 1) == [("users.id", "id", True), ("users.name", "name", True)]
    assert ("APPROXIMATE_LINEAGE", "info") in codes(result, 1)
    assert edges(result, 2) == []
    assert ("APPROXIMATE_LINEAGE", "warning") in codes(result, 2)
    assert [(edge.source, edge.approximate) for edge in result.statements[2].table_lineage] == [("other", True)]


def test_what_is_partial_stays_partial_downstream() -> None:
    result = lakebed.analyze(
        "CREATE TABLE a AS SELECT *, 1 AS x FROM raw; CREATE VIEW b AS SELECT * FROM a; SELECT * FROM b"
    )
    assert [statement.star_expansion for statement in result.statements] == ["none", "partial", "partial"]
    assert edges(result) == [("b.x", "x", True)]
    assert [table.complete for table in result.resolved_schema.tables] == [False, False]


def test_nodes_say_how_their_table_was_resolved() -> None:
    result = lakebed.analyze(
        "CREATE VIEW v AS SELECT id FROM users; SELECT v.id, x.y FROM v JOIN x ON v.id = x.id", schema=USERS
    )
    found = {node.label: node.resolution_source for node in result.global_lineage.nodes if node.node_type != "column"}
    assert found["users"] == "imported"
    assert found["v"] == "implied"
    assert found["x"] == "unknown"
    unknown = [issue for issue in result.issues if issue.code == "UNKNOWN_TABLE"]
    assert [issue.resolution_source for issue in unknown] == ["unknown"]


def test_the_resolved_schema_has_timestamps_and_can_be_imported_again() -> None:
    first = lakebed.analyze("CREATE TABLE t (a INT, b STRING); SELECT id FROM users", schema=USERS)
    exported = json.loads(json.dumps(first.resolved_schema.to_dict()))
    for table in exported["tables"]:
        assert datetime.fromisoformat(table["updatedAt"]).tzinfo is not None
    again = lakebed.analyze("SELECT * FROM t; SELECT * FROM users", schema=exported)
    assert again.statements[0].outputs == ("a", "b")
    assert again.statements[1].outputs == ("id", "name")
    assert {table.origin for table in again.resolved_schema.tables} == {"imported"}


def test_search_path_and_defaults_find_tables() -> None:
    tables = [
        {"schema": "app", "name": "orders", "columns": ["id"]},
        {"catalog": "c", "schema": "s", "name": "deep", "columns": ["x"]},
    ]
    by_path = lakebed.analyze("SELECT * FROM orders", schema={"searchPath": [{"schema": "app"}], "tables": tables})
    assert edges(by_path) == [("app.orders.id", "id", False)]
    by_default = lakebed.analyze(
        "SELECT * FROM deep; SELECT * FROM s.deep; SELECT * FROM c.s.deep",
        schema={"defaultCatalog": "c", "defaultSchema": "s", "tables": tables},
    )
    for place in range(3):
        assert edges(by_default, place) == [("c.s.deep.x", "x", False)]


def test_case_sensitivity_of_the_request_overrules_the_dialect() -> None:
    tables = [{"name": "T", "columns": ["A"]}]
    assert edges(lakebed.analyze("SELECT a FROM t", schema={"tables": tables})) == [("T.A", "a", False)]
    exact = lakebed.analyze("SELECT a FROM t", schema={"tables": tables, "caseSensitivity": "exact"})
    assert ("UNKNOWN_TABLE", "warning") in codes(exact)


def test_one_bad_statement_never_loses_the_others() -> None:
    sql = "SELECT id FROM users; SELEC nonsense FROM; CREATE TABLE x AS SELECT name FROM users; SELECT 'open"
    result = lakebed.analyze(sql, schema=USERS)
    assert [statement.statement_type for statement in result.statements] == [
        "SELECT",
        "UNKNOWN",
        "CREATE_TABLE_AS",
        "UNKNOWN",
    ]
    assert codes(result) == [("PARSE_ERROR", "error"), ("PARSE_ERROR", "error")]
    assert implied(result) == {"x": ["name"]}


def test_positions_are_those_of_the_tokens() -> None:
    sql = "SELECT 1;\nSELECT u.nope,\n  'nope' FROM users u"
    result = lakebed.analyze(sql, schema=USERS)
    (issue,) = result.issues
    assert issue.code == "UNKNOWN_COLUMN"
    assert issue.span is not None
    assert sql[issue.span.start : issue.span.end] == "nope"
    assert issue.span.start == sql.index("nope")
    span = result.statements[1].span
    assert sql[span.start : span.end] == "SELECT u.nope,\n  'nope' FROM users u"


@pytest.mark.parametrize(
    "schema",
    [
        {"tables": "users"},
        {"tables": [{"columns": []}]},
        {"tables": [{"name": "users", "columns": "id"}]},
        {"tables": [{"name": "users", "columns": [3]}]},
        {"tables": [], "searchPath": "app"},
        {"tables": [{"name": 3}]},
    ],
)
def test_a_schema_of_the_wrong_shape_is_refused_with_a_remedy(schema: dict[str, object]) -> None:
    with pytest.raises(LineageError) as refused:
        lakebed.analyze("SELECT * FROM users", schema=schema)
    assert refused.value.remedy


def test_an_unknown_dialect_is_refused_with_the_list() -> None:
    with pytest.raises(LineageError, match="spark"):
        lakebed.analyze("SELECT 1", dialect="cobol")
