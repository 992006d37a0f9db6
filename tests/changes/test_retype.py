"""A new type is followed to where it matters, and not beyond."""

from pathlib import Path

import pytest

import lakebed

RAW = "CREATE TABLE app.orders (id INT, amt INT, code STRING, day DATE)"


def project(folder: Path, **models: str) -> Path:
    for name, text in {"raw": RAW, **models}.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


def retype(folder: Path, column: str, to: str) -> lakebed.ImpactResult:
    return lakebed.impact(retype={column: to}, folder=folder)


def test_a_type_is_followed_until_an_expression_fixes_it(tmp_path: Path) -> None:
    project(
        tmp_path,
        a="SELECT *, amt + 1 AS more FROM app.orders",
        b="WITH c AS (SELECT amt AS n, more FROM a) SELECT n, more, cast(n AS STRING) AS t, count(n) AS k FROM c"
        " GROUP BY n, more",
        z="SELECT t, k FROM b",
    )
    result = retype(tmp_path, "orders.amt", "DOUBLE")
    assert {one.path[-1] for one in result.reached} == {"a.amt", "a.more", "b.n", "b.more"}
    assert next(one.path for one in result.reached if one.column == "n") == ("app.orders.amt", "a.amt", "b.n")
    assert not result.breaking


@pytest.mark.parametrize(
    ("column", "to", "sql", "line"),
    [
        ("amt", "STRING", "SELECT id FROM app.orders\nWHERE amt > 5", 2),
        ("amt", "STRING", "SELECT a.id FROM app.orders a\nJOIN app.orders b ON a.id = b.amt", 2),
        ("amt", "STRING", "SELECT\nsum(amt) AS total FROM app.orders", 2),
        ("amt", "STRING", "SELECT\namt * 2 AS twice FROM app.orders", 2),
        ("amt", "STRING", "SELECT id FROM app.orders UNION ALL SELECT amt FROM app.orders", 1),
        ("amt", "BIGINT", "CREATE TABLE t (a INT); INSERT INTO t SELECT amt FROM app.orders", 1),
        ("amt", "STRING", "CREATE TABLE t (a INT);\nUPDATE t SET a = (SELECT 1);\nUPDATE app.orders SET id = amt", 3),
        ("day", "STRING", "SELECT id FROM app.orders\nWHERE day > current_date", 2),
        ("code", "INT", "SELECT a.id FROM app.orders a JOIN app.orders b\nON a.code = upper(b.code)", 2),
    ],
)
def test_what_no_longer_fits_breaks(tmp_path: Path, column: str, to: str, sql: str, line: int) -> None:
    result = retype(project(tmp_path, m=sql), f"orders.{column}", to)
    assert [(Path(one.place.file or "").stem, one.place.line) for one in result.breaks] == [("m", line)]


@pytest.mark.parametrize(
    ("column", "to", "sql"),
    [
        ("amt", "BIGINT", "SELECT id FROM app.orders WHERE amt > 5"),
        ("amt", "BIGINT", "SELECT sum(amt) AS total FROM app.orders"),
        ("amt", "INTEGER", "SELECT amt FROM app.orders WHERE amt = id"),
        ("day", "TIMESTAMP", "SELECT id FROM app.orders WHERE day > '2026-01-01'"),
        ("code", "VARCHAR(10)", "SELECT id FROM app.orders WHERE code = 'x'"),
        ("amt", "STRING", "SELECT id FROM app.orders WHERE code > 5"),
        ("amt", "STRING", "SELECT concat(amt, 'x') AS c FROM app.orders"),
    ],
)
def test_what_still_fits_does_not_break(tmp_path: Path, column: str, to: str, sql: str) -> None:
    assert not retype(project(tmp_path, m=sql), f"orders.{column}", to).breaking


def test_a_conflict_downstream_is_found_where_it_is(tmp_path: Path) -> None:
    project(
        tmp_path, a="SELECT * FROM app.orders", b="SELECT amt AS n FROM a", c="SELECT id FROM a\nJOIN b ON a.id = b.n"
    )
    result = retype(tmp_path, "orders.amt", "STRING")
    assert [(Path(one.place.file or "").stem, one.place.line) for one in result.breaks] == [("c", 2)]


def test_circles_of_views_end(tmp_path: Path) -> None:
    project(tmp_path, a="SELECT amt FROM b UNION ALL SELECT amt FROM app.orders", b="SELECT amt FROM a")
    retype(tmp_path, "orders.amt", "BIGINT")
