"""The second count: an engine that overlooks, invents or loses rows is caught before anything is committed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.config import Settings
from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.protocols.merge import CheckedSource, FileLayout, MergeInput, MergeJob, MergeSource
from lakebed.errors import DatasetMergeError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core.plan import Matches
from lakebed.merge_core.spec import STRATEGIES, MergeStrategy
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, Merged, Staging, WrittenFile
from lakebed.storage import join
from lakebed.table import recount
from lakebed.table.merge import merge

Tell = Callable[[Matches], Matches]
OLD = pa.table({"id": [1, 2, 3, 4], "v": ["a", "b", "c", "d"]})
NEW = pa.table({"id": [2, 3, 9], "v": ["B", "C", "N"]})


class Liar:
    """An engine whose counts agree with each other, as those of a real one that overlooks rows do."""

    name = "liar"

    def __init__(self, tell: Tell, spoil: "Callable[[pa.Table], pa.Table] | None" = None) -> None:
        self._tell = tell
        self._spoil = spoil

    @contextmanager
    def open(self, source: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[MergeSource]:
        with ArrowMerge().open(source, storage, settings) as honest:
            yield LyingSource(honest, self._tell, self._spoil)


class LyingSource:
    def __init__(self, honest: MergeSource, tell: Tell, spoil: "Callable[[pa.Table], pa.Table] | None") -> None:
        self._honest = honest
        self._tell = tell
        self._spoil = spoil

    @property
    def schema(self) -> pa.Schema:
        return self._honest.schema

    def check(self, unified: Unified) -> CheckedSource:
        # It matches by itself: only of Arrow's own kernels is the first count believed.
        return replace(self._honest.check(unified), matched_by_arrow=False)

    def match(self, unified: Unified, files: Sequence[DataFile], *, layout: FileLayout) -> Matches:
        return self._tell(self._honest.match(unified, files, layout=layout))

    def write(self, job: MergeJob) -> Merged:
        merged = self._honest.write(job)
        if self._spoil is None:
            return merged
        files = []
        for file in merged.files:
            path = join(job.staging.folder, file.path)
            spoilt = self._spoil(pq.read_table(path))
            pq.write_table(spoilt, path)
            files.append(replace(file, rows=spoilt.num_rows, size_bytes=Path(path).stat().st_size))
        return Merged(tuple(files), merged.counts)

    def write_source(self, staging: Staging) -> tuple[WrittenFile, ...]:
        return self._honest.write_source(staging)


def overlook_all(matches: Matches) -> Matches:
    return Matches({}, matches.nulls, 0)


def overlook_one(matches: Matches) -> Matches:
    uri, rows = next(iter(matches.rows.items()))
    return Matches({**matches.rows, uri: rows - 1}, matches.nulls, matches.source_rows - 1)


def invent_one(matches: Matches) -> Matches:
    uri, rows = next(iter(matches.rows.items()))
    return Matches({**matches.rows, uri: rows + 1}, matches.nulls, matches.source_rows)


def count_a_key_twice(matches: Matches) -> Matches:
    return Matches(matches.rows, matches.nulls, matches.source_rows + 1)


def tell_the_truth(matches: Matches) -> Matches:
    return matches


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "t"
    place.mkdir()
    pq.write_table(OLD.slice(0, 2), place / "0.parquet")
    pq.write_table(OLD.slice(2), place / "1.parquet")
    return place


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("lie", [overlook_all, overlook_one, invent_one, count_a_key_twice])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_engine_that_lies_about_matches_is_caught(
    strategy: MergeStrategy, lie: Tell, dry_run: bool, folder: Path
) -> None:
    before = held(folder)
    with pytest.raises(DatasetMergeError, match="two counts of the merge differ") as caught:
        merge(NEW, str(folder), keys="id", strategy=strategy, engine=Liar(lie), dry_run=dry_run)
    assert caught.value.kind == "ENGINE_FAILED"
    assert caught.value.remedy is not None
    assert "Nothing was committed" in caught.value.remedy
    assert held(folder) == before


def swap_a_key(rows: pa.Table) -> pa.Table:
    """A row of the table under the source's key, and the source's row under the table's."""
    numbers = {2: 1002, 9: 1009}
    ids = [numbers.get(number, number) for number in rows.column("id").to_pylist()]
    return rows.set_column(rows.schema.get_field_index("id"), rows.schema.field("id"), pa.array(ids, pa.int64()))


@pytest.mark.parametrize("strategy", ["upsert", "insert", "full_merge", "delete_insert"])
def test_an_engine_that_writes_other_keys_is_caught(strategy: MergeStrategy, folder: Path) -> None:
    before = held(folder)
    with pytest.raises(DatasetMergeError, match="two counts of the merge differ"):
        merge(NEW, str(folder), keys="id", strategy=strategy, engine=Liar(tell_the_truth, swap_a_key))
    assert held(folder) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_honest_engine_passes(strategy: MergeStrategy, folder: Path) -> None:
    wanted = merge(NEW, str(folder), keys="id", strategy=strategy, engine="arrow", dry_run=True)
    done = merge(NEW, str(folder), keys="id", strategy=strategy, engine=Liar(tell_the_truth))
    assert (done.inserted, done.updated, done.deleted) == (wanted.inserted, wanted.updated, wanted.deleted)


def test_an_engine_on_other_machines_is_believed_where_the_files_are_large(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading fifty million keys on the driver would undo what the cluster is for."""
    monkeypatch.setattr(recount, "MOST_ROWS_OF_OTHERS", 3)
    monkeypatch.setattr(
        LyingSource, "check", lambda self, unified: replace(self._honest.check(unified), distributed=True)
    )
    lying = Liar(invent_one)
    with pytest.raises(DatasetMergeError, match="planned as"):
        merge(NEW, str(folder), keys="id", engine=lying)
