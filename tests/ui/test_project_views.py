"""What the explorer says about a project besides the graph: files, lists, places in the SQL, schema, drafts."""

from pathlib import Path

import pytest
from tests.ui.test_neighbourhood import SQL, analysis_of

from lakebed.errors import ConfigError, NotFound
from lakebed.lineage.analyze import Script
from lakebed.lineage.project_files import Project
from lakebed.ui.analyses import KEPT, Analyses, Analysis, Draft, Sources
from lakebed.ui.files import file_text, summarise
from lakebed.ui.overview import list_edges, matrix, overview, search_names
from lakebed.ui.places import edge_places
from lakebed.ui.schema_import import import_schema
from lakebed.ui.schema_view import schema_view


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analysis_of(SQL)


def test_the_overview_has_every_table_once(analysis: Analysis) -> None:
    whole = overview(analysis.lineage)
    assert set(whole.names) == set(analysis.lineage.tables)
    assert len(set(whole.places)) == len(whole.names) == len(whole.kinds)
    pairs = {(whole.names[source], whole.names[target]) for source, target in whole.edges}
    assert ("app.monthly", "app.report") in pairs
    assert max(x for x, _ in whole.places) < whole.width


def test_every_edge_is_in_the_list(analysis: Analysis) -> None:
    every = list_edges(analysis.lineage, analysis.traced.result, limit=1000)
    assert every.total == len(every.rows)
    columns = [edge for statement in analysis.traced.result.statements for edge in statement.column_lineage]
    assert len([row for row in every.rows if row.source_column is not None]) == len(set(columns))
    assert {row.role for row in every.rows} == {"value", "window", "filter", "join"}
    found = list_edges(analysis.lineage, analysis.traced.result, search="monthly.TOTAL", sort="target")
    assert [(row.source_column, row.target) for row in found.rows] == [
        ("amount", "app.monthly"),
        ("total", "app.ranked"),
        ("total", "app.report"),
    ]
    page = list_edges(analysis.lineage, analysis.traced.result, sort="source", descending=True, offset=2, limit=3)
    assert (len(page.rows), page.total) == (3, every.total)


def test_the_matrix_counts_columns(analysis: Analysis) -> None:
    cells = matrix(analysis.lineage)
    counts = {(cells.tables[row], cells.tables[column]): links for row, column, links, _ in cells.cells}
    assert counts["raw.cur", "app.costs"] == 4
    assert counts["app.monthly", "app.ranked"] == 2


def test_search_finds_tables_before_columns(analysis: Analysis) -> None:
    assert [(one.table, one.column) for one in search_names(analysis.lineage, "Total").found] == [
        ("app.monthly", "total"),
        ("app.report", "total"),
    ]
    assert search_names(analysis.lineage, "app.mon").found[0].table == "app.monthly"
    assert search_names(analysis.lineage, "monthly.to").found[0].column == "total"
    assert search_names(analysis.lineage, "app", limit=2).total == 4
    assert search_names(analysis.lineage, "  ").total == 0


def test_an_edge_knows_both_of_its_places(analysis: Analysis) -> None:
    [place] = edge_places(analysis.traced, "duckdb", source=("app.costs", "amount"), target=("app.monthly", "total"))
    assert (place.file, place.line, place.statement) == ("models/a.sql", 3, 2)
    assert place.source is not None
    assert place.target is not None
    assert SQL[slice(*place.source)] == "amount"
    assert SQL[slice(*place.target)] == "sum(amount) AS total"
    [star] = edge_places(analysis.traced, "duckdb", source=("elsewhere", None), target=("app.report", None))
    assert star.source is not None
    assert SQL[slice(*star.source)] == "elsewhere"


def test_a_file_has_statements_names_and_diagnostics(analysis: Analysis) -> None:
    file = file_text(analysis, "models/a.sql")
    assert file is not None
    assert [one.table for one in file.statements] == ["raw.cur", "app.costs", "app.monthly", "app.ranked", "app.report"]
    assert all(SQL[one.start : one.end].startswith("CREATE") for one in file.statements)
    named = {(one.table, one.column): SQL[one.start : one.end] for one in file.names if one.column}
    assert named["app.costs", "amount"] == "amount"
    assert {one.code for one in file.diagnostics} == {"UNKNOWN_TABLE", "APPROXIMATE_LINEAGE"}
    assert all(one.hint and one.line for one in file.diagnostics)
    assert file_text(analysis, "other.sql") is None
    summary = summarise(analysis, has_sql=True)
    assert (summary.statements, summary.tables) == (5, 6)
    assert [(one.name, one.statements) for one in summary.files] == [("models/a.sql", 5)]


def test_the_schema_in_three_views() -> None:
    sql = "CREATE TEMP TABLE t (a INT, c INT); CREATE VIEW v AS SELECT * FROM t; SELECT x FROM u"
    imported = {"tables": [{"name": "t", "columns": [{"name": "a", "dataType": "INT"}, {"name": "b"}]}]}
    found = schema_view(Analysis("x", Project((Script(sql, "s.sql"),), ordered=True), imported, "duckdb"))
    assert [table.name for table in found.imported] == ["t"]
    assert [table.name for table in found.hybrid] == ["t", "v"]
    implied = {table.name: table for table in found.implied}
    assert set(implied) == {"t", "v"}
    assert [column.name for column in implied["t"].columns] == ["a", "c"]
    assert implied["t"].temporary
    assert (implied["v"].statement, implied["v"].file, implied["v"].line) == (1, "s.sql", 1)
    [conflict] = found.conflicts
    assert conflict.table == "t"
    assert [column.name for column in conflict.imported] == ["a", "b"]
    assert [column.name for column in conflict.implied] == ["a", "c"]
    [prompt] = found.prompts
    assert (prompt.table, prompt.columns) == ("u", ("x",))


def test_adding_the_prompted_columns_ends_the_doubt(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE VIEW v AS SELECT s.one, s.two FROM app.s AS s")
    analyses = Analyses(Sources((str(tmp_path),)))
    [prompt] = schema_view(analyses.current()).prompts
    table = {"schema": prompt.schema, "name": prompt.name, "columns": [{"name": name} for name in prompt.columns]}
    after = analyses.of((), (table,))
    assert schema_view(after).prompts == ()
    assert [table.name for table in schema_view(after).imported] == ["app.s"]
    assert after.traced.result.issues == ()


def test_drafts_take_the_place_of_files_and_files_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text("SELECT one FROM t")
    analyses = Analyses(Sources((str(tmp_path),)))
    first = analyses.current()
    assert analyses.current() is first
    draft = analyses.of([Draft(str(file), "SELECT two FROM t"), Draft("new.sql", "CREATE VIEW w AS SELECT 1 AS x")], ())
    assert {"w", "a", "t"} <= set(draft.lineage.tables)
    assert [column.name for column in draft.lineage.tables["t"].columns] == ["two"]
    assert analyses.find(draft.key) is draft
    assert file.read_text() == "SELECT one FROM t"
    file.write_text("SELECT three, four FROM t")
    assert [column.name for column in analyses.current().lineage.tables["t"].columns] == ["three", "four"]
    for number in range(KEPT):
        analyses.of([Draft("new.sql", f"SELECT {number}")], ())
    with pytest.raises(NotFound, match="analyse the SQL again"):
        analyses.find(draft.key)


def test_schemas_come_only_from_below_the_folders(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.sql").write_text("SELECT 1")
    (inside / "schema.json").write_text('{"tables": [{"name": "t", "columns": ["a"]}]}')
    (tmp_path / "secret.json").write_text('{"tables": []}')
    (inside / "link.json").symlink_to(tmp_path / "secret.json")
    sources = Sources((str(inside),))
    assert import_schema(sources, str(inside / "schema.json"))["tables"] == [{"name": "t", "columns": ["a"]}]
    for outside in (
        str(tmp_path / "secret.json"),
        str(inside / ".." / "secret.json"),
        str(inside / "link.json"),
        f"duckdb:{tmp_path / 'x.duckdb'}",
        f"dbt:{tmp_path}",
        "parquet:/",
        "postgresql://user@elsewhere/db",
        "sqlite:////etc/x",
    ):
        with pytest.raises(ConfigError, match="does not lie below"):
            import_schema(sources, outside)
    for address in ("\0", "duckdb:\0", "\ud800", "iceberg:\n"):
        with pytest.raises(ConfigError, match="is no address"):
            import_schema(sources, address)
    for address in (str(inside / ("a" * 300)), f"dbt:{inside / ('a' * 300)}"):
        with pytest.raises(ConfigError, match="cannot be read"):
            import_schema(sources, address)
    for address in ("spark", "spark:db"):
        with pytest.raises(ConfigError, match="no Spark session"):
            import_schema(Sources(), address)
