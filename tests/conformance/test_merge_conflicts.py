"""Merges that meet other writers plan again, or give up and say so; of several at once none loses a row."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from lakebed import retry
from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.errors import ConcurrentModification, DatasetMergeError, TargetError
from lakebed.model import Staging
from lakebed.schema.evolve import EvolutionPlan
from lakebed.table.merge import merge
from lakebed.targets.base import Change, Commit, TableState
from lakebed.targets.parquet.target import ParquetTarget

FILES = 20
OLD = [(number, "old") for number in range(100)]
# Every fifth row changes, so that every file does, and ten are new.
CHANGES = [(number, "new") for number in range(0, 100, 5)] + [(number, "new") for number in range(100, 110)]
NEW = sorted({**dict(OLD), **dict(CHANGES)}.items())


def table(rows: list[tuple[int, str]]) -> pa.Table:
    return pa.table({"id": [row[0] for row in rows], "v": [row[1] for row in rows]})


def fill(folder: Path) -> None:
    folder.mkdir()
    for number in range(FILES):
        pq.write_table(table(OLD[number * 5 : number * 5 + 5]), folder / f"part-{number:02d}.parquet")


def rows_of(folder: Path) -> dict[int, str]:
    found = pads.dataset(folder, format="parquet").to_table()
    assert len(set(found["id"].to_pylist())) == found.num_rows
    return dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


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
    fill(tmp_path / "t")
    target = kind(str(tmp_path / "t"), times=2)
    result = merge(table(CHANGES), target, keys="id", engine="arrow")
    assert (result.updated, result.inserted, result.before) == (20, 10, 102)
    found = rows_of(tmp_path / "t")
    assert found == {**dict(NEW), 1000: "theirs", 1001: "theirs"}


def test_a_merge_gives_up_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "CLOCK", retry.Clock(sleep=lambda seconds: None))
    fill(tmp_path / "t")
    target = Interrupted(str(tmp_path / "t"), times=100)
    with pytest.raises(DatasetMergeError) as caught:
        merge(table(CHANGES), target, keys="id", engine="arrow")
    assert caught.value.kind == "CONCURRENT_MODIFICATION"
    assert isinstance(caught.value.__cause__, ConcurrentModification)
    found = rows_of(tmp_path / "t")
    assert {key: found[key] for key, _ in OLD} == dict(OLD)


def test_of_merges_at_once_nothing_is_lost(tmp_path: Path) -> None:
    fill(tmp_path / "t")

    def one(number: int) -> int:
        rows = pa.table({"id": [number, 200 + number], "v": [f"from {number}"] * 2})
        return merge(rows, str(tmp_path / "t"), keys="id", engine=ArrowMerge()).inserted

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == [1] * 4
    found = rows_of(tmp_path / "t")
    assert len(found) == 104
    assert all(found[number] == found[200 + number] == f"from {number}" for number in range(4))
