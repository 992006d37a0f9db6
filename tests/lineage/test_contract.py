"""The JSON contract: pinned by a schema, and one whole answer pinned word by word."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from tests.lineage.test_pairs import pairs, schema

import lakebed

GOLDEN = Path(__file__).parent / "golden" / "costs.json"
CONTRACT = json.loads(files("lakebed.lineage").joinpath("analyze_result.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(CONTRACT, format_checker=jsonschema.FormatChecker())

SCRIPT = """CREATE TABLE costs (account STRING, day DATE, amount DECIMAL(38, 18));
INSERT INTO costs SELECT line_item_usage_account_id, bill_date, line_item_unblended_cost
FROM cur WHERE bill_date > '2026';
CREATE TEMPORARY VIEW monthly AS
SELECT account, sum(CASE WHEN amount > 0 THEN amount END) AS total
FROM costs JOIN accounts USING (account) GROUP BY account;
SELECT *, rank() OVER (ORDER BY total) AS place FROM monthly;
SELECT * FROM elsewhere;
SELEC"""


def test_the_schema_is_a_schema_and_refuses_what_lacks_or_invents_a_field() -> None:
    jsonschema.Draft202012Validator.check_schema(CONTRACT)
    answer = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert VALIDATOR.is_valid(answer)
    for name in answer:
        assert not VALIDATOR.is_valid({key: value for key, value in answer.items() if key != name}), name
        assert not VALIDATOR.is_valid({**answer, name: 7}), name
    assert not VALIDATOR.is_valid({**answer, "invented": 1})


def test_a_whole_answer() -> None:
    imported = {
        "tables": [
            {
                "schema": None,
                "name": "cur",
                "columns": [
                    {"name": "line_item_usage_account_id", "dataType": "string"},
                    {"name": "bill_date", "dataType": "date"},
                    {"name": "line_item_unblended_cost", "dataType": "decimal(38,18)"},
                ],
            },
            {"name": "accounts", "columns": [{"name": "account"}, {"name": "owner"}]},
        ]
    }
    answer = lakebed.analyze(SCRIPT, schema=imported).to_dict()
    VALIDATOR.validate(answer)
    for table in answer["resolvedSchema"]["tables"]:  # type: ignore[index]
        table["updatedAt"] = "2026-11-15T00:00:00.000Z"
    assert answer == json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("dialect", "tables", "sql", "expected"), pairs()[::4], ids=lambda value: str(value)[:40])
def test_every_answer_keeps_the_contract(dialect: str, tables: str, sql: str, expected: object) -> None:
    answer = lakebed.analyze(sql, dialect=dialect, schema=schema(tables)).to_dict()
    VALIDATOR.validate(json.loads(json.dumps(answer)))


def test_edges_of_the_graph_join_nodes_that_are_there() -> None:
    answer = lakebed.analyze(SCRIPT)
    for graph in (answer.global_lineage, *(statement.graph for statement in answer.statements)):
        ids = [node.id for node in graph.nodes]
        assert len(ids) == len(set(ids))
        assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= set(ids)
        assert len({edge.id for edge in graph.edges}) == len(graph.edges)


def test_what_is_written_quickly_is_what_the_values_say() -> None:
    """Imported tables and the graph of a single statement take a shorter way into JSON."""
    columns = [{"name": "Id", "dataType": "INT"}, {"name": "note", "dataType": "STRING"}]
    schema = {
        "tables": [
            {"schema": "app", "name": "Orders", "columns": columns},
            {"name": "untyped", "columns": [{"name": "id"}, "note"]},
            {"name": "unused", "columns": columns},
            {"catalog": "c", "schema": "s", "name": "open", "columns": columns, "complete": False},
        ]
    }
    for dialect in ("spark", "snowflake", "clickhouse"):
        sql = "SELECT o.note, u.id, x.z FROM app.Orders o JOIN untyped u ON o.Id = u.id, c.s.open x"
        result = lakebed.analyze(sql, dialect=dialect, schema=schema)
        written = result.to_dict()
        assert written["resolvedSchema"] == result.resolved_schema.to_dict()
        assert written["globalLineage"] == result.global_lineage.to_dict()
        # in the order of the import, whatever the statement reads first
        assert [table.name for table in result.resolved_schema.tables] == ["Orders", "untyped", "open"]
        again = lakebed.analyze(sql, dialect=dialect, schema=result.resolved_schema.to_dict())
        assert again.statements == result.statements
