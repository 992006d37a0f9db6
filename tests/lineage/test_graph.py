"""The graph over statements: upstream, downstream, paths, impact, and ten thousand statements."""

import pytest
from tests.support.call_counts import count_calls

import lakebed
from lakebed.errors import LineageError
from lakebed.lineage.graph import ColumnId, LineageGraph

SCRIPT = """
CREATE TABLE raw (id INT, cost INT, region STRING);
CREATE VIEW clean AS SELECT id, cost * 2 AS cost, region FROM raw WHERE region IS NOT NULL;
CREATE TABLE daily AS SELECT id, sum(cost) AS total FROM clean GROUP BY id;
CREATE TABLE report AS SELECT d.total AS a, c.cost AS b FROM daily d JOIN clean c ON d.id = c.id;
"""


@pytest.fixture(scope="module")
def graph() -> LineageGraph:
    return LineageGraph.of(lakebed.analyze(SCRIPT))


def names(reached: tuple[object, ...]) -> list[str]:
    return [f"{item.distance} {item.column}" for item in reached]  # type: ignore[attr-defined]


def test_upstream_by_value(graph: LineageGraph) -> None:
    found = graph.upstream(graph.find("report.a"), values_only=True)
    assert names(found) == ["1 daily.total", "2 clean.cost", "3 raw.cost"]


def test_upstream_with_what_decides_about_rows(graph: LineageGraph) -> None:
    assert "raw.region" in {str(item.column) for item in graph.upstream(graph.find("report.a"))}


def test_downstream(graph: LineageGraph) -> None:
    found = graph.downstream(graph.find("RAW.COST"), values_only=True)
    assert names(found) == ["1 clean.cost", "2 daily.total", "2 report.b", "3 report.a"]


def test_depth_ends_the_walk(graph: LineageGraph) -> None:
    assert names(graph.downstream(graph.find("raw.cost"), values_only=True, depth=1)) == ["1 clean.cost"]


def test_paths(graph: LineageGraph) -> None:
    paths = graph.paths(ColumnId("raw", "cost"), ColumnId("report", "a"))
    assert [[str(step.target) for step in path] for path in paths] == [["clean.cost", "daily.total", "report.a"]]


def test_impact_names_columns_tables_and_statements(graph: LineageGraph) -> None:
    impact = graph.impact(graph.find("raw.region"))
    assert set(impact.tables) >= {"clean", "daily", "report"}
    assert impact.statements == (1, 2, 3)
    assert impact.to_dict()["statements"] == [1, 2, 3]


def test_a_table_that_reads_itself_is_no_endless_walk() -> None:
    graph = LineageGraph.of(lakebed.analyze("UPDATE t SET a = b; UPDATE t SET b = a; INSERT INTO t SELECT a, b FROM t"))
    assert {str(item.column) for item in graph.upstream(graph.find("t.a"))} >= {"t.b"}
    assert graph.paths(ColumnId("t", "a"), ColumnId("t", "b"))


def test_doubt_is_kept_on_the_way_and_certainty_wins() -> None:
    graph = LineageGraph.of(
        lakebed.analyze("CREATE TABLE a AS SELECT *, k AS x FROM s; CREATE TABLE b AS SELECT * FROM a")
    )
    (found,) = [item for item in graph.upstream(graph.find("b.x")) if str(item.column) == "a.x"]
    assert found.approximate


def test_what_is_not_there_is_said_with_what_is(graph: LineageGraph) -> None:
    with pytest.raises(LineageError, match="It has"):
        graph.find("raw.nothing")
    with pytest.raises(LineageError, match="Tables are"):
        graph.find("nowhere.x")


def test_ten_thousand_statements() -> None:
    """Ten times the statements are at most eleven times the calls."""

    def calls(statements: int) -> int:
        last = statements - 1
        script = "CREATE TABLE t0 (a INT, b INT);\n" + "".join(
            f"CREATE TABLE t{i} AS SELECT a, a + b AS b FROM t{i - 1};\n" for i in range(1, statements)
        )
        result = lakebed.analyze(script)
        assert result.issues == ()
        with count_calls() as count:
            graph = LineageGraph.of(result)
            up = graph.upstream(graph.find(f"t{last}.b"))
            down = graph.downstream(graph.find("t0.a"))
            paths = graph.paths(ColumnId("t0", "b"), ColumnId(f"t{last}", "b"), limit=1)
        assert len(up) == len(down) == 2 * last
        assert len(paths[0]) == last
        return count.calls

    assert calls(10_000) <= 11 * calls(1_000)
