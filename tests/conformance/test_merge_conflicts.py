"""Merges that meet other writers plan again, or give up and say so; of several at once none loses a row."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from lakebed import retry
from lakebed.config import Settings
from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.protocols.engine import EngineName
from lakebed.engines.protocols.merge import MergeInput, MergeJob, MergeSource
from lakebed.errors import ConcurrentModification, DatasetMergeError, TargetError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core.result import MergeResult
from lakebed.model import Merged, Staging
from lakebed.schema.evolve import EvolutionPlan
from lakebed.table.merge import merge
from lakebed.targets.address import open_target
from lakebed.targets.base import Change, Commit, TableState, Target
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


class Contested(Interrupted):
    """A table of which another writer changes a row that our merge changes too."""

    def commit_theirs(self) -> None:
        self.left -= 1
        merge(pa.table({"id": [0], "v": [f"theirs {self.left}"]}), self.folder, keys="id", engine="arrow")


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
    assert (result.updated, result.inserted, result.before, result.retries) == (20, 10, 102, 2)
    found = rows_of(tmp_path / "t")
    assert found == {**dict(NEW), 1000: "theirs", 1001: "theirs"}


def test_a_merge_gives_up_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "CLOCK", retry.Clock(sleep=lambda seconds: None))
    fill(tmp_path / "t")
    target = Contested(str(tmp_path / "t"), times=100)
    with pytest.raises(DatasetMergeError) as caught:
        merge(table(CHANGES), target, keys="id", engine="arrow")
    assert caught.value.kind == "CONCURRENT_MODIFICATION"
    assert isinstance(caught.value.__cause__, ConcurrentModification)
    found = rows_of(tmp_path / "t")
    assert {key: found[key] for key, _ in OLD} == {**dict(OLD), 0: f"theirs {target.left}"}
    assert target.left == 100 - (retry.CONFLICTS.attempts or 0)


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


class Counting(ArrowMerge):
    """The Arrow engine, which says how often it wrote files."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0

    @contextmanager
    def open(self, source: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[MergeSource]:
        with super().open(source, storage, settings) as rows:
            write = rows.write

            def counted(job: MergeJob) -> Merged:
                self.writes += 1
                return write(job)

            rows.write = counted  # type: ignore[method-assign]
            yield rows


class Crowd:
    """A table to which another writer does something just before our first commit."""

    def __init__(self, target: Target, theirs: Callable[[], object]) -> None:
        self._target = target
        self._theirs: list[Callable[[], object]] = [theirs]

    def __getattr__(self, name: str) -> object:
        return getattr(self._target, name)

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        if self._theirs:
            self._theirs.pop()()
        return self._target.commit(state, staging, change)


KINDS = ["parquet", "iceberg"]


@dataclass
class Place:
    """A table of rows 0 to 9 and of 100 to 109, in two files."""

    address: str
    workdir: Path

    @property
    def target(self) -> Target:
        return open_target(self.address, workdir=self.workdir)

    def merge(self, rows: pa.Table, **options: object) -> MergeResult:
        return merge(rows, self.address, keys="id", engine="arrow", workdir=self.workdir, **options)  # type: ignore[arg-type]

    def rows(self) -> dict[int, dict[str, object]]:
        found = self.target.read()
        table = found if isinstance(found, pa.Table) else found.to_table()
        assert len(set(table["id"].to_pylist())) == table.num_rows
        return {row["id"]: row for row in table.to_pylist()}


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    address = "iceberg:ns.costs" if request.param == "iceberg" else f"parquet:{tmp_path}/costs"
    made = Place(address, tmp_path / "work")
    for first in (0, 100):
        made.merge(table([(number, "old") for number in range(first, first + 10)]))
    return made


def contested(place: Place, theirs: pa.Table, ours: pa.Table, **options: object) -> tuple[MergeResult, int]:
    """Our merge, into which theirs comes; the result, and how often files were written for it."""
    engine = Counting()
    target = Crowd(place.target, lambda: place.merge(theirs))
    result = merge(ours, target, keys="id", engine=engine, **options)  # type: ignore[arg-type]
    return result, engine.writes


def test_other_rows_that_arrived_meanwhile_are_committed_upon_without_writing_again(place: Place) -> None:
    result, writes = contested(place, table([(200, "theirs")]), table([(300, "ours"), (301, "ours")]))
    assert (result.inserted, result.before, result.total, result.retries, writes) == (2, 21, 23, 1, 1)
    found = place.rows()
    assert (len(found), found[200]["v"], found[300]["v"]) == (23, "theirs", "ours")


def test_an_update_is_committed_upon_one_of_another_file(place: Place) -> None:
    result, writes = contested(place, table([(105, "theirs")]), table([(5, "ours")]))
    assert (result.updated, result.retries, writes) == (1, 1, 1)
    found = place.rows()
    assert (found[5]["v"], found[105]["v"], len(found)) == ("ours", "theirs", 20)


def test_rows_of_both_without_bounds_between_them_are_looked_up(place: Place) -> None:
    """Their file spans our keys, so that only looking tells that it has none of them."""
    result, writes = contested(place, table([(200, "theirs"), (400, "theirs")]), table([(300, "ours")]))
    assert (result.inserted, result.retries, writes) == (1, 1, 1)
    assert len(place.rows()) == 23


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ([(300, "theirs")], [(300, "ours")]),
        ([(5, "theirs")], [(5, "ours")]),
        ([(6, "theirs")], [(5, "ours")]),
    ],
    ids=["the same new key", "the same old key", "another key of the same file"],
)
def test_what_touches_the_same_rows_or_files_is_planned_again(
    place: Place, theirs: list[tuple[int, str]], ours: list[tuple[int, str]]
) -> None:
    result, writes = contested(place, table(theirs), table(ours))
    assert (result.retries, writes) == (1, 2)
    found = place.rows()
    assert found[ours[0][0]]["v"] == "ours"
    assert all(found[key]["v"] == "theirs" for key, _ in theirs if key != ours[0][0])


def test_a_column_that_another_adds_does_not_matter_to_whom_adds_none(place: Place) -> None:
    theirs = pa.table({"id": [200], "v": ["theirs"], "tag": ["x"]})
    result, writes = contested(place, theirs, table([(300, "ours")]))
    assert (result.retries, writes) == (1, 1)
    assert place.rows()[300] == {"id": 300, "v": "ours", "tag": None}
    assert place.rows()[200]["tag"] == "x"


def test_columns_of_both_are_planned_again_and_kept(place: Place) -> None:
    theirs = pa.table({"id": [200], "v": ["theirs"], "theirs": ["x"]})
    ours = pa.table({"id": [300], "v": ["ours"], "ours": ["y"]})
    result, writes = contested(place, theirs, ours)
    assert (result.retries, writes, result.added_columns) == (1, 2, ("ours",))
    found = place.rows()
    assert found[200] == {"id": 200, "v": "theirs", "theirs": "x", "ours": None}
    assert found[300] == {"id": 300, "v": "ours", "theirs": None, "ours": "y"}


def test_a_full_merge_deletes_what_arrived_meanwhile(place: Place) -> None:
    result, writes = contested(place, table([(200, "theirs")]), table([(1, "ours")]), strategy="full_merge")
    assert (result.deleted, result.total, writes) == (20, 1, 2)
    assert place.rows().keys() == {1}


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_an_insert_whose_match_was_deleted_meanwhile_inserts(place: Place, engine: EngineName) -> None:
    """Of the second attempt the bounds clear every file, so that no key is looked up: the first look must not count."""

    def theirs() -> None:
        place.merge(table([(0, "kept")]), strategy="full_merge")

    target = Crowd(place.target, theirs)
    result = merge(table([(5, "ours"), (300, "ours")]), target, keys="id", engine=engine, strategy="insert")  # type: ignore[arg-type]
    assert (result.inserted, result.total) == (2, 3)
    assert place.rows()[5]["v"] == "ours"
