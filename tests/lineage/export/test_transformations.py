"""How values are made, in OpenLineage's words: passed on, computed, aggregated, masked."""

import json
from datetime import datetime

import pytest

import lakebed
from lakebed.lineage.export.openlineage import to_openlineage
from lakebed.lineage.export.script_texts import ScriptTexts

TABLE = "CREATE TABLE t (a INT, b INT, s STRING);\n"


def events(sql: str, *, namespace: str = "lakebed", dialect: str = "spark") -> list[dict[str, object]]:
    scripts = [lakebed.Script(sql, "m.sql")]
    result = lakebed.analyze(scripts, dialect=dialect, transformations=True)
    return [json.loads(line) for line in to_openlineage(result, ScriptTexts(scripts), namespace=namespace).splitlines()]


def direct(sql: str, dialect: str = "spark") -> dict[tuple[str, str], tuple[str, bool]]:
    """(source, target) -> subtype and masking, of the last statement."""
    facet = events(TABLE + sql, dialect=dialect)[-1]["outputs"][0]["facets"]["columnLineage"]  # type: ignore[index]
    return {
        (source["field"], target): (how["subtype"], how["masking"])
        for target, field in facet["fields"].items()
        for source in field["inputFields"]
        for how in source["transformations"]
        if how["type"] == "DIRECT"
    }


ID, T, A = "IDENTITY", "TRANSFORMATION", "AGGREGATION"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT a, b AS c, (s) AS d FROM t",
            {("a", "a"): (ID, False), ("b", "c"): (ID, False), ("s", "d"): (ID, False)},
        ),
        ("SELECT * FROM t", {(c, c): (ID, False) for c in "abs"}),
        ("SELECT a + 1 AS x, cast(b AS STRING) AS y FROM t", {("a", "x"): (T, False), ("b", "y"): (T, False)}),
        ("SELECT sum(a) + b AS x FROM t GROUP BY b", {("a", "x"): (A, False), ("b", "x"): (T, False)}),
        ("SELECT max(a) OVER (PARTITION BY b) AS x FROM t", {("a", "x"): (A, False)}),
        ("SELECT sha2(s, 256) AS x, md5(s) AS y FROM t", {("s", "x"): (T, True), ("s", "y"): (T, True)}),
        ("SELECT count(a) AS n, mask(s) AS m FROM t", {("a", "n"): (A, True), ("s", "m"): (T, True)}),
        ("WITH c AS (SELECT sum(a) AS x FROM t) SELECT x FROM c", {("a", "x"): (A, False)}),
        ("WITH c AS (SELECT md5(s) AS x FROM t) SELECT upper(x) AS y FROM c", {("s", "y"): (T, True)}),
        ("SELECT x FROM (SELECT * FROM (SELECT a AS x FROM t) q) r", {("a", "x"): (ID, False)}),
        ("SELECT a FROM t UNION ALL SELECT b + 1 FROM t", {("a", "a"): (ID, False), ("b", "a"): (T, False)}),
        ("SELECT coalesce(md5(s), s) AS x FROM t", {("s", "x"): (T, False)}),
        ("SELECT CASE WHEN a > 1 THEN b END AS x FROM t", {("b", "x"): (T, False)}),
        ("SELECT (SELECT max(b) FROM t) AS x FROM t", {("b", "x"): (T, False)}),
        ("SELECT t.a, u.b FROM t JOIN t u USING (s)", {("a", "a"): (ID, False), ("b", "b"): (ID, False)}),
        ("CREATE VIEW v (x, y) AS SELECT a, b * 2 FROM t", {("a", "x"): (ID, False), ("b", "y"): (T, False)}),
        (
            "INSERT INTO t SELECT b, a + 1, s FROM t",
            {("b", "a"): (ID, False), ("a", "b"): (T, False), ("s", "s"): (ID, False)},
        ),
        ("UPDATE t SET a = b + 1, s = md5(s)", {("b", "a"): (T, False), ("s", "s"): (T, True)}),
        (
            "MERGE INTO t USING t AS n ON t.a = n.a WHEN MATCHED THEN UPDATE SET b = n.b"
            " WHEN NOT MATCHED THEN INSERT (a, s) VALUES (n.a, upper(n.s))",
            {("b", "b"): (ID, False), ("a", "a"): (ID, False), ("s", "s"): (T, False)},
        ),
        ("MERGE INTO t USING t AS n ON t.a = n.a WHEN NOT MATCHED THEN INSERT *", {(c, c): (ID, False) for c in "abs"}),
    ],
)
def test_how_values_are_made(sql: str, expected: dict[tuple[str, str], tuple[str, bool]]) -> None:
    assert direct(sql) == expected


def test_the_namespace_is_that_of_jobs_and_datasets() -> None:
    for event in events(TABLE + "CREATE VIEW v AS SELECT a FROM t WHERE b > 1", namespace="postgres://host:5432"):
        text = json.dumps(event)
        assert text.count('"namespace": "postgres://host:5432"') == text.count('"namespace"') > 0


def test_without_being_asked_no_subtype_is_claimed() -> None:
    scripts = [lakebed.Script("CREATE VIEW v AS SELECT a FROM t")]
    text = to_openlineage(lakebed.analyze(scripts), ScriptTexts(scripts))
    [field] = json.loads(text)["outputs"][0]["facets"]["columnLineage"]["fields"]["a"]["inputFields"]
    assert field["transformations"] == [{"type": "DIRECT", "description": "", "masking": False}]


def test_openlineages_own_classes_build_the_same_events() -> None:
    """Every event, taken apart and built again by the classes of openlineage-python, which check what they get."""
    client = pytest.importorskip("openlineage.client", reason="openlineage-python is not installed")
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import column_lineage_dataset as lineage
    from openlineage.client.facet_v2 import schema_dataset, sql_job
    from openlineage.client.serde import Serde

    assert client

    def schema(facets: dict[str, dict[str, object]]) -> dict[str, object]:
        if "schema" not in facets:
            return {}
        fields = [schema_dataset.SchemaDatasetFacetFields(**one) for one in facets["schema"]["fields"]]  # type: ignore[attr-defined]
        return {"schema": schema_dataset.SchemaDatasetFacet(fields=fields, producer=facets["schema"]["_producer"])}

    def inputs(fields: list[dict[str, object]]) -> list[object]:
        return [
            lineage.InputField(
                **{**one, "transformations": [lineage.Transformation(**how) for how in one["transformations"]]}  # type: ignore[attr-defined]
            )
            for one in fields
        ]

    sql = (
        TABLE
        + "CREATE TABLE r AS SELECT a, md5(s) AS m, sum(b) AS n FROM t WHERE b > 1 GROUP BY a, s;\nSELECT * FROM r"
    )
    for event in events(sql):
        datetime.fromisoformat(str(event["eventTime"]))
        job, [output] = event["job"], event["outputs"]  # type: ignore[misc]
        facet = output["facets"]["columnLineage"]
        column_lineage = lineage.ColumnLineageDatasetFacet(
            fields={name: lineage.Fields(inputs(field["inputFields"])) for name, field in facet["fields"].items()},
            dataset=inputs(facet.get("dataset", [])),
            producer=facet["_producer"],
        )
        query = job["facets"]["sql"]  # type: ignore[index]
        built = RunEvent(
            eventType=RunState.COMPLETE,
            eventTime=str(event["eventTime"]),
            run=Run(event["run"]["runId"]),  # type: ignore[index]
            job=Job(
                job["namespace"],  # type: ignore[index]
                job["name"],  # type: ignore[index]
                facets={
                    "sql": sql_job.SQLJobFacet(
                        query=query["query"], dialect=query["dialect"], producer=query["_producer"]
                    )
                },
            ),
            inputs=[
                InputDataset(one["namespace"], one["name"], facets=schema(one["facets"])) for one in event["inputs"]
            ],  # type: ignore[attr-defined]
            outputs=[
                OutputDataset(
                    output["namespace"],
                    output["name"],
                    facets={**schema(output["facets"]), "columnLineage": column_lineage},
                )
            ],
            producer=str(event["producer"]),
        )
        assert without_empty(Serde.to_dict(built)) == without_empty(event)


def without_empty(value: object) -> object:
    """The same without what is empty, which the two write differently: `[]` or nothing."""
    if isinstance(value, dict):
        return {key: kept for key, one in value.items() if (kept := without_empty(one)) not in (None, {}, [], "")}
    if isinstance(value, list):
        return [without_empty(one) for one in value]
    return value
