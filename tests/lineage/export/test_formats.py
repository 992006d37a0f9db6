"""Every format says what the result says, and is what it claims to be."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest

import lakebed
from lakebed.errors import ConfigError, LineageError
from lakebed.lineage import AnalyzeResult, Script
from lakebed.lineage.export import ALL_FORMATS, FORMATS, export
from lakebed.lineage.export.duckdb import to_duckdb
from lakebed.lineage.export.script_texts import ScriptTexts


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_names_every_table(result: AnalyzeResult, sources: ScriptTexts, format: str) -> None:
    text = export(result, format, sources)
    for table in ("raw", "clean", "daily"):
        assert table in text


def test_an_unknown_format_is_refused_with_the_list(result: AnalyzeResult, sources: ScriptTexts) -> None:
    with pytest.raises(ConfigError, match="openlineage"):
        export(result, "pdf", sources)
    assert "duckdb" in ALL_FORMATS


def test_text_is_a_tree_with_places(result: AnalyzeResult, sources: ScriptTexts) -> None:
    text = export(result, "text", sources)
    assert "2. CREATE_VIEW clean  (models/costs.sql:2)" in text
    assert "├─ cost\n│  └─ raw.cost" in text
    assert "clean.id [window]" in text
    assert "models/costs.sql:5:7: error:" in text
    assert "models/costs.sql:4:8: note:" in text
    assert text.rstrip().endswith("1 error, 0 warnings, 2 notes")


def test_json_is_the_contract(result: AnalyzeResult, sources: ScriptTexts) -> None:
    answer = json.loads(export(result, "json", sources))
    assert answer == json.loads(json.dumps(result.to_dict()))
    assert answer["statements"][0]["file"] == "models/costs.sql"
    assert {issue["file"] for issue in answer["issues"]} == {"models/costs.sql"}


def test_csv_has_one_row_per_edge(result: AnalyzeResult, sources: ScriptTexts) -> None:
    rows = list(csv.DictReader(io.StringIO(export(result, "csv", sources))))
    assert len(rows) == sum(len(statement.column_lineage) for statement in result.statements)
    assert {row["role"] for row in rows} == {"value", "window", "filter", "join"}
    assert {row["approximate"] for row in rows} == {"true", "false"}
    assert 'the "total"' in {row["target_column"] for row in rows}


def test_mermaid_quotes_names_and_dashes_doubt(result: AnalyzeResult, sources: ScriptTexts) -> None:
    text = export(result, "mermaid", sources)
    assert text.startswith("flowchart LR\n")
    assert "the &quot;total&quot;" in text
    assert "-.->" in text
    assert "-->|window|" in text
    assert text.count("subgraph") == text.count("\n  end")


def test_duckdb_file_has_recursive_views(result: AnalyzeResult, sources: ScriptTexts, tmp_path: Path) -> None:
    path = tmp_path / "lineage.duckdb"
    to_duckdb(result, sources, path)
    with duckdb.connect(str(path), read_only=True) as connection:
        query = "SELECT source_table || '.' || source_column FROM {} WHERE table_name = 'daily' AND column_name = 'top'"
        assert set(connection.sql(query.format("upstream")).fetchall()) >= {("clean.cost",), ("raw.cost",), ("raw.id",)}
        assert set(connection.sql(query.format("origins")).fetchall()) == {("raw.cost",), ("raw.id",)}
        down = connection.sql("SELECT target_column FROM downstream WHERE table_name = 'raw' AND column_name = 'cost'")
        assert ("top",) in down.fetchall()
        (edges,) = connection.sql("SELECT count(*) FROM column_lineage").fetchone() or (0,)
        assert edges == sum(len(statement.column_lineage) for statement in result.statements)
        assert connection.sql("SELECT count(*) FROM issues WHERE severity = 'error'").fetchone() == (1,)
        assert connection.sql("SELECT sql FROM statements WHERE statement_index = 4").fetchone() == ("SELEC 1",)
    with pytest.raises(LineageError, match="there already"):
        to_duckdb(result, sources, path)


def test_duckdb_views_end_where_a_table_reads_itself(tmp_path: Path) -> None:
    scripts = [Script("UPDATE t SET a = b; UPDATE t SET b = a; INSERT INTO t SELECT a, b FROM t")]
    to_duckdb(lakebed.analyze(scripts), ScriptTexts(scripts), tmp_path / "x.duckdb")
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as connection:
        assert len(connection.sql("FROM upstream").fetchall()) == 4
