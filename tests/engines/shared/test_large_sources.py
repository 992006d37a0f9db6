"""A source that is larger than memory should be: what is held of it, what is said of it, and where it is put down."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.duckdb.merge import DuckDBMerge
from lakebed.engines.shared.large import is_even
from lakebed.errors import DatasetMergeError
from lakebed.kernels.mapped import let_go, map_table, rechunked, write_batches
from lakebed.kernels.source_rows import SourceRows
from lakebed.table.merge import merge

ENGINES = [ArrowMerge(large_rows=100), DuckDBMerge(large_rows=100)]

# Arrow's own memory, which a busy machine does not change; mapped files are not in it.
STREAM = """
import json, sys
import pyarrow as pa
from lakebed.table.merge import merge

ROWS, STEP = 3_000_000, 50_000
def batches():
    texts = pa.array([f"service-{number % 50}" for number in range(STEP)])
    for start in range(0, ROWS, STEP):
        ids = [(start + number) * 7919 % ROWS for number in range(STEP)]
        yield pa.RecordBatch.from_pydict({"id": ids, "text": texts, "a": ids, "b": ids})
stream = pa.RecordBatchReader.from_batches(next(batches()).schema, batches())
done = merge(stream, sys.argv[1], keys="id", engine=sys.argv[2])
print(json.dumps([done.inserted, done.updated, done.total, pa.default_memory_pool().max_memory()]))
"""


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_the_keys_and_rows_of_a_stream_are_not_held_in_memory(engine: str, tmp_path: Path) -> None:
    """Three million rows of 42 bytes; the index of their keys alone would take 200 MB."""
    before = []
    for expected in ([3_000_000, 0], [0, 3_000_000]):
        done = subprocess.run(
            [sys.executable, "-c", STREAM, str(tmp_path / "table"), engine], check=True, capture_output=True, text=True
        )
        inserted, updated, total, peak = json.loads(done.stdout)
        assert [inserted, updated] == expected
        assert total == 3_000_000
        before.append(peak)
    assert max(before) < 200 << 20


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_repeated_keys_are_named_as_of_a_small_source(engine: ArrowMerge | DuckDBMerge, tmp_path: Path) -> None:
    ids = [*range(300), 250, 7, 7, 120, 121, 122, 123]
    source = pa.table({"id": ids, "at": [f"day {number}" for number in ids]})
    refused = []
    for chosen in (engine, "arrow"):
        with pytest.raises(DatasetMergeError) as told:
            merge(source, str(tmp_path / "t"), keys=["id", "at"], engine=chosen)
        refused.append((told.value.kind, told.value.count, told.value.keys, told.value.message))
    assert refused[0] == refused[1]
    assert refused[0][:3] == ("DUPLICATE_SOURCE_KEYS", 6, ((7, "day 7"), *((n, f"day {n}") for n in range(120, 124))))
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_a_large_source_is_converted_on_the_way(engine: ArrowMerge | DuckDBMerge, tmp_path: Path) -> None:
    """Types that differ, dictionaries, names in another case and order, batches of any length."""
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"id": pa.array(range(500), pa.int64()), "text": ["old"] * 500}), folder / "a.parquet")
    ids = pa.array(range(250, 750), pa.int32())
    texts = pa.array([f"new {number % 3}" for number in range(500)]).dictionary_encode()
    source = pa.concat_tables(
        [pa.table({"TEXT": texts.slice(start, 77), "id": ids.slice(start, 77)}) for start in range(0, 500, 77)]
    )
    done = merge(source, str(folder), keys="id", engine=engine)
    assert (done.inserted, done.updated, done.total) == (250, 250, 750)
    table = pq.read_table(folder).sort_by("id")
    assert table.schema.field("id").type == pa.int64()
    assert table["text"].to_pylist() == ["old"] * 250 + [f"new {number % 3}" for number in range(500)]


@pytest.mark.parametrize("order_by", [None, "at"])
def test_a_large_source_is_deduplicated_share_by_share(order_by: str | None, tmp_path: Path) -> None:
    ids = [number % 400 for number in range(1200)]
    source = pa.table({"id": ids, "at": [0 if order_by is None else number for number in range(1200)]})
    done = merge(
        source,
        str(tmp_path / "t"),
        keys="id",
        strategy="deduplicate",
        dedup_order_by=order_by,
        engine=ArrowMerge(large_rows=100),
    )
    assert (done.inserted, done.source_rows) == (400, 400)
    table = pq.read_table(tmp_path / "t").sort_by("id")
    assert table["at"].to_pylist() == ([0] * 400 if order_by is None else list(range(800, 1200)))


def test_partitions_of_a_large_source_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows come back to the partitions of the ones before: their files stay open, or the partition gets another."""
    monkeypatch.setattr("lakebed.kernels.merge_inserts.WINDOW_ROWS", 100)
    source = pa.table({"id": range(1000), "day": [f"d{number % 7}" for number in range(1000)]})
    for most, files in ((500, 7), (2, 70)):
        monkeypatch.setattr("lakebed.kernels.merge_inserts.OPEN_FILES", most)
        monkeypatch.setattr("lakebed.kernels.merge_inserts.WAITING_BYTES", 500)
        folder = tmp_path / str(most)
        done = merge(source, str(folder), keys="id", partition_by="day", engine=ArrowMerge(large_rows=100))
        assert done.inserted == done.total == 1000
        assert len(done.files) == files
        found = pq.read_table(folder)
        assert sorted(zip(found["id"].to_pylist(), map(str, found["day"].to_pylist()), strict=True)) == [
            (number, f"d{number % 7}") for number in range(1000)
        ]


def test_duckdb_says_that_it_leaves_a_large_source_to_arrow(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = pa.table({"id": range(101)})
    with caplog.at_level(logging.INFO):
        merge(source, str(tmp_path / "t"), keys="id", engine=DuckDBMerge(large_rows=100))
    assert "101 source rows are more than DuckDB's scratch tables should hold: merging with Arrow" in caplog.messages
    caplog.clear()
    with caplog.at_level(logging.INFO):
        done = merge(source, str(tmp_path / "t"), keys="id", engine=DuckDBMerge(large_rows=100, use_merge=True))
    assert done.updated == 101
    assert not [line for line in caplog.messages if "Arrow" in line]


def test_a_mapped_table_is_let_go_of_and_read_again(tmp_path: Path) -> None:
    batches = list(rechunked(pa.table({"a": range(10)}).to_batches(max_chunksize=4), 3))
    assert [batch.num_rows for batch in batches] == [3, 3, 3, 1]
    path = tmp_path / "rows.arrow"
    write_batches(str(path), batches[0].schema, batches)
    table = map_table(str(path))
    let_go()
    path.unlink()
    assert table["a"].to_pylist() == list(range(10))
    let_go()
    assert pc.sum(table["a"]).as_py() == 45


def test_rows_come_in_the_order_of_their_positions() -> None:
    table = pa.Table.from_batches(list(rechunked(pa.table({"a": range(100)}).to_batches(), 7)))
    rows = SourceRows(table, large=True)
    for positions in ([], [5], [99, 0, 50, 50, 3], [1, 2, 3], [90, 95], list(range(100))[::-1]):
        assert rows.take(pa.array(positions, pa.int64()))["a"].to_pylist() == positions
    arriving = rows.arriving([pa.array([3, 2], pa.int32()), pa.array([], pa.int32()), pa.array([98, 1], pa.int32())])
    assert [arriving.take(pa.array(some))["a"].to_pylist() for some in ([3], [2, 98], [1])] == [[3], [2, 98], [1]]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("fetched", [1, 2, 5, 1000])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_what_is_fetched_and_not_used_is_neither_lost_nor_used_twice(
    large: bool, fetched: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.kernels.source_rows.FETCHED_ROWS", fetched)
    table = pa.Table.from_batches(list(rechunked(pa.table({"a": range(60)}).to_batches(), 7)))
    rows = SourceRows(table, large=large)
    wanted = [number * 37 % 60 for number in range(60)]
    positions = [pa.array(wanted[:11], pa.int32()), pa.array(wanted[11:12], pa.int32()), pa.array(wanted[12:])]
    arriving = rows.arriving(positions)
    each = [arriving.take(pa.array(wanted[start : start + step]))["a"].to_pylist() for start in range(0, 60, step)]
    assert [value for some in each for value in some] == wanted
    portions = [portion["a"].to_pylist() for portion in rows.portions(positions, step)]
    assert sorted(value for some in portions for value in some) == list(range(60))
    assert all(0 < len(some) <= step for some in portions)


def test_a_table_in_batches_of_any_length_is_not_asked_batch_by_batch() -> None:
    batches = pa.table({"a": range(200_000)}).to_batches(max_chunksize=40_000)
    assert is_even(pa.Table.from_batches(batches))
    assert not is_even(pa.Table.from_batches([batches[0].slice(1), *batches[1:]]))
    assert not is_even(pa.Table.from_batches(pa.table({"a": range(200_000)}).to_batches(max_chunksize=100)))
