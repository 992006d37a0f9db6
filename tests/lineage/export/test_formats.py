"""Every format says what the result says, and is what it claims to be."""

import base64
import csv
import hashlib
import io
import json
import re
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


def test_html_stands_alone_and_sql_cannot_leave_its_script(result: AnalyzeResult, sources: ScriptTexts) -> None:
    page = export(result, "html", sources)
    assert page.count("</script>") == 1
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "src=" not in page
    data = page.split("const data = ", 1)[1].split(";\nconst ROW", 1)[0]
    assert {table["name"] for table in json.loads(data)["tables"]} >= {"raw", "clean", "daily", "elsewhere"}


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


def test_the_page_lets_only_its_own_script_and_style_run() -> None:
    scripts = [Script("CREATE VIEW v AS SELECT '</script><script>alert(1)</script>' AS x, '/*POLICY*/' AS y", "v.sql")]
    page = export(lakebed.analyze(scripts), "html", ScriptTexts(scripts))
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for element in ("script", "style"):
        [content] = re.findall(f"<{element}[^>]*>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{element}-src"] == f"'sha256-{digest}'"
    # Neither is covered by a hash.
    assert not re.search(r"<[^>]+ (style|on\w+)=", page.split("<script>")[0])
