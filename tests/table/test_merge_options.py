"""`lakebed.merge` around its engines: what the caller gives reaches them, and what it changes is remembered."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.config import Settings
from lakebed.errors import DatasetMergeError, EngineError
from lakebed.state.ledger import Ledger
from lakebed.table.history import history
from lakebed.targets.duckdb import merge as duckdb_merge

OLD = pa.table({"id": [1, 2], "v": ["a", "b"]})
NEW = pa.table({"id": [2, 3], "v": ["B", "c"], "tag": ["x", "y"]})


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An address of a table with two rows, made with another work directory."""
    address = f"parquet:{tmp_path}/folder" if request.param == "parquet" else f"duckdb:{tmp_path}/t.duckdb#t"
    lakebed.merge(OLD, address, keys="id", workdir=tmp_path / "first")
    return address


def recorded(workdir: Path) -> list[tuple[str, str]]:
    with Ledger.read(workdir / "ledger.db") as ledger:
        return [(record.change.kind, record.change.column) for record in ledger.schema_history()]


@pytest.mark.parametrize("place", ["parquet", "duckdb"], indirect=True)
def test_columns_that_a_merge_adds_are_in_the_history(place: str, tmp_path: Path) -> None:
    lakebed.merge(NEW, place, keys="id", workdir=tmp_path / "w")
    assert recorded(tmp_path / "w") == [("added", "tag")]
    (change,) = history(place, workdir=tmp_path / "w").changes
    assert change.version


@pytest.mark.parametrize("place", ["parquet", "duckdb"], indirect=True)
def test_a_merge_that_adds_nothing_leaves_no_ledger(place: str, tmp_path: Path) -> None:
    lakebed.merge(NEW, place, keys="id", workdir=tmp_path / "w", dry_run=True)
    lakebed.merge(OLD, place, keys="id", workdir=tmp_path / "w")
    lakebed.merge(NEW.slice(0, 0), place, keys="id", workdir=tmp_path / "w")
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("strategy", ["upsert", "insert", "update", "full_merge", "deduplicate"])
@pytest.mark.parametrize("place", ["duckdb"], indirect=True)
def test_without_merge_duckdb_runs_none(
    place: str, strategy: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def run(use_merge: bool) -> lakebed.MergeResult:
        return lakebed.merge(NEW, place, keys="id", strategy=strategy, use_merge=use_merge, dry_run=True)

    native = run(True)
    monkeypatch.setattr(duckdb_merge, "_native", lambda *_: pytest.fail("MERGE ran"))
    with caplog.at_level(logging.INFO):
        assert run(False) == native
    assert "Using UNION ALL (explicitly requested)" in caplog.text
    with pytest.raises(pytest.fail.Exception, match="MERGE ran"):
        run(True)


def test_spark_gets_the_callers_settings_and_work_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []

    def open_session(settings: Settings, *, spark: object = None) -> None:
        seen.append(settings)
        raise EngineError("no session in this test")

    monkeypatch.setattr("lakebed.engines.spark.merge.open_session", open_session)
    for given in ({"master": "local[3]", "engine": "spark"}, {"master": "local[3]"}):
        with pytest.raises(EngineError, match="no session in this test"):
            lakebed.merge(OLD, tmp_path / "t", keys="id", workdir=tmp_path / "w", **given)
    assert [(one.spark.master, one.workdir) for one in seen] == [("local[3]", str(tmp_path / "w"))] * 2


def test_a_session_has_no_meaning_for_another_engine(tmp_path: Path) -> None:
    with pytest.raises(DatasetMergeError, match="spark, master and remote have no meaning for the engine duckdb"):
        lakebed.merge(OLD, tmp_path / "t", keys="id", engine="duckdb", remote="sc://host")


def test_partition_columns_is_another_name_of_partition_by(tmp_path: Path) -> None:
    for number, given in enumerate(({"partition_by": "v"}, {"partition_columns": ["v"]})):
        lakebed.merge(OLD, tmp_path / str(number), keys="id", workdir=tmp_path / "w", **given)
        assert {path.name for path in (tmp_path / str(number)).iterdir() if path.is_dir()} == {"v=a", "v=b"}
    with pytest.raises(DatasetMergeError, match="two names of one argument"):
        lakebed.merge(OLD, tmp_path / "t", keys="id", partition_by="v", partition_columns="v")
