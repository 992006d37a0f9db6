"""Events that OpenLineage's specification and its own client accept."""

import json
import uuid

import jsonschema
import pytest

from lakebed.lineage import AnalyzeResult
from lakebed.lineage.export import export
from lakebed.lineage.export.script_texts import ScriptTexts

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
