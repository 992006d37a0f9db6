"""A total with its receipt: it is recomputed from the source files alone, and what is not determined is refused."""

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.finops.conftest import Bucket, Line

import lakebed
from lakebed.errors import LineageError, NotFound, SourceError, StateError, TargetError
from lakebed.finops.determined import Undetermined, parse_determined

TOTAL = "SELECT sum(line_item_unblended_cost) AS cost FROM bill WHERE line_item_currency_code = 'USD'"
LINES = [Line(Decimal("1.25")), Line(Decimal("4.0E-7"), team="<b>x</b>"), Line(Decimal("9"), "EUR")]


def made(bucket: Bucket, target: str, sql: str = TOTAL, **more: str) -> Path:
    path = bucket.folder / "receipt.json"
    path.write_text(lakebed.receipt(sql, target, **more).to_json())
    return path


def test_a_total_is_computed_again_from_the_files_without_the_table(bucket: Bucket, target: str) -> None:
    bucket.deliver("2025-03", "20250401T000000Z", LINES, files=2)
    bucket.deliver("2025-02", "20250301T000000Z", [Line(Decimal(100))])
    bucket.run(target)
    receipt = lakebed.receipt(TOTAL, target, period="2025-03")
    assert receipt.rows == (("1.250000400000000000",),)
    facts = receipt.facts
    assert [one["delivery"] for one in facts["deliveries"]] == ["20250401T000000Z"]
    assert [one["original"] for one in facts["lineage"][0]["from"]] == ["lineItem/UnblendedCost"]
    assert facts["reconciliation"][0]["reconciled"] is True
    assert len(facts["deliveries"][0]["files"]) == 2
    path = bucket.folder / "receipt.json"
    path.write_text(receipt.to_json())
    # Whatever becomes of the table and of the ledger.
    for one in ("costs.duckdb", "bill", ".lakebed"):
        place = bucket.folder / one
        if place.exists():
            place.rename(bucket.folder / f"{one}.away")
    checked = lakebed.verify_receipt(path)
    assert (checked.equal, checked.problems, checked.found) == (True, (), receipt.rows)
    whole = made_again(path, rows=[["1.25"]])
    assert lakebed.verify_receipt(whole).problems == ("the source files give another result",)


def made_again(path: Path, **result: object) -> Path:
    """A receipt that says something else, with a checksum that fits."""
    from lakebed.finops.receipt_check import fingerprint

    facts = json.loads(path.read_text())
    facts["result"] |= result
    facts["sha256"] = fingerprint(facts)
    forged = path.with_name("forged.json")
    forged.write_text(json.dumps(facts))
    return forged


def test_changed_files_and_changed_receipts_are_found(bucket: Bucket) -> None:
    bucket.deliver("2025-03", "20250401T000000Z", LINES)
    bucket.run("parquet:bill")
    path = made(bucket, "parquet:bill")
    facts = json.loads(path.read_text())
    changed = path.with_name("changed.json")
    changed.write_text(json.dumps({**facts, "version": "another"}))
    assert lakebed.verify_receipt(changed).problems == ("the receipt was changed after it was made",)
    [file] = facts["deliveries"][0]["files"]
    Path(file["uri"]).write_bytes(b"other bytes")
    checked = lakebed.verify_receipt(path)
    assert not checked.equal
    assert "is not the file that was loaded" in checked.problems[0]
    Path(file["uri"]).unlink()
    assert "cannot be read" in lakebed.verify_receipt(path).problems[0]


@pytest.mark.parametrize("naming", ["spec", "athena"])
@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_real_looking_bills(kind: lakebed.SampleKind, naming: str, bucket: Bucket, tmp_path: Path) -> None:
    """Two tags that differ in case, empty values, dates, maps: read by DuckDB as the load reads them."""
    lakebed.sample(tmp_path / "bills", months=2, rows=150, columns=120, kind=kind)
    lakebed.run(tmp_path / "bills", "parquet:report", naming=naming)  # type: ignore[arg-type]
    tag = "resource_tags['user_owner']" if kind == "cur2" else "resource_tags_user_environment_1"
    path = made(
        bucket,
        "parquet:report",
        f"SELECT lakebed_period, line_item_line_item_type, {tag} AS tag, count(*) AS n, count({tag}) AS tagged,"
        " sum(line_item_unblended_cost) AS cost, min(line_item_usage_start_date) AS first FROM report GROUP BY ALL",
    )
    assert lakebed.verify_receipt(path).problems == ()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT random() FROM bill", "random"),
        ("SELECT now(), count(*) FROM bill", "now|current_timestamp"),
        ("SELECT current_date FROM bill", "current_date"),
        ("SELECT uuid() FROM bill", "uuid"),
        ("SELECT line_item_unblended_cost FROM bill LIMIT 1", "LIMIT"),
        ("SELECT a, b FROM bill ORDER BY a LIMIT 1", "LIMIT"),
        ("SELECT * FROM bill ORDER BY a LIMIT 1", "LIMIT"),
        ("SELECT a FROM (SELECT a, b FROM bill LIMIT 3)", "LIMIT"),
        ("SELECT first(a) FROM bill", "first"),
        ("SELECT any_value(a) FROM bill", "any_value"),
        ("SELECT string_agg(a, ',') FROM bill", "listagg|string_agg|group_concat"),
        ("SELECT array_agg(a) FROM bill", "array_agg|list"),
        ("SELECT approx_count_distinct(a) FROM bill", "approx"),
        ("SELECT stddev(a) FROM bill", "stddev"),
        ("SELECT sum(a::DOUBLE) FROM bill", "sum"),
        ("SELECT sum(a / b) FROM bill", "sum"),
        ("SELECT row_number() OVER (ORDER BY a) FROM bill", "row_number"),
        ("SELECT DISTINCT ON (a) a, b FROM bill", "DISTINCT ON"),
        ("SELECT count(*) FROM bill USING SAMPLE 10 ROWS", "sample"),
    ],
)
def test_what_is_not_determined_is_refused_by_name(sql: str, said: str) -> None:
    with pytest.raises(Undetermined, match=f"not determined.*({said})"):
        parse_determined(sql, "bill")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM other",
        "SELECT count(*) FROM main.bill",
        "SELECT count(*) FROM read_csv('/etc/passwd')",
        "SELECT count(*) FROM '/etc/passwd'",
        "SELECT (SELECT count(*) FROM other) FROM bill",
        "DROP TABLE bill",
        "COPY bill TO 'x'",
        "SELECT 1 FROM bill; DELETE FROM bill",
        "SELEC",
        "",
    ],
)
def test_only_one_select_of_the_table(sql: str) -> None:
    with pytest.raises(LineageError):
        parse_determined(sql, "bill")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, sum(b) AS cost FROM bill GROUP BY a ORDER BY cost DESC, a LIMIT 5",
        "WITH x AS (SELECT a, sum(b) AS c FROM Bill GROUP BY ALL) SELECT max(c) FROM x",
        "SELECT a, b FROM bill ORDER BY 1, 2 LIMIT 3",
        "SELECT a FROM bill ORDER BY ALL LIMIT 3",
        "SELECT CASE WHEN a = 'x' THEN coalesce(b, 0) ELSE cast(c AS DECIMAL(10, 2)) END FROM bill",
        "SELECT date_trunc('day', a), rank() OVER (ORDER BY a) FROM bill",
        "SELECT a FROM bill UNION ALL SELECT b FROM bill",
    ],
)
def test_what_is_determined_is_taken(sql: str) -> None:
    assert parse_determined(sql, "bill") is not None


def test_a_hostile_receipt_reads_nothing_else(bucket: Bucket, tmp_path: Path) -> None:
    bucket.deliver("2025-03", "20250401T000000Z", LINES)
    bucket.run("parquet:bill")
    facts = json.loads(made(bucket, "parquet:bill").read_text())
    forged = tmp_path / "forged.json"
    secret = tmp_path / "secret.txt"
    secret.write_text("hush")
    for sql in (
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT content FROM '{secret}'",
        "SELECT getenv('HOME') FROM bill",
    ):
        forged.write_text(json.dumps({**facts, "sql": sql}))
        with pytest.raises(LineageError):
            lakebed.verify_receipt(forged)
    [delivery] = facts["deliveries"]
    column = {**delivery["columns"][0], "type": "VARCHAR); COPY bill TO 'x'; --"}
    forged.write_text(json.dumps({**facts, "deliveries": [{**delivery, "columns": [column]}]}))
    with pytest.raises(SourceError, match="not a receipt"):
        lakebed.verify_receipt(forged)
    for text in ("[]", "{}", "no JSON", json.dumps({**facts, "deliveries": [{**delivery, "files": [{"uri": 1}]}]})):
        forged.write_text(text)
        with pytest.raises(SourceError, match="not a receipt"):
            lakebed.verify_receipt(forged)
    with pytest.raises(NotFound):
        lakebed.verify_receipt(tmp_path / "nowhere.json")


def test_the_page_runs_nothing_and_escapes_names(bucket: Bucket) -> None:
    bucket.deliver("2025-03", "20250401T000000Z", LINES)
    bucket.run("parquet:bill")
    sql = "SELECT resource_tags_user_team AS team, count(*) AS n FROM bill GROUP BY ALL /* </pre><script>x</script> */"
    page = lakebed.receipt(sql, "parquet:bill").to_html()
    assert "<script" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "http" not in page.replace("http-equiv", "")


def test_no_receipt_where_the_table_does_not_add_up(bucket: Bucket) -> None:
    import duckdb

    bucket.deliver("2025-03", "20250401T000000Z", LINES)
    bucket.run("duckdb:costs.duckdb#bill")
    with duckdb.connect("costs.duckdb") as connection:
        connection.execute("UPDATE bill SET line_item_unblended_cost = 1")
    with pytest.raises(StateError, match=r"20250401T000000Z .* does not add up"):
        lakebed.receipt(TOTAL, "duckdb:costs.duckdb#bill")


def test_verifying_imports_nothing_that_loads() -> None:
    code = (
        "import sys, lakebed.finops.receipt_check;"
        "print([name for name in sys.modules if name.startswith(('lakebed.pipeline', 'lakebed.kernels.convert',"
        " 'lakebed.engines', 'lakebed.targets', 'lakebed.source', 'lakebed.table', 'pyspark', 'pyarrow'))])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_table_without_a_bill_has_no_receipts(tmp_path: Path) -> None:
    target = f"parquet:{tmp_path}/rows"
    lakebed.write(pa.table({"id": [1]}), target, workdir=tmp_path / "work")
    with pytest.raises(TargetError, match="has no loaded bill: it lacks the column lakebed_period"):
        lakebed.receipt("SELECT sum(id) FROM rows", target, workdir=tmp_path / "work")
