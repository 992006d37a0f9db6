"""Random and broken SQL: never an exception, never a hang, always an answer that keeps the contract."""

import json
import random
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.lineage.test_contract import VALIDATOR
from tests.lineage.test_pairs import pairs
from tests.support.call_counts import count_calls

import lakebed
from lakebed.lineage.dialects import DIALECTS

TEXTS = [sql for _, _, sql, _ in pairs()]
WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "NATURAL",
    "CROSS",
    "USING",
    "ON",
    "AND",
    "OR",
    "NOT",
    "IN",
    "EXISTS",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AS",
    "WITH",
    "RECURSIVE",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "SET",
    "DELETE",
    "MERGE",
    "MATCHED",
    "CREATE",
    "TABLE",
    "VIEW",
    "TEMP",
    "OR",
    "REPLACE",
    "DROP",
    "ALTER",
    "ADD",
    "COLUMN",
    "RENAME",
    "TO",
    "LIKE",
    "OVER",
    "PARTITION",
    "PIVOT",
    "UNPIVOT",
    "LATERAL",
    "EXPLODE",
    "UNNEST",
    "QUALIFY",
    "WINDOW",
    "FILTER",
    "INTERVAL",
    "CAST",
    "t",
    "u",
    "a",
    "b",
    "c",
    "x",
    "1",
    "'y'",
    "*",
    ".",
    ",",
    "(",
    ")",
    ";",
    "=",
    "+",
    "-",
    "::",
    "->",
    "[",
    "]",
    "{",
    "}",
    '"',
    "`",
    "'",
    "@",
    "#",
    "$",
    "EXCLUDE",
    "NULL",
    "IS",
    "BETWEEN",
    "DISTINCT",
]

# The longest pair, analysed by a process that has imported nothing yet, makes 72,000 calls; a million are a hang.
CALLS = 1_000_000


def answered(sql: str, dialect: str) -> None:
    with count_calls(limit=CALLS):
        result = lakebed.analyze(sql, dialect=dialect)
        answer = json.loads(json.dumps(result.to_dict()))
    VALIDATOR.validate(answer)
    for issue in result.issues:
        assert issue.span is not None
        assert 0 <= issue.span.start <= issue.span.end <= len(sql), (sql, issue)


COMMON = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@COMMON
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from(sorted(DIALECTS)))
def test_words_in_any_order(words: list[str], dialect: str) -> None:
    answered(" ".join(words), dialect)


@COMMON
@given(st.text(max_size=200), st.sampled_from(sorted(DIALECTS)))
def test_any_text(text: str, dialect: str) -> None:
    answered(text, dialect)


@COMMON
@given(st.sampled_from(TEXTS), st.integers(0, 2**32), st.sampled_from(sorted(DIALECTS)))
def test_real_statements_with_something_broken(text: str, seed: int, dialect: str) -> None:
    chance = random.Random(seed)
    tokens = text.split(" ")
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(tokens))
        act = chance.random()
        if act < 0.4:
            tokens[place] = chance.choice(WORDS)
        elif act < 0.6:
            del tokens[place]
        elif act < 0.8:
            tokens.insert(place, chance.choice(WORDS))
        else:
            other = chance.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        if not tokens:
            break
    answered(" ".join(tokens), dialect)


@COMMON
@given(st.sampled_from(TEXTS), st.integers(0, 400), st.sampled_from(sorted(DIALECTS)))
def test_real_statements_cut_off(text: str, length: int, dialect: str) -> None:
    answered(text[:length], dialect)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "NOT " * 5000 + "a FROM t",
        "SELECT " + "- " * 5000 + "a FROM t",
        "SELECT * FROM " + "(SELECT * FROM " * 3000 + "t" + ")" * 3000,
        "SELECT " + "CASE WHEN a THEN " * 2000 + "1" + " END" * 2000,
        "SELECT " + "f(" * 3000 + "a" + ")" * 3000,
        "SELECT * FROM t " + "JOIN t " * 300,
        "SELECT CAST(a AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ")",
        "WITH a AS (" * 500 + "SELECT 1" + ") SELECT * FROM a" * 500,
        "SELECT " + "[" * 3000 + "1" + "]" * 3000,
        "SELECT '" + "x" * 100_000,
        "/*" * 1000,
        "BEGIN " * 2000,
    ],
    ids=lambda sql: sql[:24],
)
def test_what_would_overflow_a_parser_is_an_issue(sql: str) -> None:
    with count_calls(limit=CALLS):
        result = lakebed.analyze(sql + "; SELECT a FROM t")
    assert result.issues
    assert result.statements


@pytest.mark.parametrize(
    ("sql", "sources"),
    [
        ("SELECT " + " + ".join(f"c{i}" for i in range(5000)) + " AS x FROM t", 5000),
        ("SELECT a AS x FROM t WHERE " + " AND ".join(f"c{i} = 1" for i in range(5000)), 1),
        ("SELECT x FROM (" + " UNION ALL ".join(f"SELECT a AS x FROM t{i}" for i in range(2000)) + ")", 2000),
        (
            "WITH "
            + ", ".join(f"c{i} AS (SELECT a FROM {f'c{i - 1}' if i else 't'})" for i in range(1000))
            + " SELECT a AS x FROM c999",
            1,
        ),
    ],
    ids=["sum", "and", "union", "ctes"],
)
def test_long_is_not_deep(sql: str, sources: int) -> None:
    (statement,) = lakebed.analyze(sql).statements
    assert statement.outputs == ("x",)
    assert len([edge for edge in statement.column_lineage if edge.target_column == "x"]) == sources


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM (SELECT a AS x FROM " + "(SELECT * FROM " * 499 + "t" + ")" * 500,
        "SELECT " + "(" * 500 + "a" + ")" * 500 + " AS x FROM t",
        "SELECT " + "CASE WHEN true THEN " * 500 + "a" + " END" * 500 + " AS x FROM t",
        "SELECT " + "f(" * 500 + "a" + ")" * 500 + " AS x FROM t",
        "SELECT " + "NOT " * 500 + "a AS x FROM t",
        "SELECT a AS x FROM t WHERE " + "b IN (SELECT b FROM t WHERE " * 500 + "true" + ")" * 500,
        "WITH q AS (" * 500 + "SELECT a AS x FROM t" + ") SELECT x FROM q" * 500,
        "SELECT a AS x FROM " + "(" * 500 + "t" + ")" * 500,
        "SELECT * FROM " + "(" * 500 + "SELECT a AS x FROM t" + " UNION ALL SELECT a FROM t)" * 500,
    ],
    ids=["derived", "parentheses", "case", "calls", "not", "in", "with", "from", "union"],
)
def test_five_hundred_levels_work(sql: str) -> None:
    schema = {"tables": [{"name": "t", "columns": ["a", "b"]}]}
    result = lakebed.analyze(sql + "; SELECT b FROM t", schema=schema)
    assert result.issues == ()
    deep, after = result.statements
    values = [edge for edge in deep.column_lineage if edge.target_column is not None]
    assert deep.outputs == ("x",)
    assert [(edge.source_table, edge.source_column) for edge in values] == [("t", "a")]
    assert after.outputs == ("b",)


def test_deep_statements_leave_the_process_as_it_was() -> None:
    before = sys.getrecursionlimit(), threading.stack_size(), threading.active_count()
    lakebed.analyze("SELECT " + "(" * 300 + "a" + ")" * 300 + " FROM t")
    assert (sys.getrecursionlimit(), threading.stack_size(), threading.active_count()) == before


def test_any_exception_is_an_issue_of_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("lakebed.lineage.statements.delete.predicate", fail)
    result = lakebed.analyze("DELETE FROM t WHERE a = 1; SELECT a FROM t")
    assert [(issue.code, issue.statement_index) for issue in result.issues if issue.severity == "error"] == [
        ("UNSUPPORTED_SYNTAX", 0)
    ]
    assert result.statements[1].outputs == ("a",)


def test_names_and_patterns_that_backtrack_take_no_time() -> None:
    name = "a" * 60 + "b"
    like = "%a" * 30 + "%x"
    for pattern in ("COLUMNS('(a+)+$')", "COLUMNS('^(a|a)*$')", f"* LIKE '{like}'"):
        result = lakebed.analyze(
            f"SELECT {pattern} FROM t", dialect="duckdb", schema={"tables": [{"name": "t", "columns": [name]}]}
        )
        assert result.statements[0].outputs == ()


def test_ten_times_the_statements_are_at_most_eleven_times_the_work() -> None:
    """`benchmarks/lineage.py` has the seconds."""

    def calls(statements: int) -> int:
        script = "".join(
            f"CREATE TABLE t{i} AS SELECT a, b + {i} AS b, max(c) OVER (PARTITION BY a) AS c FROM s{i % 50} WHERE d;\n"
            for i in range(statements)
        )
        with count_calls() as count:
            lakebed.analyze(script)
        return count.calls

    calls(100)
    assert calls(3000) <= 11 * calls(300)


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
def test_columns_that_double_with_every_cte_are_too_complex(dialect: str) -> None:
    doubling = ", ".join(f"c{i} AS (SELECT * FROM c{i - 1} AS l, c{i - 1} AS r)" for i in range(1, 30))
    sql = f"WITH c0 AS (SELECT * FROM t), {doubling} SELECT * FROM c29; SELECT a FROM t"
    with count_calls(limit=10_000_000):
        result = lakebed.analyze(sql, dialect=dialect, schema={"tables": [{"name": "t", "columns": ["a"]}]})
    assert [(issue.code, issue.statement_index) for issue in result.issues] == [("TOO_COMPLEX", 0)]
    assert result.statements[1].outputs == ("a",)
