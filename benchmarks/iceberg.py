"""Iceberg: a commit of 1,000 files, the same load into Iceberg and into Parquet, a merge against `upsert`, and growth.

    .venv/bin/python benchmarks/iceberg.py [--rows 1000000] [--columns 250] [--files 1000] [--merge-rows 5000000]

Promises: the commit under 10 s on SQLite, the load at most 1.1 times the one into Parquet, the merge at least 20 times
as fast as `upsert` when the updates lie in one of 20 files; what a commit costs does not grow with the commits before
it, and a merge that adds columns costs no more for each column of the table when there are many. Processor seconds are
printed beside those of the clock, since others may be using the machine.
"""

import argparse
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_file_to_data_file

from inputs.cur import columns as cur_columns
from inputs.cur import make
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob
from lakebed.model import DELIVERY, PERIOD, RESERVED_COLUMNS, Slice, SourceFile, WrittenFile
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.names import normalize_column_name
from lakebed.schema.types import Column, DataType, Decimal, Schema, Text, Timestamp
from lakebed.storage import join, local_path
from lakebed.table.merge import merge
from lakebed.targets.base import Change, Target
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.targets.parquet.target import ParquetTarget
from measuring import iceberg_growth as growth

SLICE = Slice("111122223333", "bench", "2026-10")
KINDS: dict[str, DataType] = {"text": Text(), "decimal": Decimal(38, 18), "timestamp": Timestamp("us")}


@dataclass(frozen=True)
class Took:
    """Seconds by the clock and by the processor."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.processor:.2f} s of processor)"


class Clock:
    """Started when it is made."""

    def __init__(self) -> None:
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def read(self) -> Took:
        return Took(time.perf_counter() - self._clock, time.process_time() - self._processor)


def table_columns(count: int) -> Schema:
    named = [
        Column(normalize_column_name(original), KINDS[kind], original=original) for original, kind in cur_columns(count)
    ]
    return Schema.of([*named, *(Column(name, Text()) for name in RESERVED_COLUMNS)])


def iceberg(folder: Path) -> IcebergTarget:
    shutil.rmtree(folder, ignore_errors=True)
    return IcebergTarget("bench", "costs", CatalogSettings.for_workdir(folder))


def commit_many(folder: Path, files: int, count: int) -> tuple[Took, Took]:
    """Seconds to commit `files` files that lie ready, and to read as many footers with PyIceberg's own call."""
    target = iceberg(folder / "commit")
    schema = table_columns(count)
    state = target.state()
    evolution = plan_evolution(None, schema, Policy(rules=target.capabilities.rules))
    staging = target.stage(state, evolution, partition_by=(PERIOD,))
    constants = {**SLICE.values, DELIVERY: "d1"}
    rows = pa.table(
        [
            pa.array([constants.get(field.name, f"value {row}") for row in range(20)], pa.string()).cast(field.type)
            if pa.types.is_string(field.type)
            else pa.array(range(20), pa.int64()).cast(field.type)
            for field in staging.schema
        ],
        schema=staging.schema,
    )
    first = local_path(join(staging.folder, "0.parquet"))
    pq.write_table(rows, first)
    written = [WrittenFile("0.parquet", 20, first.stat().st_size)]
    for number in range(1, files):
        shutil.copyfile(first, first.with_name(f"{number}.parquet"))
        written.append(WrittenFile(f"{number}.parquet", 20, first.stat().st_size))
    clock = Clock()
    target.commit(state, staging, Change(evolution, tuple(written), (), SLICE))
    took = clock.read()
    table = target.existing_table()
    some = max(1, files // 20)
    clock = Clock()
    for file in written[:some]:
        parquet_file_to_data_file(table.io, table.metadata, join(staging.folder, file.path))
    theirs = clock.read()
    return took, Took(theirs.clock * files / some, theirs.processor * files / some)


def load_once(target: Target, files: list[Path], schema: Schema) -> Took:
    """What the pipeline does with a staged delivery: plan, convert, commit."""
    clock = Clock()
    state = target.state()
    evolution = plan_evolution(None, schema, Policy(rules=target.capabilities.rules))
    staging = target.stage(state, evolution, partition_by=(PERIOD,))
    job = ConvertJob(
        files=tuple(SourceFile(str(file), file.name, "csv", "gzip", file.stat().st_size) for file in files),
        columns=Schema.of(column for column in schema if column.name not in RESERVED_COLUMNS),
        constants={**SLICE.values, DELIVERY: "d1"},
        staging=staging,
        partition={PERIOD: SLICE.period},
    )
    converted = ArrowEngine().convert(job)
    target.commit(state, staging, Change(evolution, converted.files, (), SLICE))
    return clock.read()


def merge_once(folder: Path, rows: int) -> tuple[Took, Took]:
    """Our merge (the best of three) and PyIceberg's upsert: updates in one of 20 files, as many new rows."""
    per_file = rows // 20
    rows_from = random_rows(per_file)
    for name in ("ours", "theirs"):
        target = iceberg(folder / f"merge-{name}")
        state = target.state()
        schema = from_arrow_schema(rows_from(0).schema)
        evolution = plan_evolution(None, schema, Policy(rules=target.capabilities.rules))
        staging = target.stage(state, evolution)
        written = []
        for number in range(20):
            path = local_path(join(staging.folder, f"{number}.parquet"))
            table = rows_from(number * per_file)
            pq.write_table(table.cast(staging.schema), path)
            written.append(WrittenFile(path.name, table.num_rows, path.stat().st_size))
        target.commit(state, staging, Change(evolution, tuple(written)))
    changed = rows // 100
    source = pa.concat_tables([rows_from(7 * per_file).slice(0, changed), rows_from(rows).slice(0, changed)])
    source = source.set_column(1, "c0", pa.array(["changed"] * source.num_rows))
    target = IcebergTarget("bench", "costs", CatalogSettings.for_workdir(folder / "merge-ours"))
    before = target.snapshots()[-1].id
    ours = []
    for _ in range(3):
        clock = Clock()
        result = merge(source, target, keys="id", engine="duckdb")
        ours.append(clock.read())
        assert (result.updated, result.inserted, result.files_rewritten) == (changed, changed, 1)
        target.roll_back(before)
    settings = CatalogSettings.for_workdir(folder / "merge-theirs")
    table = IcebergTarget("bench", "costs", settings).existing_table()
    clock = Clock()
    upserted = table.upsert(source, join_cols=["id"])
    theirs = clock.read()
    assert (upserted.rows_updated, upserted.rows_inserted) == (changed, changed)
    return min(ours, key=lambda took: took.clock), theirs


def random_rows(per_file: int) -> Callable[[int], pa.Table]:
    """Twelve columns that compress about as well as real ones."""

    def rows(first: int) -> pa.Table:
        ids = pa.array(range(first, first + per_file), pa.int64())
        texts = {
            f"c{number}": pc.binary_join_element_wise(f"value {number} ", pc.cast(ids, pa.string()), "")
            for number in range(6)
        }
        numbers = {f"n{number}": pc.multiply(pc.cast(ids, pa.float64()), 1.1 + number) for number in range(5)}
        return pa.table({"id": ids, **texts, **numbers})

    return rows


def print_growth(folder: Path, *, commits: int) -> None:
    print("a merge that adds 100 columns, by the table's columns:")
    for point in growth.by_columns(folder, (500, 1_000, 1_500, 5_000)):
        print(f"  {point.size:>6,} columns: {point.processor_seconds:.2f} s of processor")
    print("a merge of one row, by the table's files of 50 columns:")
    for point in growth.by_files(folder, (500, 1_000, 5_000)):
        print(f"  {point.size:>6,} files: {point.processor_seconds:.2f} s of processor")
    for title, updates in (("that updates the same file", True), ("that appends a file", False)):
        print(f"a merge {title}, after so many commits:")
        for point in growth.by_commits(folder, commits, max(1, commits // 10), updates=updates):
            print(f"  {point.size:>6,} commits: {point.processor_seconds:.3f} s of processor; {point.note}")
    print("a schema change of one column, after so many:")
    for point in growth.by_schema_changes(folder, commits // 10, max(1, commits // 50)):
        print(f"  {point.size:>6,} changes: {point.processor_seconds:.3f} s of processor")
    for how in ("evolve", "merge"):
        took, retries = growth.by_writers(folder, how)
        print(
            f"{growth.WRITERS} processes that each add 12 columns by {how}: {took:.0f} s, {retries} retries, all done"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=250)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/lakebed-bench/iceberg"))
    parser.add_argument("--merge-rows", type=int, default=5_000_000)
    parser.add_argument("--commits", type=int, default=1_000)
    parser.add_argument("--only-growth", action="store_true")
    given = parser.parse_args()
    if given.only_growth:
        print_growth(given.folder, commits=given.commits)
        return

    ours, theirs = commit_many(given.folder, given.files, given.columns)
    print(f"commit of {given.files} files of {given.columns} columns: {ours} (promised: under 10 s)")
    print(f"  PyIceberg's own reading of their footers alone: {theirs}")

    files = make(given.folder / f"cur-{given.rows}-{given.columns}", rows=given.rows, count=given.columns, files=8)
    schema = table_columns(given.columns)
    times: dict[str, list[Took]] = {"parquet": [], "iceberg": []}
    for _ in range(given.repeat):
        shutil.rmtree(given.folder / "parquet", ignore_errors=True)
        times["parquet"].append(load_once(ParquetTarget(str(given.folder / "parquet")), files, schema))
        times["iceberg"].append(load_once(iceberg(given.folder / "load"), files, schema))
    parquet, into_iceberg = (min(times[name], key=lambda took: took.clock) for name in ("parquet", "iceberg"))
    print(f"load of {given.rows:,} x {given.columns}: parquet {parquet}, iceberg {into_iceberg},")
    ratios = (into_iceberg.clock / parquet.clock, into_iceberg.processor / parquet.processor)
    print(f"  {ratios[0]:.2f} times by the clock, {ratios[1]:.2f} by the processor (promised: at most 1.1)")

    ours, theirs = merge_once(given.folder, given.merge_rows)
    print(f"merge into {given.merge_rows:,} rows, updates in 1 of 20 files: {ours}, PyIceberg's upsert {theirs},")
    ratios = (theirs.clock / ours.clock, theirs.processor / ours.processor)
    print(f"  {ratios[0]:.0f} times by the clock, {ratios[1]:.0f} by the processor (promised: at least 20)")

    print_growth(given.folder, commits=given.commits)


if __name__ == "__main__":
    main()
