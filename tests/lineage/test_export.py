"""Every format says what the result says, and is what it claims to be."""

import csv
import io
import json
import uuid
from pathlib import Path

import duckdb
import jsonschema
import pytest

import lakebed
from lakebed.errors import ConfigError, LineageError
from lakebed.lineage import AnalyzeResult, Script
from lakebed.lineage.export import ALL_FORMATS, FORMATS, export
from lakebed.lineage.export.duckdb import to_duckdb
from lakebed.lineage.export.script_texts import ScriptTexts

SQL = '''CREATE TABLE raw (id INT, cost INT, kind STRING);
CREATE VIEW clean AS SELECT id, cost * 2 AS cost FROM raw WHERE kind = 'a</script>"b"';
CREATE TABLE daily AS SELECT id, sum(cost) AS "the ""total""", max(cost) OVER (PARTITION BY id) AS top FROM clean;
SELECT * FROM daily JOIN elsewhere USING (id);
SELEC 1'''


@pytest.fixture(scope="module")
def scripts() -> list[Script]:
    return [Script(SQL, "models/costs.sql")]


@pytest.fixture(scope="module")
def result(scripts: list[Script]) -> AnalyzeResult:
    return lakebed.analyze(scripts, dialect="postgres")


@pytest.fixture(scope="module")
def sources(scripts: list[Script]) -> ScriptTexts:
    return ScriptTexts(scripts)


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


# The shape that OpenLineage 2-0-2 asks of a run event and its column lineage facet 1-2-0, written down from the
# published specification; the identifiers of both are checked to the letter.
_FACET = {
    "type": "object",
    "required": ["_producer", "_schemaURL"],
    "properties": {"_producer": {"format": "uri"}, "_schemaURL": {"type": "string", "format": "uri"}},
}
_INPUT_FIELD = {
    "type": "object",
    "required": ["namespace", "name", "field"],
    "properties": {
        "namespace": {"type": "string"},
        "name": {"type": "string"},
        "field": {"type": "string"},
        "transformations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": ["DIRECT", "INDIRECT"]},
                    "subtype": {"type": "string"},
                    "description": {"type": "string"},
                    "masking": {"type": "boolean"},
                },
            },
        },
    },
}
_DATASET = {
    "type": "object",
    "required": ["namespace", "name"],
    "properties": {
        "namespace": {"type": "string"},
        "name": {"type": "string"},
        "facets": {
            "type": "object",
            "additionalProperties": _FACET,
            "properties": {
                "columnLineage": {
                    "allOf": [_FACET],
                    "required": ["fields"],
                    "properties": {
                        "fields": {
                            "type": "object",
                            "additionalProperties": {
                                "type": "object",
                                "required": ["inputFields"],
                                "properties": {"inputFields": {"type": "array", "items": _INPUT_FIELD}},
                            },
                        },
                        "dataset": {"type": "array", "items": _INPUT_FIELD},
                    },
                },
                "schema": {
                    "allOf": [_FACET],
                    "properties": {"fields": {"type": "array", "items": {"type": "object", "required": ["name"]}}},
                },
            },
        },
    },
}
RUN_EVENT = {
    "type": "object",
    "required": ["eventTime", "producer", "schemaURL", "run", "job"],
    "properties": {
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "eventTime": {"type": "string", "format": "date-time"},
        "producer": {"type": "string", "format": "uri"},
        "schemaURL": {"type": "string", "format": "uri"},
        "run": {"type": "object", "required": ["runId"], "properties": {"runId": {"type": "string", "format": "uuid"}}},
        "job": {
            "type": "object",
            "required": ["namespace", "name"],
            "properties": {"facets": {"type": "object", "additionalProperties": _FACET}},
        },
        "inputs": {"type": "array", "items": _DATASET},
        "outputs": {"type": "array", "items": _DATASET},
    },
}


def test_openlineage_events_keep_the_specification(result: AnalyzeResult, sources: ScriptTexts) -> None:
    events = [json.loads(line) for line in export(result, "openlineage", sources).splitlines()]
    validator = jsonschema.Draft202012Validator(RUN_EVENT, format_checker=jsonschema.FormatChecker())
    for event in events:
        validator.validate(event)
        uuid.UUID(event["run"]["runId"])
        assert event["schemaURL"].startswith("https://openlineage.io/spec/2-0-2/OpenLineage.json#")
    assert len({event["run"]["runId"] for event in events}) == len(events)
    view = next(event for event in events if event["outputs"][0]["name"] == "clean")
    facet = view["outputs"][0]["facets"]["columnLineage"]
    assert facet["fields"]["cost"]["inputFields"][0]["field"] == "cost"
    assert facet["fields"]["cost"]["inputFields"][0]["transformations"][0]["type"] == "DIRECT"
    assert [item["transformations"][0]["subtype"] for item in facet["dataset"]] == ["FILTER"]
    assert [item["name"] for item in view["inputs"]] == ["raw"]
    assert view["job"]["facets"]["sql"]["query"].startswith("CREATE VIEW clean")


def test_openlineages_own_client_accepts_the_events(result: AnalyzeResult, sources: ScriptTexts) -> None:
    facets = pytest.importorskip("openlineage.client.facet_v2", reason="openlineage-python is not installed")
    lineage = facets.column_lineage_dataset
    for line in export(result, "openlineage", sources).splitlines():
        facet = json.loads(line)["outputs"][0]["facets"]["columnLineage"]
        fields = {
            name: lineage.Fields(
                [
                    lineage.InputField(
                        **{**item, "transformations": [lineage.Transformation(**t) for t in item["transformations"]]}
                    )
                    for item in field["inputFields"]
                ]
            )
            for name, field in facet["fields"].items()
        }
        built = lineage.ColumnLineageDatasetFacet(fields=fields, producer=facet["_producer"])
        assert built._schemaURL == facet["_schemaURL"]


def test_the_schemas_that_events_name_are_those_of_openlineages_client(
    result: AnalyzeResult, sources: ScriptTexts
) -> None:
    facets = pytest.importorskip("openlineage.client.facet_v2", reason="openlineage-python is not installed")
    events = pytest.importorskip("openlineage.client.event_v2")
    event = json.loads(export(result, "openlineage", sources).splitlines()[1])
    assert event["schemaURL"] == events.RunEvent._get_schema()
    assert event["job"]["facets"]["sql"]["_schemaURL"] == facets.sql_job.SQLJobFacet._get_schema()
    schema = facets.schema_dataset.SchemaDatasetFacet._get_schema()
    assert event["inputs"][0]["facets"]["schema"]["_schemaURL"] == schema
