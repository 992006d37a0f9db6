"""Statements that are not analysed are issues; statements without lineage are not."""

import pytest

import lakebed


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("spark", "CREATE FUNCTION f AS 'org.example.F' USING JAR 'f.jar'"),
        ("snowflake", "CREATE PROCEDURE p() RETURNS STRING LANGUAGE JAVASCRIPT AS $$ return 1 $$"),
        ("tsql", "EXEC p"),
        ("postgres", "CALL p(1)"),
        ("snowflake", "CALL p()"),
        ("postgres", "PREPARE q AS INSERT INTO a SELECT x FROM b"),
    ],
)
def test_what_is_not_analysed_is_an_issue(dialect: str, sql: str) -> None:
    result = lakebed.analyze(sql, dialect=dialect)
    assert [(issue.code, issue.severity) for issue in result.issues] == [("UNSUPPORTED_SYNTAX", "warning")]


@pytest.mark.parametrize("sql", ["USE db", "SET x = 1", "CREATE INDEX i ON t (a)", "GRANT SELECT ON t TO u"])
def test_a_statement_without_lineage_has_no_issue(sql: str) -> None:
    assert lakebed.analyze(sql, dialect="postgres").issues == ()
