"""Lineage as OpenLineage run events with column lineage facets, one JSON object per line.

Each statement that reads or writes is one run of one job: its COMPLETE event. Roles become the specification's
transformations: values are DIRECT (IDENTITY, TRANSFORMATION or AGGREGATION, where the analysis was asked to tell them
apart), conditions, windows, filters and joins are INDIRECT.
"""

import json
import uuid

from lakebed.lineage.contract import AnalyzeResult, ColumnEdge, ResolvedTable, StatementLineage
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.graph import result_name

PRODUCER = "https://pypi.org/project/lakebed"
NAMESPACE = "lakebed"
_SPEC = "https://openlineage.io/spec"
SCHEMA_URL = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "columnLineage": f"{_SPEC}/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
    "schema": f"{_SPEC}/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
    "sql": f"{_SPEC}/facets/1-1-0/SQLJobFacet.json#/$defs/SQLJobFacet",
}
_TRANSFORMATIONS: dict[str, tuple[str, str | None]] = {
    "value": ("DIRECT", None),
    "conditional": ("INDIRECT", "CONDITIONAL"),
    "window": ("INDIRECT", "WINDOW"),
    "filter": ("INDIRECT", "FILTER"),
    "join": ("INDIRECT", "JOIN"),
}


def to_openlineage(result: AnalyzeResult, sources: ScriptTexts, *, namespace: str = NAMESPACE) -> str:
    """One event per line, in the order of the statements; jobs and datasets are in one namespace."""
    tables = {_name(table): table for table in result.resolved_schema.tables}
    events = [
        _event(statement, sources, tables, result, namespace)
        for statement in result.statements
        if statement.table_lineage or statement.target is not None
    ]
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)


def _name(table: ResolvedTable) -> str:
    return ".".join(part for part in (table.catalog, table.schema, table.name) if part)


def _facet(name: str, content: dict[str, object]) -> dict[str, object]:
    return {"_producer": PRODUCER, "_schemaURL": _FACETS[name], **content}


def _event(
    statement: StatementLineage,
    sources: ScriptTexts,
    tables: dict[str, ResolvedTable],
    result: AnalyzeResult,
    namespace: str,
) -> dict[str, object]:
    time = result.updated_at
    job = f"{statement.file or 'script'}#{statement.statement_index}"
    moved_to = next((edge.target for edge in statement.table_lineage if edge.target is not None), None)
    target = statement.target or moved_to or result_name(statement)
    sql = sources.sql(statement)
    # the same script analysed again at the same time is the same run
    run = uuid.uuid5(uuid.NAMESPACE_URL, f"{PRODUCER}/{namespace}/{job}/{target}/{time}/{sql}")
    return {
        "eventType": "COMPLETE",
        "eventTime": time,
        "run": {"runId": str(run), "facets": {}},
        "job": {
            "namespace": namespace,
            "name": job,
            "facets": {"sql": _facet("sql", {"query": sql, "dialect": result.dialect})},
        },
        "inputs": [
            {"namespace": namespace, "name": edge.source, "facets": _schema(tables.get(edge.source))}
            for edge in statement.table_lineage
        ],
        "outputs": [
            {
                "namespace": namespace,
                "name": target,
                "facets": {**_schema(tables.get(target)), "columnLineage": _column_lineage(statement, namespace)},
            }
        ],
        "producer": PRODUCER,
        "schemaURL": SCHEMA_URL,
    }


def _schema(table: ResolvedTable | None) -> dict[str, object]:
    if table is None or not table.columns:
        return {}
    fields = [
        {"name": column.name, **({"type": column.data_type} if column.data_type else {})} for column in table.columns
    ]
    return {"schema": _facet("schema", {"fields": fields})}


def _column_lineage(statement: StatementLineage, namespace: str) -> dict[str, object]:
    fields: dict[str, dict[str, list[dict[str, object]]]] = {}
    dataset: list[dict[str, object]] = []
    for edge in statement.column_lineage:
        source: dict[str, object] = {
            "namespace": namespace,
            "name": edge.source_table,
            "field": ".".join((edge.source_column, *edge.path)),
            "transformations": [_transformation(statement, edge)],
        }
        if edge.target_column is None:
            dataset.append(source)
        else:
            fields.setdefault(edge.target_column, {"inputFields": []})["inputFields"].append(source)
    content: dict[str, object] = {"fields": fields}
    if dataset:
        content["dataset"] = dataset
    return _facet("columnLineage", content)


def _transformation(statement: StatementLineage, edge: ColumnEdge) -> dict[str, object]:
    kind, subtype = _TRANSFORMATIONS[edge.role]
    masking = False
    if kind == "DIRECT" and statement.transformations is not None:
        of_column = statement.transformations.get(edge.target_column or "", {})
        how = of_column.get((edge.source_table, edge.source_column, edge.path)) or of_column.get(
            (edge.source_table, edge.source_column, ())
        )
        # what is read through a subquery or a function of rows was computed
        subtype, masking = (how.subtype, how.masking) if how is not None else ("TRANSFORMATION", False)
    return {
        "type": kind,
        **({"subtype": subtype} if subtype is not None else {}),
        "description": "approximate" if edge.approximate else "",
        "masking": masking,
    }
