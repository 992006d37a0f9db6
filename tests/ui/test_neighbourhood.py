"""The part of a lineage that a view shows."""

import pytest

from lakebed.lineage.analyze import Script
from lakebed.lineage.project_files import Project
from lakebed.ui.analyses import Analysis
from lakebed.ui.neighbourhood import FIRST_COLUMNS, Neighbourhood, View, look_around

SQL = """CREATE TABLE raw.cur (id INT, account INT, day DATE, cost DECIMAL(18, 2), spare INT);
CREATE VIEW app.costs AS SELECT account, day, cost AS amount FROM raw.cur WHERE id > 0;
CREATE TABLE app.monthly AS SELECT account, sum(amount) AS total, max(day) AS last FROM app.costs GROUP BY account;
CREATE TABLE app.ranked AS SELECT account, rank() OVER (ORDER BY total) AS place FROM app.monthly;
CREATE TABLE app.report AS SELECT m.account, m.total, r.place, e.* FROM app.monthly m
JOIN app.ranked r ON m.account = r.account JOIN elsewhere e ON e.id = m.account;
"""


def analysis_of(sql: str, file: str = "models/a.sql") -> Analysis:
    return Analysis("test", Project((Script(sql, file),), ordered=True), None, "duckdb")


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analysis_of(SQL)


def seen(analysis: Analysis, **view: object) -> Neighbourhood:
    return look_around(analysis.lineage, analysis.graph, View(**view))  # type: ignore[arg-type]


def names(part: Neighbourhood) -> set[str]:
    return {node.id for node in part.nodes}


def marks(part: Neighbourhood) -> dict[str, str]:
    return {f"{node.id}.{one.name}": one.mark for node in part.nodes for one in node.columns if one.mark}


def test_a_small_project_is_shown_whole(analysis: Analysis) -> None:
    part = seen(analysis)
    assert names(part) == {"raw.cur", "app.costs", "app.monthly", "app.ranked", "app.report", "elsewhere"}
    assert part.detail == "columns"
    assert part.left_out == 0
    ends = {(e.source, e.source_column, e.target, e.target_column, e.role) for e in part.edges}
    assert ("app.costs", "amount", "app.monthly", "total", "value") in ends
    assert ("app.monthly", "total", "app.ranked", "place", "window") in ends
    assert not any(edge.role in ("filter", "join") for edge in part.edges)
    doubtful = [edge for edge in part.edges if edge.approximate]
    assert [(edge.source, edge.target) for edge in doubtful] == [("elsewhere", "app.report")]


def test_predicates_are_shown_when_asked_for(analysis: Analysis) -> None:
    roles = {edge.role for edge in seen(analysis, predicates=True).edges}
    assert {"filter", "join"} <= roles


def test_steps_up_and_down(analysis: Analysis) -> None:
    part = seen(analysis, tables=("app.monthly",), up=1, down=1)
    assert names(part) == {"app.costs", "app.monthly", "app.ranked", "app.report"}
    costs = next(node for node in part.nodes if node.id == "app.costs")
    report = next(node for node in part.nodes if node.id == "app.report")
    assert (costs.more_up, costs.more_down) == (1, 0)
    assert (costs.statements, costs.file) == ((1,), "models/a.sql")
    assert report.more_up == 1
    assert names(seen(analysis, tables=("app.monthly",), up=0, down=0)) == {"app.monthly"}
    assert "raw.cur" in names(seen(analysis, tables=("app.monthly",), up=2, down=0))
    grown = seen(analysis, tables=("app.monthly",), up=1, down=0, grown_up=frozenset({"app.costs"}))
    assert names(grown) == {"raw.cur", "app.costs", "app.monthly"}
    hidden = seen(analysis, tables=("app.monthly",), hidden=frozenset({"app.costs"}))
    assert "app.costs" not in names(hidden)


def test_a_picked_column_shows_its_paths(analysis: Analysis) -> None:
    part = seen(analysis, column=("app.monthly", "total"))
    assert marks(part) == {
        "raw.cur.cost": "up",
        "app.costs.amount": "up",
        "app.monthly.total": "picked",
        "app.ranked.place": "down",
        "app.report.total": "down",
        "app.report.place": "down",
    }
    assert [(one.table, one.column, one.distance) for one in part.upstream] == [
        ("app.costs", "amount", 1),
        ("raw.cur", "cost", 2),
    ]
    lit = {(edge.source_column, edge.target_column): edge.mark for edge in part.edges if edge.mark}
    assert lit == {
        ("cost", "amount"): "up",
        ("amount", "total"): "up",
        ("total", "place"): "down",
        ("total", "total"): "down",
        ("place", "place"): "down",
    }


def test_only_the_paths(analysis: Analysis) -> None:
    part = seen(analysis, column=("app.monthly", "last"), only=True)
    assert names(part) == {"raw.cur", "app.costs", "app.monthly"}
    assert {column.name for node in part.nodes for column in node.columns} == {"day", "last"}
    assert all(edge.mark for edge in part.edges)


def test_filters_count_for_the_paths_when_they_are_shown(analysis: Analysis) -> None:
    without = seen(analysis, column=("raw.cur", "id"))
    assert set(marks(without)) == {"raw.cur.id"}
    part = seen(analysis, column=("raw.cur", "id"), predicates=True)
    assert marks(part)["app.costs.amount"] == "down"
    assert any(edge.mark == "down" and edge.role == "filter" for edge in part.edges)


def test_columns_come_in_steps() -> None:
    wide = analysis_of(
        f"CREATE TABLE wide ({', '.join(f'c{number} INT' for number in range(30))});"
        f"CREATE VIEW v AS SELECT {', '.join(f'c{number}' for number in range(12))} FROM wide"
    )
    first = next(node for node in seen(wide).nodes if node.id == "wide")
    assert (len(first.columns), first.more_used, first.more_known) == (FIRST_COLUMNS, 12 - FIRST_COLUMNS, 18)
    used = next(node for node in seen(wide, expanded=frozenset({"wide"})).nodes if node.id == "wide")
    assert (len(used.columns), used.more_used, used.more_known) == (12, 0, 18)
    every = next(node for node in seen(wide, whole=frozenset({"wide"})).nodes if node.id == "wide")
    assert (len(every.columns), every.more_used, every.more_known) == (30, 0, 0)
    assert first.height < used.height < every.height
    # the picked column is always there
    picked = next(node for node in seen(wide, column=("wide", "c11")).nodes if node.id == "wide")
    assert picked.columns[-1].name == "c11"
    assert picked.columns[-1].mark == "picked"


def test_tables_only(analysis: Analysis) -> None:
    part = seen(analysis, detail="tables")
    assert all(not node.columns for node in part.nodes)
    pairs = [(edge.source, edge.target) for edge in part.edges]
    assert len(pairs) == len(set(pairs))


def test_groups_stand_for_their_tables(analysis: Analysis) -> None:
    part = seen(analysis, group="schema")
    assert names(part) == {"group:raw", "group:app", "elsewhere"}
    app = next(node for node in part.nodes if node.id == "group:app")
    assert (app.kind, app.label, app.members) == ("group", "app", 4)
    assert {(edge.source, edge.target) for edge in part.edges} == {
        ("group:raw", "group:app"),
        ("elsewhere", "group:app"),
    }
    opened = seen(analysis, group="schema", opened=frozenset({"app"}))
    assert names(opened) == {"group:raw", "elsewhere", "app.costs", "app.monthly", "app.ranked", "app.report"}


def test_a_limit_keeps_the_nearest_and_counts_the_rest() -> None:
    star = analysis_of(";".join(f"CREATE TABLE leaf{number} AS SELECT a FROM hub" for number in range(30)))
    part = seen(star, limit=10)
    assert "hub" in names(part)
    assert len(part.nodes) == 10
    assert part.left_out == 21
    focused = seen(star, tables=("hub",), limit=5)
    assert (len(focused.nodes), focused.left_out) == (5, 26)
    assert next(node for node in focused.nodes if node.id == "hub").more_down == 26


def test_names_that_are_not_there_are_told(analysis: Analysis) -> None:
    part = seen(analysis, tables=("nowhere",), column=("app.monthly", "no_such"))
    assert part.unknown == ("nowhere", "app.monthly.no_such")
    assert len(part.nodes) == 6


def test_a_table_that_reads_itself_is_drawn() -> None:
    part = seen(analysis_of("UPDATE t SET a = b"), column=("t", "a"))
    assert [(edge.source_column, edge.target_column, edge.mark) for edge in part.edges] == [("b", "a", "up")]
