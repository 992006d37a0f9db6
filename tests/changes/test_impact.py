"""What a change of a column reaches and breaks: every place that names it, and nothing else."""

from pathlib import Path

import pytest

import lakebed
from lakebed.errors import ConfigError

RAW = "CREATE TABLE app.orders (id INT, amt INT, day DATE, note STRING)"


def project(folder: Path, **models: str) -> Path:
    for name, text in {"raw": RAW, **models}.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


def broken(result: lakebed.ImpactResult) -> set[tuple[str, int]]:
    return {(Path(one.place.file or "").stem, one.place.line) for one in result.breaks}


def ends(result: lakebed.ImpactResult) -> set[str]:
    return {one.path[-1] for one in result.reached}


@pytest.mark.parametrize(
    ("sql", "line", "roles"),
    [
        ("SELECT\n amt AS x FROM app.orders", 2, ("value",)),
        ("SELECT id FROM app.orders\nWHERE amt > 1", 2, ("filter",)),
        ("SELECT id FROM app.orders GROUP BY id\nHAVING sum(amt) > 1", 2, ("filter",)),
        ("SELECT id FROM app.orders\nORDER BY amt", 2, ("named",)),
        ("SELECT count(*) AS n FROM app.orders\nGROUP BY amt", 2, ("named",)),
        ("SELECT CASE WHEN amt > 1 THEN id END AS x FROM app.orders", 1, ("conditional",)),
        ("SELECT row_number() OVER (PARTITION BY amt) AS x FROM app.orders", 1, ("window",)),
        ("SELECT a.id FROM app.orders a\nJOIN app.orders b ON a.id = b.amt", 2, ("join",)),
        ("SELECT a.id FROM app.orders a\nJOIN app.orders b USING (amt)", 2, ("join",)),
        ("WITH unused AS (\nSELECT amt FROM app.orders) SELECT 1 AS one", 2, ("named",)),
        ("SELECT * EXCEPT (amt) FROM app.orders", 1, ("named",)),
        ("SELECT id FROM app.orders WHERE EXISTS (SELECT 1 FROM app.orders o WHERE o.amt = 1)", 1, ("filter",)),
        ("WITH all_of AS (SELECT * FROM app.orders)\nSELECT AMT FROM all_of", 2, ("value",)),
        ("INSERT INTO app.orders (id, amt) SELECT 1, 2", 1, ("named",)),
        ("INSERT INTO app.orders SELECT 1, 2, current_date, 'x'", 1, ("named",)),
        ("UPDATE app.orders SET amt = 1", 1, ("named",)),
        ("UPDATE app.orders SET id = 1 WHERE amt = 2", 1, ("filter",)),
        ("DELETE FROM app.orders WHERE amt = 2", 1, ("filter",)),
        (
            "MERGE INTO app.orders t USING app.orders s ON t.id = s.id\nWHEN MATCHED THEN UPDATE SET amt = s.id",
            2,
            ("named",),
        ),
    ],
)
def test_a_dropped_column_breaks_what_names_it(tmp_path: Path, sql: str, line: int, roles: tuple[str, ...]) -> None:
    result = lakebed.impact(drop="orders.amt", folder=project(tmp_path, m=sql))
    assert broken(result) == {("m", line)}
    assert result.breaks[0].roles == roles
    renamed = lakebed.impact(rename={"orders.amt": "amount"}, folder=tmp_path)
    assert broken(renamed) == {("m", line)}
    assert "amount" in renamed.breaks[0].reason


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM app.orders",
        "SELECT * FROM app.orders",
        "SELECT count(*) AS n FROM app.orders",
        "SELECT amt FROM elsewhere.orders",
        "WITH orders AS (SELECT 1 AS amt) SELECT amt FROM orders",
        "SELECT id AS amt FROM app.orders",
    ],
)
def test_what_does_not_name_it_is_not_broken(tmp_path: Path, sql: str) -> None:
    assert not lakebed.impact(drop="app.orders.amt", folder=project(tmp_path, m=sql)).breaking


def test_stars_pass_it_on_until_somebody_names_it(tmp_path: Path) -> None:
    models = {f"s{n}": f"SELECT * FROM {'app.orders' if n == 0 else f's{n - 1}'}" for n in range(5)}
    project(tmp_path, **models, last="SELECT id,\namt + 1 AS more FROM s4", after="SELECT more FROM last")
    result = lakebed.impact(drop="orders.AMT", folder=tmp_path)
    assert broken(result) == {("last", 2)}
    assert "a star passes it on from app.orders.amt" in result.breaks[0].reason
    path = next(one.path for one in result.reached if one.path[-1] == "after.more")
    assert path == ("app.orders.amt", *(f"s{n}.amt" for n in range(5)), "last.more", "after.more")


def test_a_star_into_a_table_breaks_by_position_where_a_column_goes_and_not_where_it_is_renamed(tmp_path: Path) -> None:
    project(tmp_path, m="CREATE TABLE t (a INT, b INT, c DATE, d STRING); INSERT INTO t SELECT * FROM app.orders")
    assert broken(lakebed.impact(drop="orders.amt", folder=tmp_path)) == {("m", 1)}
    assert not lakebed.impact(rename={"orders.amt": "x"}, folder=tmp_path).breaking


def test_filters_and_joins_reach_every_column_of_what_they_decide(tmp_path: Path) -> None:
    project(tmp_path, m="SELECT id FROM app.orders WHERE amt > 1", n="SELECT id AS key FROM m")
    result = lakebed.impact("orders.amt", folder=tmp_path)
    assert [(one.table, one.column, one.role) for one in result.reached] == [
        ("m", None, "filter"),
        ("n", "key", "value"),
    ]
    assert result.reached[1].path == ("app.orders.amt", "m", "n.key")
    assert not result.breaking


def test_a_table_that_goes_breaks_whoever_names_it(tmp_path: Path) -> None:
    project(
        tmp_path,
        reads="SELECT count(*) AS n FROM app.orders",
        unused="WITH u AS (SELECT 1 AS x FROM app.orders) SELECT 1 AS one",
        writes="INSERT INTO app.orders (id) SELECT 1",
        other="SELECT n FROM reads",
    )
    result = lakebed.impact(drop="orders", folder=tmp_path)
    assert broken(result) == {("reads", 1), ("unused", 1), ("writes", 1)}


def test_tables_whose_columns_nobody_declares(tmp_path: Path) -> None:
    for name, text in {"a": "SELECT * FROM land.events", "b": "SELECT Kind FROM a", "c": "SELECT kind FROM b"}.items():
        (tmp_path / f"{name}.sql").write_text(text)
    result = lakebed.impact(drop="events.kind", folder=tmp_path)
    assert broken(result) == {("b", 1)}
    assert ends(result) == {"a.kind", "b.Kind", "c.kind"}
    assert all(one.approximate for one in result.reached)


def test_circles_end(tmp_path: Path) -> None:
    project(
        tmp_path,
        a="SELECT amt FROM b UNION ALL SELECT amt FROM app.orders",
        b="SELECT amt FROM a",
        c="UPDATE app.orders SET amt = amt + 1",
    )
    assert {"a.amt", "b.amt", "app.orders.amt"} <= ends(lakebed.impact("orders.amt", folder=tmp_path))


def test_what_cannot_be_analysed_is_told(tmp_path: Path) -> None:
    result = lakebed.impact(drop="orders.amt", folder=project(tmp_path, bad="SELEC amt FRM orders WHERE"))
    assert [Path(place.file or "").stem for place in result.unknown] == ["bad"]


def test_files_that_cannot_be_read_or_rendered_are_told(tmp_path: Path) -> None:
    folder = project(tmp_path, odd="SELECT {{ nope( }} FROM app.orders")
    (folder / "latin.sql").write_bytes(b"SELECT amt AS caf\xe9 FROM app.orders")
    result = lakebed.impact(drop="orders.amt", folder=folder)
    told = {Path(place.file or "").stem: place.to_dict()["statementIndex"] for place in result.unknown}
    assert told == {"odd": None, "latin": None}


def test_names_that_are_wrong_are_refused_with_the_nearest(tmp_path: Path) -> None:
    project(tmp_path, one="CREATE TABLE x.items (a INT)", two="CREATE TABLE y.items (a INT)")
    for arguments, says in (
        ({"drop": "order.amt"}, r"app\.orders"),
        ({"drop": "orders.amount"}, "amt"),
        ({"drop": "items.a"}, r"x\.items, y\.items"),
        ({"drop": ""}, "name"),
        ({"rename": {"orders.amt": "ID"}}, "already"),
        ({"rename": {"orders": "b"}}, "is a table"),
        ({"retype": {"orders.amt": " "}}, "no new type"),
        ({}, "no change"),
    ):
        with pytest.raises(ConfigError, match=says):
            lakebed.impact(folder=tmp_path, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ['app."orders".amt', "`app`.`orders`.`amt`", "APP.Orders.Amt", "orders.amt"])
def test_names_are_taken_quoted_or_not_in_any_case(tmp_path: Path, name: str) -> None:
    assert lakebed.impact(drop=name, folder=project(tmp_path, m="SELECT amt FROM app.orders")).breaking


def test_a_column_that_nothing_reads_reaches_nothing(tmp_path: Path) -> None:
    result = lakebed.impact(drop="orders.note", folder=project(tmp_path, m="SELECT id FROM app.orders"))
    assert (result.breaks, result.reached) == ((), ())
    assert result.to_dict()["changes"] == [{"kind": "drop", "table": "app.orders", "column": "note", "to": None}]


def test_branches_of_a_set_operation_stay_as_wide_as_each_other(tmp_path: Path) -> None:
    project(
        tmp_path,
        other="CREATE TABLE app.more (id INT, amt INT, day DATE, note STRING)",
        both="SELECT id FROM app.orders;\nCREATE VIEW w AS\nSELECT * FROM app.orders\nUNION ALL SELECT * FROM app.more",
        same="SELECT * FROM app.orders UNION ALL SELECT * FROM app.orders",
    )
    result = lakebed.impact(drop="orders.amt", folder=tmp_path)
    assert broken(result) == {("both", 3)}
    assert "3 and 4 columns" in result.breaks[0].reason
    assert not lakebed.impact(rename={"orders.amt": "x"}, folder=tmp_path).breaking


def test_a_table_of_the_schema_that_nothing_reads(tmp_path: Path) -> None:
    schema = {"tables": [{"schema": "land", "name": "unused", "columns": [{"name": "x"}]}]}
    (tmp_path / "m.sql").write_text("SELECT 1 AS one")
    result = lakebed.impact(drop="unused.x", folder=tmp_path, schema=schema)
    assert (result.breaks, result.reached) == ((), ())


def test_a_change_goes_on_through_a_renamed_table(tmp_path: Path) -> None:
    load = "CREATE TABLE n AS SELECT id, amt FROM app.orders;\nALTER TABLE n RENAME TO t;\n"
    folder = project(tmp_path, load=load, report="SELECT amt AS x FROM t")
    reached = lakebed.impact("orders.amt", folder=folder).reached
    assert [one.path[1:] for one in reached] == [("n.amt",), ("n.amt", "t.amt"), ("n.amt", "t.amt", "report.x")]
    assert [one.place.line for one in reached] == [1, 2, 1]


def test_a_star_through_a_renamed_table_passes_the_loss_on(tmp_path: Path) -> None:
    load = "CREATE TABLE n AS SELECT * FROM app.orders;\nALTER TABLE n RENAME TO t;\n"
    folder = project(tmp_path, load=load, report="SELECT amt AS x FROM t")
    assert broken(lakebed.impact(drop="orders.amt", folder=folder)) == {("report", 1)}


def test_as_many_are_counted_as_are_listed(tmp_path: Path) -> None:
    folder = project(tmp_path, a="SELECT * FROM app.orders WHERE amt > 1", b="SELECT day, amt + id AS x FROM a")
    result = lakebed.impact(["orders.amt", "orders.id"], folder=folder)
    assert [len(found) for found in result.reached_by_change] == [4, 2]
    assert result.reached_count == len(result.reached) == 6
    [first, *_] = result.reached_by_change
    assert list(first) == list(first[:]) == [first[place] for place in range(len(first))]
