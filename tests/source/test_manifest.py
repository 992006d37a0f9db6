"""Manifests are read tolerantly, and what is wrong with one is named."""

import json
from datetime import UTC, datetime

import pytest

from lakebed.errors import ManifestError
from lakebed.model import SourceColumn
from lakebed.source.deliveries import FileForm
from lakebed.source.manifest import Manifest, read_manifest
from lakebed.storage import Entry

URI = "s3://bucket/prefix/report/20260901-20261001/20261008T053622Z/report-Manifest.json"
KEY = "prefix/report/20260901-20261001/20261008T053622Z/report-00001.csv.gz"


def cur(**changes: object) -> dict[str, object]:
    facts: dict[str, object] = {
        "assemblyId": "20261008T053622Z",
        "account": "000123456789",
        "columns": [{"category": "lineItem", "name": "UnblendedCost", "type": "BigDecimal"}],
        "compression": "GZIP",
        "contentType": "text/csv",
        "reportName": "report",
        "billingPeriod": {"start": "20260901T000000.000Z", "end": "20261001T000000.000Z"},
        "bucket": "bucket",
        "reportKeys": [KEY],
        **changes,
    }
    return {name: value for name, value in facts.items() if value is not None}


def read(facts: object, uri: str = URI) -> Manifest:
    entry = Entry(uri, 1, "etag", datetime(2026, 10, 9, tzinfo=UTC))
    manifest = read_manifest(entry, json.dumps(facts).encode())
    assert manifest is not None
    return manifest


def test_a_manifest_of_cur() -> None:
    manifest = read(cur())
    assert (manifest.kind, manifest.payer, manifest.report, manifest.period) == (
        "cur", "000123456789", "report", "2026-09",
    )  # fmt: skip
    assert manifest.columns == (SourceColumn("lineItem/UnblendedCost", "BigDecimal"),)
    assert manifest.keys == (KEY,)
    assert manifest.created_at == datetime(2026, 10, 8, 5, 36, 22, tzinfo=UTC)
    assert manifest.in_own_folder
    assert not manifest.overwritten_in_place


def test_types_may_be_missing() -> None:
    manifest = read(cur(columns=[{"category": "identity", "name": "LineItemId"}, {"name": "group", "category": ""}]))
    assert manifest.columns == (SourceColumn("identity/LineItemId"), SourceColumn("group"))


def test_a_uuid_says_no_time() -> None:
    assert read(cur(assemblyId="ea74f90b-e82f-9c72-fab6-abc716793752")).created_at is None


@pytest.mark.parametrize(
    ("start", "period"),
    [
        ("20240101T000000.000Z", "2024-01"),
        ("2024-01-01T00:00:00Z", "2024-01"),
        ("2024-01-01", "2024-01"),
    ],
)
def test_the_month_is_that_of_the_start(start: str, period: str) -> None:
    # A mock of another project ends its period on the 31st, AWS on the first of the next month.
    assert read(cur(billingPeriod={"start": start, "end": "20240131T235959.999Z"})).period == period


def test_the_month_comes_from_the_folder_where_the_manifest_is_silent() -> None:
    assert read(cur(billingPeriod=None)).period == "2026-09"
    export = {"executionId": "e-1", "dataFiles": ["s3://b/x/data/BILLING_PERIOD=2026-09/x-1.csv.gz"]}
    assert read(export, "s3://b/x/metadata/BILLING_PERIOD=2026-09/x-Manifest.json").period == "2026-09"


def test_an_export_names_itself_in_several_ways() -> None:
    uri = "s3://b/my/export.v1/metadata/BILLING_PERIOD=2026-09/export.v1-Manifest.json"
    facts = {
        "executionId": "0d5c6f3e",
        "exportArn": "arn:aws:bcm-data-exports:us-east-1:012345678901:export/export.v1-8f",
        "columns": [{"name": "BilledCost"}, {"name": "ChargePeriodStart"}],
        "dataFiles": ["s3://b/my/export.v1/data/BILLING_PERIOD=2026-09/export.v1-00001.snappy.parquet"],
    }
    manifest = read(facts, uri)
    assert (manifest.kind, manifest.payer, manifest.report) == ("focus", "012345678901", "export.v1")
    assert manifest.forms == (FileForm("parquet", "none"),)
    assert manifest.overwritten_in_place
    assert read({**facts, "columns": [{"name": "line_item_unblended_cost"}]}, uri).kind == "cur2"


def test_the_time_of_a_run_is_in_its_folder() -> None:
    folder = "s3://b/x/metadata/BILLING_PERIOD=2026-09/2026-10-03T05:36:21.000Z-0d5c6f3e"
    manifest = read({"executionId": "0d5c6f3e", "dataFiles": ["s3://b/x/data/f.csv.gz"]}, f"{folder}/x-Manifest.json")
    assert manifest.created_at == datetime(2026, 10, 3, 5, 36, 21, tzinfo=UTC)
    assert manifest.in_own_folder


@pytest.mark.parametrize(
    "key",
    [
        "../../other-bucket/secret.csv.gz",
        "prefix/../../etc/passwd",
        "prefix/./report-1.csv.gz",
        "prefix\\..\\report-1.csv.gz",
        "file:///etc/passwd",
        "https://elsewhere.example/report-1.csv.gz",
        "s3://other/report-1.csv.gz",
        "s3://bucket/../other/report-1.csv.gz",
        "/",
    ],
)
def test_keys_outside_the_bucket_are_refused(key: str) -> None:
    with pytest.raises(ManifestError, match="points outside its bucket") as refused:
        read(cur(reportKeys=[KEY, key]))
    assert refused.value.manifest == URI


def test_a_leading_slash_is_an_empty_prefix() -> None:
    assert read(cur(reportKeys=["/report/20260901-20261001/x-1.csv.zip"])).keys == (
        "report/20260901-20261001/x-1.csv.zip",
    )


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([1, 2], "not a JSON object"),
        (cur(reportKeys=None), "neither reportKeys nor dataFiles"),
        (cur(reportKeys="report-1.csv.gz"), "reportKeys is not a list"),
        (cur(reportKeys=[{}]), "no address"),
        (cur(reportKeys=[]), "reportKeys is empty"),
        (cur(reportKeys=[KEY, KEY]), "lists a file twice"),
        (cur(assemblyId=None), "neither assemblyId nor executionId"),
        (cur(columns=[{"category": "bill"}]), "without a name"),
        (cur(columns="all"), "columns is not a list"),
        (cur(reportKeys=["x/report-1"], compression="BZIP2"), "compression is BZIP2"),
    ],
)
def test_what_is_wrong_is_named(facts: object, message: str) -> None:
    with pytest.raises(ManifestError, match=message) as refused:
        read(facts)
    assert URI in str(refused.value)


def test_not_json() -> None:
    with pytest.raises(ManifestError, match="not JSON"):
        read_manifest(Entry(URI, 1, None, None), b'{"assemblyId": ')


def test_a_byte_order_mark_is_no_fault() -> None:
    content = b"\xef\xbb\xbf" + json.dumps(cur()).encode()
    manifest = read_manifest(Entry(URI, 1, None, None), content)
    assert manifest is not None
    assert manifest.report == "report"


def test_the_manifest_of_another_tool_is_none() -> None:
    assert read_manifest(Entry("/dbt/manifest.json", 1, None, None), b'{"nodes": {}, "sources": {}}') is None


def test_columns_may_be_plain_names() -> None:
    manifest = read(cur(columns=["lineItem/Cost", {"category": "bill", "name": "Payer"}]))
    assert [column.original for column in manifest.columns] == ["lineItem/Cost", "bill/Payer"]


@pytest.mark.parametrize(
    ("facts", "uri", "report"),
    [
        pytest.param({}, URI, "report", id="as the manifest says"),
        pytest.param({"reportName": None}, URI, "report", id="as the file is called"),
        pytest.param(
            {"reportName": None, "exportArn": "arn:aws:bcm-data-exports:us-east-1:0:export/bill-1"},
            "s3://bucket/20260901-20261001/Manifest.json",
            "bill-1",
            id="as the export is called",
        ),
    ],
)
def test_the_report_is_named_somewhere(facts: dict[str, object], uri: str, report: str) -> None:
    assert read(cur(**facts), uri).report == report


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"reportName": None}, "does not name its report: reportName is missing"),
        ({"billingPeriod": None, "reportKeys": ["a.csv"]}, "does not say its month: billingPeriod.start is missing"),
    ],
)
def test_what_no_place_says_is_named(facts: dict[str, object], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        read(cur(**facts), "s3://bucket/somewhere/Manifest.json")
