"""A merge of 20 files killed at every step: old or new after recovery, for every reader; and two merges at once."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from tests.support import SUPPORT, merging_dies

from lakebed import retry
from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.spark.session import Session
from lakebed.errors import ConcurrentModification, DatasetMergeError, TargetError
from lakebed.model import Staging
from lakebed.schema.evolve import EvolutionPlan
from lakebed.table.merge import merge
from lakebed.targets.base import Change, Commit, TableState
from lakebed.targets.parquet.target import ParquetTarget

pytestmark = pytest.mark.processes

PROGRAM = str(SUPPORT / "merging_dies.py")


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, PROGRAM, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def readers(folder: Path) -> dict[str, list[tuple[int, str]]]:
    arrow = pads.dataset(folder, format="parquet").to_table().select(["id", "v"])
    return {
        "pyarrow": sorted(zip(arrow["id"].to_pylist(), arrow["v"].to_pylist(), strict=True)),
        "polars": sorted(polars.read_parquet(folder / "*.parquet").select(["id", "v"]).rows()),
        "duckdb": sorted(duckdb.connect().sql(f"SELECT id, v FROM '{folder}/*.parquet'").fetchall()),
    }


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_killed_at_every_step_a_merge_is_old_or_new(engine: str, tmp_path: Path) -> None:
    merging_dies.fill(tmp_path / "original")
    shutil.copytree(tmp_path / "original", tmp_path / "rehearsal")
    steps = int(run(str(tmp_path / "rehearsal"), engine, "count"))
    assert steps >= 10
    for step in range(1, steps + 1):
        shutil.copytree(tmp_path / "original", tmp_path / f"copy{step}")
    run(str(tmp_path / "copySTEP"), engine, *map(str, range(1, steps + 1)))
    outcomes = []
    for step in range(1, steps + 1):
        folder = tmp_path / f"copy{step}"
        if not (tmp_path / f".copy{step}.txn" / "commit.json").exists():
            # Nothing is visible before the commit, to anybody.
            assert all(seen == merging_dies.OLD for seen in readers(folder).values()), step
        state = ParquetTarget(str(folder)).state()
        after = readers(folder)
        assert after["pyarrow"] in (merging_dies.OLD, merging_dies.NEW), step
        assert len({tuple(seen) for seen in after.values()}) == 1, step
        assert state.rows == len(after["pyarrow"])
        outcomes.append("old" if after["pyarrow"] == merging_dies.OLD else "new")
    assert outcomes == sorted(outcomes, reverse=True)
    assert {"old", "new"} == set(outcomes)


@pytest.mark.spark
def test_spark_reads_what_the_others_read_after_recovery(tmp_path: Path, spark_local: Session) -> None:
    merging_dies.fill(tmp_path / "rehearsal")
    steps = int(run(str(tmp_path / "rehearsal"), "arrow", "count"))
    chosen = [2, steps // 2, steps - 2]
    for step in chosen:
        merging_dies.fill(tmp_path / f"copy{step}")
    run(str(tmp_path / "copySTEP"), "arrow", *map(str, chosen))
    for step in chosen:
        folder = tmp_path / f"copy{step}"
        ParquetTarget(str(folder)).state()
        seen = spark_local.spark.read.parquet(str(folder)).select("id", "v").toArrow().to_pylist()
        found = sorted((row["id"], row["v"]) for row in seen)
        assert found == readers(folder)["pyarrow"]
        assert found in (merging_dies.OLD, merging_dies.NEW)


class Interrupted(ParquetTarget):
    """A table to which another writer commits just before each of our commits, a number of times."""

    def __init__(self, folder: str, times: int) -> None:
        super().__init__(folder)
        self.left = times
        self.folder = folder

    def commit(self, state: TableState, staging: object, change: Change) -> Commit:
        if self.left:
            self.commit_theirs()
        return super().commit(state, staging, change)  # type: ignore[arg-type]

    def commit_theirs(self) -> None:
        self.left -= 1
        row = pa.table({"id": [1000 + self.left], "v": ["theirs"]})
        merge(row, self.folder, keys="id", engine="arrow")


class Replaced(Interrupted):
    """A table whose files another writer replaces while an engine reads them, which makes the engine fail."""

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        if self.left:
            self.commit_theirs()
            raise TargetError("the engine met a file that is gone")
        return super().stage(state, evolution, partition_by=partition_by)


@pytest.mark.parametrize("kind", [Interrupted, Replaced])
def test_a_merge_plans_again_when_another_writer_commits(kind: type[Interrupted], tmp_path: Path) -> None:
    merging_dies.fill(tmp_path / "t")
    target = kind(str(tmp_path / "t"), times=2)
    result = merge(merging_dies.table(merging_dies.CHANGES), target, keys="id", engine="arrow")
    assert (result.updated, result.inserted, result.before) == (20, 10, 102)
    found = dict(readers(tmp_path / "t")["pyarrow"])
    assert found == {**dict(merging_dies.NEW), 1000: "theirs", 1001: "theirs"}


def test_a_merge_gives_up_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "CLOCK", retry.Clock(sleep=lambda seconds: None))
    merging_dies.fill(tmp_path / "t")
    target = Interrupted(str(tmp_path / "t"), times=100)
    with pytest.raises(DatasetMergeError) as caught:
        merge(merging_dies.table(merging_dies.CHANGES), target, keys="id", engine="arrow")
    assert caught.value.kind == "CONCURRENT_MODIFICATION"
    assert isinstance(caught.value.__cause__, ConcurrentModification)
    found = dict(readers(tmp_path / "t")["pyarrow"])
    assert {key: found[key] for key, _ in merging_dies.OLD} == dict(merging_dies.OLD)


def test_of_merges_at_once_nothing_is_lost(tmp_path: Path) -> None:
    merging_dies.fill(tmp_path / "t")

    def one(number: int) -> int:
        rows = pa.table({"id": [number, 200 + number], "v": [f"from {number}"] * 2})
        return merge(rows, str(tmp_path / "t"), keys="id", engine=ArrowMerge()).inserted

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == [1] * 4
    found = dict(readers(tmp_path / "t")["pyarrow"])
    assert len(found) == 104
    assert all(found[number] == found[200 + number] == f"from {number}" for number in range(4))
