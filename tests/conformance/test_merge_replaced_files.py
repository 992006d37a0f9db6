"""A file that another process replaces between footer and data is a conflict, whatever an engine says of it."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from lakebed.engines.protocols.engine import EngineName
from lakebed.errors import DatasetMergeError, TargetError
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec
from lakebed.model import Staging
from lakebed.schema.evolve import EvolutionPlan
from lakebed.table.merge import merge
from lakebed.targets.base import TableState
from lakebed.targets.parquet.target import ParquetTarget

NEW = pa.table({"id": [0, 7, 40], "v": ["a", "b", "c"]})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "t").mkdir()
    for number in range(4):
        rows = range(number * 10, number * 10 + 10)
        pq.write_table(pa.table({"id": rows, "v": ["old"] * 10}), tmp_path / "t" / f"{number}.parquet")
    return str(tmp_path / "t")


class Replaced(ParquetTarget):
    """Another writer replaces files when ours opens its staging, a number of times; then the engine fails, or reads."""

    def __init__(self, folder: str, error: Exception | None, *, times: int = 2, commits: bool = True) -> None:
        super().__init__(folder)
        self.folder, self.error, self.left, self.commits = folder, error, times, commits

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        if self.left:
            self.left -= 1
            if self.commits:
                theirs = pa.table({"id": [0, 5], "v": ["x", "y"], "more": [self.left, 2]})
                merge(theirs, self.folder, keys="id", strategy="delete_insert", engine="arrow")
            if self.error is not None:
                raise self.error
        return super().stage(state, evolution, partition_by=partition_by)


# What engines were seen to raise where the footer was of one file and the data of another.
MIXTURES = [
    FileNotFoundError("part-00.parquet"),
    OSError("Couldn't deserialize thrift: don't know what type"),
    pa.ArrowInvalid("Invalid data"),
    duckdb.InvalidInputException("Invalid Input Error: don't know what type"),
    TargetError("part-00.parquet is not a Parquet file"),
    refusals.engine_failed(MergeSpec.of(keys="id"), "MERGE operation failed: Invalid data"),
    KeyError("v"),
    AssertionError(),
]


@pytest.mark.parametrize("error", [None, *MIXTURES], ids=repr)
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_replaced_file_is_a_conflict(engine: EngineName, error: Exception | None, folder: str) -> None:
    result = merge(NEW, Replaced(folder, error), keys="id", engine=engine)
    assert (result.updated, result.inserted, result.before) == (2, 1, 40)
    found = pads.dataset(folder, format="parquet").to_table()
    rows = dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))
    assert found.num_rows == len(rows) == 41
    assert (rows[0], rows[5], rows[7], rows[40]) == ("a", "y", "b", "c")


@pytest.mark.parametrize("error", [one for one in MIXTURES if isinstance(one, OSError | pa.ArrowInvalid)], ids=repr)
def test_the_same_of_files_that_stay_is_a_failure(error: Exception, folder: str) -> None:
    with pytest.raises(DatasetMergeError) as caught:
        merge(NEW, Replaced(folder, error, commits=False), keys="id", engine="arrow")
    assert caught.value.kind == "ENGINE_FAILED"
    assert pads.dataset(folder, format="parquet").count_rows() == 40
