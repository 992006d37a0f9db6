"""What OpenLineage hears of work on a table, through the client library's own file transport."""

import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.errors import LakebedError
from lakebed.table.events import Dataset


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder in which nobody has configured anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = dict(os.environ)
    yield tmp_path
    # The client library writes what it makes of its settings into the environment.
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE") and name not in before]:
        del os.environ[name]


@pytest.fixture
def events(place: Path) -> Any:
    """Events as they were sent; the library is configured as its own documents say."""
    written = place / "events"
    (place / "openlineage.yml").write_text(f"transport:\n  type: file\n  log_file_path: {written}\n  append: true\n")
    return lambda: [json.loads(line) for line in written.read_text().splitlines()] if written.exists() else []


def test_nothing_is_sent_and_nothing_said_where_nobody_listens(
    place: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        lakebed.write(pa.table({"id": [1]}), "parquet:t")
    assert [record for record in caplog.records if "lineage" in record.name or "ineage" in record.getMessage()] == []
    assert capsys.readouterr().out == ""
    assert "openlineage.client" not in sys.modules or not list(place.glob("events*"))


def test_a_merge_tells_where_each_column_came_from(place: Path, events: Any) -> None:
    pq.write_table(pa.table({"ID": [1, 2], "Cost, net": [3, 4]}), place / "new, rows.parquet")
    lakebed.merge(pa.table({"id": [1], "note": ["a"]}), "duckdb:costs.duckdb#bill", keys="id")
    lakebed.merge(place / "new, rows.parquet", "duckdb:costs.duckdb#bill", keys="id")
    start, end = events()[-2:]
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == end["run"]["runId"] != events()[0]["run"]["runId"]
    assert end["job"]["name"] == f"merge duckdb:{place / 'costs.duckdb'}#bill"
    assert [(one["namespace"], one["name"]) for one in end["inputs"]] == [("file", str(place / "new, rows.parquet"))]
    [output] = end["outputs"]
    assert (output["namespace"], output["name"]) == (f"duckdb:{place / 'costs.duckdb'}", "bill")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert [one["name"] for one in output["facets"]["schema"]["fields"]] == ["id", "note", "Cost, net"]
    lineage = output["facets"]["columnLineage"]["fields"]
    assert {name: [one["field"] for one in found["inputFields"]] for name, found in lineage.items()} == {
        "id": ["ID"],
        "Cost, net": ["Cost, net"],
    }


def test_a_load_tells_original_names_and_rows(place: Path, events: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lakebed.sample(place / "bills", months=1, rows=40, columns=63)
    use_arrow(monkeypatch)
    report = lakebed.run(place / "bills", "parquet:lake")
    ended = [one for one in events() if one["eventType"] == "COMPLETE"]
    assert len(ended) == len(report.deliveries) == 1
    [output] = ended[0]["outputs"]
    assert output["namespace"] == "file"
    assert output["name"].startswith(str(place / "lake"))
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == report.rows
    fields = output["facets"]["columnLineage"]["fields"]["line_item_unblended_cost"]["inputFields"]
    assert {one["field"] for one in fields} == {"lineItem/UnblendedCost"}
    assert all(one["name"].startswith(str(place / "bills")) for one in ended[0]["inputs"])
    assert ended[0]["run"]["facets"]["parent"]["job"]["name"] == "lakebed run"


@pytest.mark.parametrize("keys", [None, "Order ID"])
def test_an_ingest_tells_the_folders_and_names_of_its_files(
    place: Path, events: Any, monkeypatch: pytest.MonkeyPatch, keys: str | None
) -> None:
    use_arrow(monkeypatch)
    (place / "in").mkdir()
    (place / "in" / "a.csv").write_text("Order ID,v\n1,x\n2,y\n")
    lakebed.ingest("in", "parquet:orders", keys=keys)
    lakebed.ingest("in", "parquet:orders", keys=keys)
    [end] = [one for one in events() if one["eventType"] == "COMPLETE"]
    assert end["job"]["name"] == f"ingest parquet:{place / 'orders'}"
    assert [one["name"] for one in end["inputs"]] == [str(place / "in")]
    [output] = end["outputs"]
    fields = output["facets"]["columnLineage"]["fields"]["order_id"]["inputFields"]
    assert {one["field"] for one in fields} == {"Order ID"}
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2


def test_a_failure_is_told_with_its_message(events: Any) -> None:
    lakebed.write(pa.table({"id": [1]}), "parquet:t")
    with pytest.raises(LakebedError):
        lakebed.write(pa.table({"id": ["x"]}), "parquet:t")
    failed = events()[-1]
    assert failed["eventType"] == "FAIL"
    assert "id" in failed["run"]["facets"]["errorMessage"]["message"]
    assert "columnLineage" not in failed["outputs"][0]["facets"]


def test_a_dry_run_tells_nothing(events: Any) -> None:
    lakebed.write(pa.table({"id": [1]}), "parquet:t", dry_run=True)
    assert events() == []


def test_who_does_not_listen_stops_nobody(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY__TOTAL", "0")
    assert lakebed.write(pa.table({"id": [1]}), "parquet:t").total == 1
    assert "was not sent" in caplog.text


def test_a_configured_client_that_is_not_installed_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("lakebed.extras.find_spec", lambda _: None)
    assert lakebed.write(pa.table({"id": [1]}), "parquet:t").total == 1
    assert "lakebed[openlineage]" in caplog.text


@pytest.mark.parametrize(
    ("address", "namespace", "name"),
    [
        ("iceberg:billing.cur", "iceberg:billing", "cur"),
        ("iceberg:prod:billing.cur@audit", "iceberg:prod:billing", "cur"),
        ("parquet:s3://bucket/a b/c", "s3://bucket", "a b/c"),
    ],
)
def test_tables_have_names_that_do_not_depend_on_where_one_stands(address: str, namespace: str, name: str) -> None:
    assert Dataset.of_table(address) == Dataset(namespace, name)


def test_events_follow_the_specification(events: Any) -> None:
    lakebed.write(pa.table({"id": [1], "tags": [{"a": "b"}]}), "parquet:t")
    for event in events():
        jsonschema.validate(event, {"required": ["eventTime", "producer", "schemaURL", "run", "job"]})
        assert event["producer"] == "https://pypi.org/project/lakebed"
