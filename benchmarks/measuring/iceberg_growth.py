"""How an Iceberg table's costs grow: with its columns, with its commits, with its files, and with its writers."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.model import WrittenFile
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.storage import join, local_path
from lakebed.table.evolve import apply
from lakebed.table.merge import merge
from lakebed.targets.base import Change
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget

WRITERS = 8
_WRITER = """
import sys
import pyarrow as pa
import lakebed
workdir, writer, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
retries = 0
for turn in range(12):
    name = f"c_{writer}_{turn}"
    if how == "evolve":
        done = lakebed.evolve("iceberg:bench.costs", {name: "int"}, workdir=workdir)
    else:
        rows = pa.table({"id": [0, writer * 100 + turn], name: [writer] * 2})
        done = lakebed.merge(rows, "iceberg:bench.costs", keys="id", engine="arrow", workdir=workdir)
    retries += done.retries
print(retries)
"""


@dataclass(frozen=True)
class Point:
    """What one size cost."""

    size: int
    processor_seconds: float
    note: str = ""


def table_in(folder: Path) -> IcebergTarget:
    shutil.rmtree(folder, ignore_errors=True)
    return IcebergTarget("bench", "costs", CatalogSettings.for_workdir(folder))


def by_columns(folder: Path, sizes: Sequence[int], *, new: int = 100) -> Iterator[Point]:
    """A merge of one row that adds columns to a table of so many."""
    for size in sizes:
        target = table_in(folder / "columns")
        wide = pa.table({"id": [0], **{f"c{number}": [number] for number in range(size - 1)}})
        merge(wide, target, keys="id", engine="arrow")
        rows = pa.table({"id": [0], **{f"n{number}": [number] for number in range(new)}})
        yield Point(size, _seconds(lambda target=target, rows=rows: merge(rows, target, keys="id", engine="arrow")))


def by_commits(folder: Path, commits: int, every: int, *, updates: bool) -> Iterator[Point]:
    """Merges in a row, which all update one file or each append one; the mean of the last ones, at each stage."""
    target = table_in(folder / "commits")
    spent = 0.0
    for number in range(1, commits + 1):
        rows = pa.table({"id": [0 if updates else number], "n": [number]})
        spent += _seconds(lambda rows=rows: merge(rows, target, keys="id", engine="arrow"))
        if number % every == 0:
            table = target.existing_table()
            size = len(table.io.new_input(table.metadata_location))
            manifests = len(table.current_snapshot().manifests(table.io))  # type: ignore[union-attr]
            kept = sum(1 for _ in local_path(table.location()).glob("metadata/*.metadata.json"))
            yield Point(
                number, spent / every, f"{manifests} manifests, metadata of {size / 1000:.0f} kB, {kept} versions of it"
            )
            spent = 0.0


def by_files(folder: Path, sizes: Sequence[int]) -> Iterator[Point]:
    """A merge that updates a row of one of so many files."""
    for size in sizes:
        target = table_in(folder / "files")
        state = target.state()
        schema = pa.schema([("id", pa.int64()), *((f"c{number}", pa.int64()) for number in range(49))])
        evolution = plan_evolution(None, from_arrow_schema(schema), Policy(rules=target.capabilities.rules))
        staging = target.stage(state, evolution)
        written = []
        for number in range(size):
            path = local_path(join(staging.folder, f"{number}.parquet"))
            columns = [pa.array([number * 10 + row for row in range(10)], pa.int64())] * 50
            pq.write_table(pa.table(columns, schema=staging.schema), path)
            written.append(WrittenFile(path.name, 10, path.stat().st_size))
        target.commit(state, staging, Change(evolution, tuple(written)))
        rows = pa.table({"id": [size * 5], "c0": [-1]})
        yield Point(size, _seconds(lambda target=target, rows=rows: merge(rows, target, keys="id", engine="arrow")))


def by_writers(folder: Path, how: str) -> tuple[float, int]:
    """Eight processes that each add twelve columns by `how`, evolve or merge: seconds by the clock, and retries."""
    target = table_in(folder / "writers")
    merge(pa.table({"id": [0]}), target, keys="id", engine="arrow")
    began = time.perf_counter()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(folder / "writers"), str(writer), how],
            stdout=subprocess.PIPE,
            text=True,
        )
        for writer in range(1, WRITERS + 1)
    ]
    retries = [int(writer.communicate()[0]) for writer in running]
    took = time.perf_counter() - began
    columns = set(target.state().schema.names)
    assert columns == {"id", *(f"c_{w}_{turn}" for w in range(1, WRITERS + 1) for turn in range(12))}
    return took, sum(retries)


def by_schema_changes(folder: Path, changes: int, every: int) -> Iterator[Point]:
    """Schema changes of one column each, in a row."""
    target = table_in(folder / "changes")
    merge(pa.table({"id": [0]}), target, keys="id", engine="arrow")
    policy, spent = Policy(rules=target.capabilities.rules), 0.0
    for number in range(1, changes + 1):
        schema = from_arrow_schema(pa.schema([(f"c{number}", pa.int64())]))
        spent += _seconds(lambda schema=schema: apply(target, lambda _: schema, policy))
        if number % every == 0:
            yield Point(number, spent / every)
            spent = 0.0


def _seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began
