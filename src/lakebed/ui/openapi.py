"""The OpenAPI document of the explorer's API, made from the endpoints themselves."""

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from lakebed import __version__
from lakebed.ui.api import ENDPOINTS, Endpoint, Text
from lakebed.ui.questions import Question

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {
                "type": {"type": "string"},
                "message": {"type": "string"},
                "remedy": {"type": ["string", "null"]},
            },
        }
    },
}
REFUSALS = {
    "400": "The request is not understood, or asks for something that cannot be.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another place than the explorer's own page.",
    "404": "What is asked for is not there.",
    "405": "The address takes another method.",
    "413": "The body is too large.",
    "503": "The answer takes too long.",
}


def document() -> dict[str, object]:
    """The document as `/api/openapi.json` answers it."""
    bodies = [endpoint.question for endpoint in ENDPOINTS if endpoint.method == "POST"]
    _, shared = models_json_schema(
        [(body, "validation") for body in bodies], ref_template="#/components/schemas/{model}"
    )
    components: dict[str, object] = {**shared.get("$defs", {}), "Refusal": ERROR}
    paths: dict[str, dict[str, object]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lakebed explorer",
            "version": __version__,
            "description": "Read-only, for the page that `lakebed ui` serves on this machine.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, components: dict[str, object]) -> dict[str, object]:
    operation: dict[str, object] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()}{endpoint.path.replace('/', '_')}",
        "responses": {"200": _answer(endpoint, components)}
        | {
            code: {
                "description": text,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}},
            }
            for code, text in REFUSALS.items()
        },
    }
    if endpoint.method == "POST":
        reference = {"$ref": f"#/components/schemas/{endpoint.question.__name__}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": reference}}}
    else:
        operation["parameters"] = _parameters(endpoint.question)
    return operation


def _parameters(question: type[Question]) -> list[dict[str, object]]:
    schema = question.model_json_schema()
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": facts.get("description", ""),
            "schema": {key: value for key, value in facts.items() if key not in ("description", "title")},
        }
        for name, facts in schema.get("properties", {}).items()
    ]


def _answer(endpoint: Endpoint, components: dict[str, object]) -> dict[str, object]:
    if endpoint.answer is Text:
        kinds = ("text/csv", "text/plain", "application/json")
        return {"description": endpoint.summary, "content": {kind: {"schema": {}} for kind in kinds}}
    schema: dict[str, Any] = {"type": "object"}
    if endpoint.answer is not dict:
        schema = TypeAdapter(endpoint.answer).json_schema(
            mode="serialization", ref_template="#/components/schemas/{model}"
        )
        components.update(schema.pop("$defs", {}))
    return {"description": endpoint.summary, "content": {"application/json": {"schema": schema}}}
