"""The merge's core: arguments, shared validation, counts, pruning, plans; no engine."""

from dataclasses import FrozenInstanceError
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.steps import count_steps

from lakebed.datasets import (
    DatasetMergeError,
    DuckDBParquetHandler,
    MergeStats,
    compute_merge_stats,
    merge_parquet_dataset_pyarrow,
    normalize_keys,
    validate_keys_and_schema,
)
from lakebed.merge_core.prune import prune, worth_repacking
from lakebed.merge_core.result import MergeResult
from lakebed.merge_core.spec import STRATEGIES, MergeSpec
from lakebed.model import Bounds, DataFile
from lakebed.table.merge import merge


def test_keys_are_normalised() -> None:
    assert normalize_keys("id") == ["id"]
    assert normalize_keys(["a", "b"]) == ["a", "b"]
    assert normalize_keys(("a",)) == ["a"]


@pytest.mark.parametrize(
    ("keys", "kind"),
    [([], "EMPTY_KEY_COLUMNS"), ("", "EMPTY_KEY_COLUMNS"), (["a", "A"], "INVALID_KEY_COLUMNS"),
     (["a", " "], "INVALID_KEY_COLUMNS"), ([1], "INVALID_KEY_COLUMNS")],
)  # fmt: skip
def test_wrong_keys_are_value_errors(keys: object, kind: str) -> None:
    with pytest.raises(ValueError) as caught:
        normalize_keys(keys)  # type: ignore[arg-type]
    assert isinstance(caught.value, DatasetMergeError)
    assert caught.value.kind == kind


def test_a_wrong_strategy_names_the_right_ones() -> None:
    with pytest.raises(ValueError, match="Invalid merge strategy: 'upsrt'") as caught:
        MergeSpec.of(keys="id", strategy="upsrt")
    assert isinstance(caught.value, DatasetMergeError)
    assert caught.value.kind == "INVALID_STRATEGY"
    assert all(strategy in str(caught.value) for strategy in STRATEGIES)


def test_validation_needs_no_rows() -> None:
    class Described:
        """A table that only describes itself."""

        def __init__(self, schema: pa.Schema, nulls: int = 0) -> None:
            self.schema = schema
            self.num_rows = 10**12
            self._nulls = nulls

        def null_count(self, column: str) -> int:
            return self._nulls

    ids = pa.schema([("id", pa.int64())])
    validate_keys_and_schema(Described(ids), None, ["id"])
    validate_keys_and_schema(Described(ids), Described(pa.schema([("ID", pa.int32())])), ["id"])
    with pytest.raises(DatasetMergeError) as caught:
        validate_keys_and_schema(Described(ids, nulls=3), None, ["id"])
    assert (caught.value.kind, caught.value.column, caught.value.count) == ("NULL_KEY_SOURCE", "id", 3)


@pytest.mark.parametrize(
    ("source", "target", "keys", "kind"),
    [
        (pa.table({"a": [1]}), None, ["id"], "KEY_COLUMN_MISSING_SOURCE"),
        (pa.table({"id": [1]}), pa.table({"a": [1]}), ["id"], "KEY_COLUMN_MISSING_TARGET"),
        (pa.table({"id": [1]}), pa.table({"id": ["1"]}), ["id"], "KEY_TYPE_MISMATCH"),
        (pa.table({"id": [1], "v": [1]}), pa.table({"id": [1], "v": ["1"]}), ["id"], "SCHEMA_INCOMPATIBLE"),
        (pa.table({"id": [None, 1]}), None, ["id"], "NULL_KEY_SOURCE"),
        (pa.table({"id": [1]}), pa.table({"id": [None, 1]}), ["id"], "NULL_KEY_TARGET"),
        (pa.table({"id": [[1]]}), None, ["id"], "INVALID_KEY_COLUMNS"),
    ],
)
def test_shared_validation(source: pa.Table, target: pa.Table | None, keys: list[str], kind: str) -> None:
    with pytest.raises(DatasetMergeError) as caught:
        validate_keys_and_schema(source, target, keys)
    assert caught.value.kind == kind


def test_stats_come_from_counted_rows() -> None:
    stats = compute_merge_stats(
        strategy="upsert", target_before=10, target_after=12, inserted_rows=2, updated_rows=3, deleted_rows=0
    )
    assert isinstance(stats, dict)
    assert stats == {"inserted": 2, "updated": 3, "deleted": 0, "total": 12}
    assert (stats.inserted, stats.updated, stats.deleted, stats.total) == (2, 3, 0, 12)


def test_counts_that_do_not_balance_are_an_error() -> None:
    with pytest.raises(DatasetMergeError, match="do not balance"):
        compute_merge_stats(
            strategy="upsert", target_before=10, target_after=11, inserted_rows=2, updated_rows=0, deleted_rows=0
        )
    with pytest.raises(DatasetMergeError, match="do not balance"):
        MergeResult(inserted=1, total=5, before=5)


def file(uri: str, low: object, high: object, nulls: int | None = 0) -> DataFile:
    return DataFile(uri, 10, 100, {}, {"id": Bounds(low, high, nulls)})


@pytest.mark.parametrize(
    ("keys", "files", "candidates"),
    [
        (pa.array([5, 25]), [file("a", 0, 9), file("b", 10, 19), file("c", 20, 29)], ["a", "c"]),
        (pa.array(["m"]), [file("a", "a", "l"), file("b", "m", "m"), file("c", "n", "z")], ["b"]),
        (pa.array([Decimal("1.5")]), [file("a", Decimal("1"), Decimal("2")), file("b", Decimal("3"), Decimal("4"))],
         ["a"]),
        (pa.array([5]), [file("a", 10, 19, None), DataFile("b", 10, 100)], ["a", "b"]),
        (pa.array([float("nan")]), [file("a", 0.0, 1.0)], ["a"]),
        (pa.array([5]), [DataFile("a", 10, 100, {"id": "x"}, {})], ["a"]),
        (pa.array(["x"]), [DataFile("a", 10, 100, {"id": "x"}), DataFile("b", 10, 100, {"id": "y"})], ["a"]),
        (pa.array([], pa.int64()), [file("a", 0, 9)], []),
    ],
)  # fmt: skip
def test_files_are_cleared_by_what_they_say_of_themselves(
    keys: pa.Array, files: list[DataFile], candidates: list[str]
) -> None:
    assert [one.uri for one in prune(files, pa.table({"id": keys})).candidates] == candidates


def test_a_range_of_keys_clears_only_what_lies_outside() -> None:
    files = [file("a", 0, 9), file("b", 10, 19), file("c", 20, 29), file("d", 30, 39)]
    found = prune(files, pa.table({"id": [12, 25]}), only_extremes=True)
    assert [one.uri for one in found.candidates] == ["b", "c"]
    between = prune(files, pa.table({"id": [5, 35]}), only_extremes=True)
    assert [one.uri for one in between.candidates] == ["a", "b", "c", "d"]


def test_null_keys_of_footers_are_counted() -> None:
    assert prune([file("a", 0, 9, 2), file("b", 0, 9, 1)], pa.table({"id": [1]})).nulls == {"id": 3}


def test_few_files_are_not_repacked() -> None:
    assert worth_repacking(19, 20)
    assert not worth_repacking(10, 20)
    assert not worth_repacking(2, 2)


def test_only_affected_files_are_rewritten(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(10):
        pq.write_table(
            pa.table({"id": range(number * 10, number * 10 + 10), "v": ["a"] * 10}), folder / f"{number}.parquet"
        )
    before = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    result = merge(pa.table({"id": [35, 200], "v": ["b", "b"]}), str(folder), keys="id", engine="arrow")
    assert (result.files_rewritten, result.files_kept) == (1, 9)
    after = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    assert [name for name in before if after[name] != before[name]] == ["3.parquet"]


def test_nearly_all_files_are_repacked_into_fewer(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number in range(10):
        pq.write_table(pa.table({"id": range(number * 10, number * 10 + 10)}), folder / f"{number}.parquet")
    source = pa.table({"id": range(0, 100, 5)})
    plan = merge(source, str(folder), keys="id", dry_run=True).plan
    assert plan is not None
    assert plan.repack
    with pytest.raises(FrozenInstanceError):
        plan.before = 0  # type: ignore[misc]
    assert "10 rewritten into new ones" in str(plan)
    assert plan.to_dict()["expected"] == {"inserted": 0, "updated": 20, "deleted": 0, "total": 100}
    for engine in ("arrow", "duckdb"):
        merge(source, str(folder), keys="id", engine=engine)
        assert len(list(folder.glob("*.parquet"))) == 1
        assert pq.read_table(folder).num_rows == 100


def test_both_specified_entry_points_agree(tmp_path: Path) -> None:
    source = pa.table({"id": [1, 2]})
    found = [
        DuckDBParquetHandler().merge_parquet_dataset(source, tmp_path / "a", ["id"]),
        merge_parquet_dataset_pyarrow(source, tmp_path / "b", "id", "upsert"),
    ]
    assert found == [MergeStats(inserted=2, updated=0, deleted=0, total=2)] * 2


def test_sources_of_every_kind(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "p": ["01", "02"]})
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["p"])
    pq.write_table(table, tmp_path / "one.parquet")
    sources = [
        table,
        table.to_reader(),
        table.to_batches()[0],
        tmp_path / "one.parquet",
        str(tmp_path / "hive"),
    ]
    for number, source in enumerate(sources):
        for engine in ("arrow", "duckdb"):
            given = table.to_reader() if isinstance(source, pa.RecordBatchReader) else source
            result = merge(given, str(tmp_path / f"{engine}{number}"), keys="id", engine=engine)
            assert result.inserted == 2
            assert set(pq.read_table(tmp_path / f"{engine}{number}").column("p").to_pylist()) == {"01", "02"}


def test_memory_is_bounded_by_batches_and_not_by_the_target(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    rows = 1_500_000
    wide = pa.table({"id": pa.array(range(rows)), **{f"c{n}": pa.array(range(rows)) for n in range(8)}})
    pq.write_table(wide, folder / "0.parquet", row_group_size=100_000)
    size = wide.nbytes
    del wide
    # A pool of its own: the peak of the process's pool is that of whatever ran before.
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        merge(pa.table({"id": [5], "c0": [0]}), str(folder), keys="id", engine="arrow")
    finally:
        pa.set_memory_pool(usual)
    assert 0 < pool.max_memory() < size / 2


def test_pruning_looks_at_each_file_once_and_searches_the_keys() -> None:
    files = [file(str(number), number * 10, number * 10 + 9) for number in range(10_000)]
    keys = pa.table({"id": range(0, 100_000, 1000)})
    assert len(prune(files, keys).candidates) == 100
    steps = count_steps(lambda: prune(files, keys))
    assert steps < 11 * count_steps(lambda: prune(files[:1000], keys))
    # A hundred times as many keys are seven more steps of a binary search for each file.
    assert count_steps(lambda: prune(files, pa.table({"id": range(0, 100_000, 10)}))) < 3 * steps
