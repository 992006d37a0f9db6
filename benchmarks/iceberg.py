"""Iceberg: a commit of 1,000 files, and the same load into Iceberg and into Parquet.

    .venv/bin/python benchmarks/iceberg.py [--rows 200000] [--columns 250] [--files 1000] [--folder /tmp/lakebed-bench]

Promises: the commit under 10 s on SQLite, the load at most 1.1 times the one into Parquet.
"""

import argparse
import shutil
import statistics
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from cur_data import columns as cur_columns
from cur_data import make
from pyiceberg.io.pyarrow import parquet_file_to_data_file

from lakebed.engines.arrow.engine import ArrowEngine
from lakebed.engines.base import ConvertJob
from lakebed.model import DELIVERY, PERIOD, RESERVED_COLUMNS, Slice, SourceFile, WrittenFile
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.names import normalize_column_name
from lakebed.schema.types import Column, DataType, Decimal, Schema, Text, Timestamp
from lakebed.storage import join, local_path
from lakebed.targets.base import Change, Target
from lakebed.targets.iceberg import IcebergTarget
from lakebed.targets.iceberg_catalog import CatalogSettings
from lakebed.targets.parquet import ParquetTarget

SLICE = Slice("111122223333", "bench", "2026-10")
KINDS: dict[str, DataType] = {"text": Text(), "decimal": Decimal(38, 18), "timestamp": Timestamp("us")}


def table_columns(count: int) -> Schema:
    named = [
        Column(normalize_column_name(original), KINDS[kind], original=original) for original, kind in cur_columns(count)
    ]
    return Schema.of([*named, *(Column(name, Text()) for name in RESERVED_COLUMNS)])


def iceberg(folder: Path) -> IcebergTarget:
    shutil.rmtree(folder, ignore_errors=True)
    return IcebergTarget("bench", "costs", CatalogSettings.for_workdir(folder))


def commit_many(folder: Path, files: int, count: int) -> tuple[float, float]:
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
    started = time.perf_counter()
    target.commit(state, staging, Change(evolution, tuple(written), (), SLICE))
    seconds = time.perf_counter() - started
    table = target.existing_table()
    some = max(1, files // 20)
    started = time.perf_counter()
    for file in written[:some]:
        parquet_file_to_data_file(table.io, table.metadata, join(staging.folder, file.path))
    return seconds, (time.perf_counter() - started) * files / some


def load_once(target: Target, files: list[Path], schema: Schema) -> float:
    """What the pipeline does with a staged delivery: plan, convert, commit."""
    started = time.perf_counter()
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
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=250)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/lakebed-bench/iceberg"))
    given = parser.parse_args()

    ours, theirs = commit_many(given.folder, given.files, given.columns)
    print(f"commit of {given.files} files of {given.columns} columns: {ours:.2f} s (promised: under 10 s)")
    print(f"  PyIceberg's own reading of their footers alone: {theirs:.1f} s, {theirs / ours:.1f} times all of ours")

    files = make(given.folder / f"cur-{given.rows}-{given.columns}", rows=given.rows, count=given.columns, files=4)
    schema = table_columns(given.columns)
    times: dict[str, list[float]] = {"parquet": [], "iceberg": []}
    for _ in range(given.repeat):
        shutil.rmtree(given.folder / "parquet", ignore_errors=True)
        times["parquet"].append(load_once(ParquetTarget(str(given.folder / "parquet")), files, schema))
        times["iceberg"].append(load_once(iceberg(given.folder / "load"), files, schema))
    parquet, into_iceberg = (statistics.median(times[name]) for name in ("parquet", "iceberg"))
    ratio = into_iceberg / parquet
    print(
        f"load of {given.rows:,} x {given.columns}: parquet {parquet:.2f} s, iceberg {into_iceberg:.2f} s, {ratio:.2f}"
    )


if __name__ == "__main__":
    main()
