"""What a merge or a schema change could not tell the ledger, because it died first or the ledger was out of reach, the
next one finds in the table."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import StateError
from lakebed.state.ledger import Ledger

ADDRESSES = ["parquet:costs", "duckdb:costs.duckdb#costs", "iceberg:billing.costs"]
FIRST = pa.table({"id": [1, 2]})
SECOND = pa.table({"id": [2, 3], "tag": ["a", "b"]})


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@contextmanager
def ledger_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> None:
        raise StateError("the ledger is on the moon")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record_schema_changes", refuse)
        yield


def history(address: str) -> list[tuple[str, str, str]]:
    changes = lakebed.history(address).changes
    return [(one.change.kind, one.change.column, one.change.type_after) for one in changes]


def recorded(address: str) -> list[tuple[str, str, str]]:
    """What the ledger has, whatever the table says."""
    target = lakebed.history(address).table
    with Ledger.read(Path(".lakebed/ledger.db")) as ledger:
        changes = ledger.schema_history(target)
    return [(one.change.kind, one.change.column, one.change.type_after) for one in changes]


CREATED = [("created", "id", "int64")]
ADDED = [*CREATED, ("added", "tag", "text")]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_merge_writes_what_the_one_before_could_not(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ledger_out_of_reach(monkeypatch), caplog.at_level(logging.WARNING):
        lakebed.merge(FIRST, address, keys="id")
    assert "missing from the history: the ledger is on the moon" in caplog.text
    assert history(address) == CREATED
    with ledger_out_of_reach(monkeypatch):
        lakebed.merge(SECOND, address, keys="id")
    assert (recorded(address), history(address)) == (CREATED, ADDED)
    for _ in range(2):
        lakebed.merge(SECOND, address, keys="id")
        assert (recorded(address), history(address)) == (ADDED, ADDED)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_schema_change_writes_it_too(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lakebed.evolve(address, "id int")
    with ledger_out_of_reach(monkeypatch), pytest.raises(StateError):
        lakebed.evolve(address, "id bigint, tag string")
    known = [("created", "id", "int32"), ("added", "tag", "text"), ("widened", "id", "int64")]
    assert recorded(address) == known[:1]
    assert history(address) == known
    lakebed.evolve(address, "id bigint, tag string")
    assert (recorded(address), history(address)) == (known, known)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_dry_run_writes_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger_out_of_reach(monkeypatch):
        lakebed.merge(FIRST, address, keys="id")
    lakebed.merge(SECOND, address, keys="id", dry_run=True)
    lakebed.evolve(address, "id bigint, tag string", dry_run=True)
    assert recorded(address) == []


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_was_written_with_another_ledger_is_that_ones_matter(address: str, tmp_path: Path) -> None:
    lakebed.merge(FIRST, address, keys="id")
    for _ in range(2):
        lakebed.merge(FIRST, address, keys="id", workdir=".lakebed", dry_run=True)
    if not address.startswith("iceberg"):  # whose catalog lies in the work directory
        lakebed.merge(FIRST, address, keys="id", workdir="other")
        assert not Path("other").exists()


def test_what_is_known_of_an_earlier_table_of_the_name_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    lakebed.merge(FIRST, "parquet:costs", keys="id")
    shutil.rmtree("costs")
    shutil.rmtree(".costs.txn")
    # Times of commits are kept to the second.
    with Ledger.open(Path(".lakebed/ledger.db")) as ledger, ledger._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE lakebed_schema_changes SET at = '2020-01-01 00:00:00'")
    with ledger_out_of_reach(monkeypatch):
        lakebed.merge(FIRST, "parquet:costs", keys="id")
    assert (recorded("parquet:costs"), history("parquet:costs")) == (CREATED, CREATED * 2)


@pytest.mark.parametrize(
    "said", ["no JSON", "[1]", '[{"kind": "dropped", "column": "id", "type_after": "x"}]', '[{"a": 1}]']
)
def test_what_is_no_change_is_left_out_aloud(said: str, caplog: pytest.LogCaptureFixture) -> None:
    address = "duckdb:costs.duckdb#costs"
    lakebed.merge(FIRST, address, keys="id")
    with duckdb.connect("costs.duckdb") as connection:
        [(properties,)] = connection.execute("SELECT properties FROM lakebed.commits").fetchall()
        changed = json.dumps({**json.loads(properties), "lakebed.schema-changes": said})
        connection.execute("UPDATE lakebed.commits SET properties = ?", [changed])
    with caplog.at_level(logging.WARNING):
        lakebed.merge(SECOND.select(["id"]), address, keys="id")
    assert "is not what Lakebed writes" in caplog.text
    assert history(address) == CREATED
