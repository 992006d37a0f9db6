"""The ledger's promises: what is written is read back, states follow the loads, a table outranks its ledger."""

import dataclasses
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from lakebed.errors import ConfigError, StateError
from lakebed.model import Delivery, Slice, SourceColumn, SourceFile, StagedFile
from lakebed.schema.types import Column, Schema, Text
from lakebed.state.ledger import Ledger
from lakebed.state.rebuild import describe_rows
from lakebed.state.records import LoadOutcome, SchemaChange, SumRecord

TABLE = "duckdb:costs.duckdb#report"
SEPTEMBER = Slice("000123456789", "hourly", "2026-09")
OCTOBER = Slice("000123456789", "hourly", "2026-10")


def a_delivery(slice_: Slice = SEPTEMBER, id_: str = "a1", **changes: object) -> Delivery:
    delivery = Delivery(
        slice=slice_,
        id=id_,
        kind="cur",
        manifest="s3://bucket/hourly-Manifest.json",
        columns=(SourceColumn("lineItem/UnblendedCost", "BigDecimal"),),
        files=(SourceFile("s3://bucket/hourly-1.csv.gz", "hourly-1.csv.gz", "csv", "gzip", 123, "etag"),),
        created_at=datetime(2026, 10, 1, 2, 0, tzinfo=timezone(timedelta(hours=2))),
    )
    return dataclasses.replace(delivery, **changes)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "work" / "ledger.db")


def finish(ledger: Ledger, slice_: Slice, id_: str, outcome: LoadOutcome) -> None:
    with ledger.claim_load(TABLE, slice_) as claim:
        ledger.begin_load(claim, TABLE, slice_, id_)
        ledger.finish_load(claim, TABLE, slice_, id_, outcome)


def test_a_discovered_delivery_is_read_back_in_utc(ledger: Ledger) -> None:
    ledger.record_discovered([a_delivery(missing=("hourly-2.csv.gz",))], source="s3://bucket")
    [found] = ledger.deliveries()
    assert (found.slice, found.delivery, found.state, found.source) == (SEPTEMBER, "a1", "discovered", "s3://bucket")
    assert found.created_at == datetime(2026, 10, 1, tzinfo=UTC)
    assert found.created_at.tzinfo is UTC
    assert (found.files, found.size_bytes, found.missing, found.complete) == (1, 123, ("hourly-2.csv.gz",), False)


def test_discovering_again_keeps_the_state_and_updates_the_facts(ledger: Ledger) -> None:
    ledger.record_discovered([a_delivery(missing=("hourly-2.csv.gz",))], source="s3://bucket")
    ledger.set_state(SEPTEMBER, "a1", "failed", error="hourly-1.csv.gz, line 3: no number")
    ledger.record_discovered([a_delivery()], source="s3://bucket")
    found = ledger.delivery(SEPTEMBER, "a1")
    assert found is not None
    assert (found.state, found.error, found.complete) == ("failed", "hourly-1.csv.gz, line 3: no number", True)


def staged_files(folder: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "work" / "ledger.db")) as database:
        found = database.execute("SELECT key, uri, size_bytes, sha256, etag FROM lakebed_staged_files ORDER BY key")
        return found.fetchall()


def test_staged_copies_keep_their_checksums(ledger: Ledger, tmp_path: Path) -> None:
    files = (StagedFile("a.csv.gz", "/w/a.csv.gz", 10, "00ff", "e1"), StagedFile("b.csv.gz", "/w/b.csv.gz", 20, "11ee"))
    ledger.record_discovered([a_delivery()], source="s")
    ledger.record_staged(SEPTEMBER, "a1", files)
    ledger.record_staged(SEPTEMBER, "a1", files)
    assert staged_files(tmp_path) == [dataclasses.astuple(file) for file in files]
    assert ledger.deliveries()[0].state == "staged"
    ledger.forget_staged(SEPTEMBER, "a1")
    assert staged_files(tmp_path) == []


def test_what_discovery_calls_superseded_is_superseded_whatever_it_was(ledger: Ledger) -> None:
    ledger.record_discovered([a_delivery()], source="s")
    ledger.set_state(SEPTEMBER, "a1", "staged")
    ledger.record_discovered([a_delivery(id_="a2")], superseded=[a_delivery(), a_delivery(id_="a0")], source="s")
    assert {record.delivery: record.state for record in ledger.deliveries()} == {
        "a0": "superseded",
        "a1": "superseded",
        "a2": "discovered",
    }


def test_a_newer_delivery_supersedes_the_older_of_its_slice_only(ledger: Ledger) -> None:
    ledger.record_discovered([a_delivery(), a_delivery(id_="a2"), a_delivery(OCTOBER, "b1")], source="s")
    for slice_, id_ in ((SEPTEMBER, "a1"), (OCTOBER, "b1"), (SEPTEMBER, "a2")):
        finish(ledger, slice_, id_, LoadOutcome(rows=5, files=1, seconds=0.5, version="7"))
    assert [(load.delivery, load.state) for load in ledger.loads(TABLE)] == [
        ("b1", "loaded"),
        ("a1", "superseded"),
        ("a2", "loaded"),
    ]
    assert {record.delivery: record.state for record in ledger.deliveries()} == {
        "a1": "superseded",
        "a2": "loaded",
        "b1": "loaded",
    }
    current = ledger.current_load(TABLE, SEPTEMBER)
    assert current is not None
    assert current.delivery == "a2"
    assert ledger.current_load("another table", SEPTEMBER) is None


def test_a_load_brings_names_history_and_sums_in_one_step(ledger: Ledger) -> None:
    outcome = LoadOutcome(
        rows=9,
        files=2,
        seconds=1.25,
        version="3",
        plan_hash="h",
        complete=False,
        reconciled=True,
        source_rows=10,
        rejected_rows=1,
        identities={"lineItem/UnblendedCost": "line_item_unblended_cost", "cost": "cost"},
        schema_changes=(
            SchemaChange("added", "cost", "decimal(38,18)", original="cost"),
            SchemaChange("widened", "n", "int64", type_before="int32"),
        ),
        sums=(
            SumRecord("cost", None, Decimal("0.000000000000000001"), Decimal("0.000000000000000001")),
            SumRecord("cost", "USD", Decimal("4.0E-7"), Decimal("0"), rounded=Decimal("-4.0E-7")),
            SumRecord("cost", "EUR", Decimal("1"), Decimal("2")),
            SumRecord("cost", "", Decimal("3"), Decimal("3")),
        ),
    )
    finish(ledger, SEPTEMBER, "a1", outcome)
    [load] = ledger.loads(TABLE)
    assert (load.rows, load.source_rows, load.rejected_rows, load.files, load.seconds) == (9, 10, 1, 2, 1.25)
    assert (load.added_columns, load.complete, load.reconciled) == (("cost",), False, True)
    assert (load.plan_hash, load.version) == ("h", "3")
    assert [(one.original, one.name, one.delivery) for one in ledger.identities(TABLE)] == [
        ("lineItem/UnblendedCost", "line_item_unblended_cost", "a1"),
        ("cost", "cost", "a1"),
    ]
    [added, widened] = ledger.schema_history(TABLE)
    assert (added.change.kind, added.change.column, added.delivery, added.slice) == ("added", "cost", "a1", SEPTEMBER)
    assert (widened.change.type_before, widened.change.type_after) == ("int32", "int64")
    sums = {one.currency: one for one in ledger.sums(TABLE, SEPTEMBER, "a1")}
    assert sums == {one.currency: one for one in outcome.sums}


def test_a_failure_is_kept_with_its_message_until_the_next_attempt(ledger: Ledger) -> None:
    ledger.record_discovered([a_delivery()], source="s")
    with ledger.claim_load(TABLE, SEPTEMBER) as claim:
        ledger.begin_load(claim, TABLE, SEPTEMBER, "a1")
        ledger.fail_load(claim, TABLE, SEPTEMBER, "a1", "line 3 is wrong", seconds=2.0)
    [load] = ledger.loads(TABLE)
    assert (load.state, load.error) == ("failed", "line 3 is wrong")
    assert ledger.deliveries()[0].error == "line 3 is wrong"
    finish(ledger, SEPTEMBER, "a1", LoadOutcome(rows=1, files=1, seconds=0, version="1"))
    [load] = ledger.loads(TABLE)
    assert (load.state, load.error) == ("loaded", None)


def test_an_original_is_named_once(ledger: Ledger) -> None:
    outcome = LoadOutcome(rows=1, files=1, seconds=0, version="1", identities={"b": "b", "a": "a"})
    finish(ledger, SEPTEMBER, "a1", outcome)
    finish(ledger, OCTOBER, "b1", dataclasses.replace(outcome, identities={"a": "other", "c": "c"}))
    with ledger.claim_load("another", OCTOBER) as claim:
        ledger.finish_load(claim, "another", OCTOBER, "b1", dataclasses.replace(outcome, identities={"a": "x"}))
    assert [(one.original, one.name) for one in ledger.identities(TABLE)] == [("b", "b"), ("a", "a"), ("c", "c")]


def test_reading_creates_nothing_and_an_absent_ledger_is_empty(tmp_path: Path) -> None:
    ledger = Ledger.read(tmp_path / "absent" / "ledger.db")
    assert ledger.deliveries() == ()
    assert ledger.identities(TABLE) == ()
    assert list(tmp_path.iterdir()) == []


def test_reading_leaves_every_byte_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(path).record_discovered([a_delivery()], source="s")
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    reader = Ledger.read(path)
    assert len(reader.deliveries()) == 1
    with pytest.raises(StateError, match="readonly"):
        reader.set_state(SEPTEMBER, "a1", "loaded")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]


KILLED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 2")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE lakebed_deliveries SET state = 'half done'")
for number in range(2000):
    connection.execute("INSERT INTO lakebed_ledger VALUES (?)", (number,))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_reading_after_a_kill_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.open(path).record_discovered([a_delivery()], source="s")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -signal.SIGKILL
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert set(before) == {"ledger.db", "ledger.db-journal"}
    assert [record.state for record in Ledger.read(path).deliveries()] == ["discovered"]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert [record.state for record in Ledger.open(path).deliveries()] == ["discovered"]
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]


def test_a_lost_ledger_is_rebuilt_from_the_table(ledger: Ledger) -> None:
    schema = Schema.of(
        [
            Column("line_item_id", Text(), original="identity/LineItemId"),
            *(Column(f"lakebed_{name}", Text()) for name in ("payer", "report", "period", "delivery")),
        ]
    )
    row = {"lakebed_payer": "1", "lakebed_report": "hourly", "lakebed_period": "2026-09", "lakebed_delivery": "a2"}
    data = pa.Table.from_pylist(
        [row | {"line_item_id": str(i)} for i in range(3)] + [row | {"lakebed_period": "2026-10"}]
    )
    found = describe_rows(TABLE, schema=schema, version="4", data=data)
    names = {"identity/LineItemId": "wrong", "kept": "kept"}
    outcome = LoadOutcome(rows=2, files=1, seconds=0, version="1", identities=names)
    finish(ledger, Slice("1", "hourly", "2026-09"), "a1", outcome)
    ledger.rebuild([found])
    ledger.rebuild([found])
    assert {(one.original, one.name) for one in ledger.identities(TABLE)} == {
        ("identity/LineItemId", "line_item_id"),
        ("kept", "kept"),
    }
    assert {(load.slice.period, load.delivery, load.state, load.rows) for load in ledger.loads(TABLE)} == {
        ("2026-09", "a1", "superseded", 2),
        ("2026-09", "a2", "loaded", 3),
        ("2026-10", "a2", "loaded", 1),
    }


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("not a database, but somebody's notes " * 100)
    before = path.read_bytes()
    with pytest.raises(StateError, match="not a database"):
        Ledger.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("url", ["no url", "sqlite://", "nodriver://host/db"])
def test_a_wrong_url_says_what_would_be_right(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Ledger.open(url)
    assert refused.value.remedy


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "50% of #1?" / "ledger.db"
    Ledger.open(path).record_discovered([a_delivery()], source="s")
    assert path.exists()
    assert len(Ledger.read(path).deliveries()) == 1
