"""How the load grows: with months, with small files, with rows. Clock, CPU, memory of the driver, files that come out.

    scale.py [months] [files] [rows] [tasks] [plain-tasks] [--factor 1.0] [--folder DIR]

Each size is a process of its own on `local[2]`, with the same input each time. `--factor 0.1` tries it all on a tenth.
`tasks` are Python tasks that do nothing, on a standalone cluster of two workers; `plain-tasks` are the same as Spark
runs them by itself, with its archives read before each.
"""

import argparse
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from inputs import cur
from measuring.clock import Measured, measuring, report, run_contender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent

MONTHS = (3, 12, 24, 60)
FILES = (10, 500, 5_000)
ROWS = (1_000_000, 3_000_000, 10_000_000)
ROWS_PER_MONTH = 5_000
ROWS_PER_SMALL_FILE = 20
COLUMNS = 250
ROWS_PER_LARGE_FILE = 50_000
DISTINCT_ROWS = 200_000
TASKS = (2, 40, 400)
ON_A_CLUSTER = frozenset({"tasks", "plain-tasks"})


@dataclass(frozen=True)
class Size:
    """One run: what it loads, and how much of it there is."""

    shape: str
    size: int
    source: str
    lake: str


def months(folder: Path, size: int) -> Path:
    """So many small months of one report."""
    import lakebed

    place = folder / f"months-{size}"
    if not place.exists():
        lakebed.sample(place, months=size, rows=ROWS_PER_MONTH, columns=120, restate=False)
    return place


def small_files(folder: Path, size: int) -> Path:
    """So many files of few rows, as an API dumps them."""
    place = folder / f"files-{size}"
    if not place.exists():
        place.mkdir(parents=True)
        for number in range(size):
            rows = (
                json.dumps({"id": number * 100 + row, "kind": f"event {row % 7}", "cost": f"{row}.{number:06d}"})
                for row in range(ROWS_PER_SMALL_FILE)
            )
            place.joinpath(f"part-{number:05d}.json").write_text("\n".join(rows) + "\n")
    return place


def large_month(folder: Path, size: int) -> Path:
    """A month of so many rows in files of one size. A few files are written, and linked as often as they are wanted."""
    made = cur.make(folder / "large", rows=DISTINCT_ROWS, count=COLUMNS, files=DISTINCT_ROWS // ROWS_PER_LARGE_FILE)
    place = folder / f"rows-{size}" / "large" / "2026-10"
    if not place.exists():
        place.mkdir(parents=True)
        for number in range(size // ROWS_PER_LARGE_FILE):
            place.joinpath(f"part-{number:05d}.csv.gz").hardlink_to(made[number % len(made)])
    return place.parents[1]


def run_months(size: Size, spark: "SparkSession") -> int:
    import lakebed

    return lakebed.run(size.source, f"iceberg:scale{size.size}", workdir=size.lake, spark=spark).rows


def run_files(size: Size, spark: "SparkSession") -> int:
    import lakebed

    return lakebed.ingest(size.source, f"parquet:{size.lake}/table", workdir=size.lake, spark=spark).rows


def run_rows(size: Size, spark: "SparkSession") -> int:
    import lakebed

    target = f"parquet:{size.lake}/table"
    return lakebed.run(size.source, target, workdir=size.lake, spark=spark, no_stage=True).rows


def no_input(folder: Path, _: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run_empty_tasks(size: Size, spark: "SparkSession") -> int:
    from lakebed.engines.spark.tasks import run_tasks

    return len(run_tasks(spark, lambda number: number, size.size, doing="nothing"))


def run_as_spark_does() -> None:
    """Tasks of this process leave the importers of archives in the cache."""
    from lakebed.engines.spark import tasks

    tasks.SparingArchives = lambda function: function  # type: ignore[assignment, misc]


SHAPES: dict[str, tuple[tuple[int, ...], Callable[[Path, int], Path], Callable[[Size, "SparkSession"], int]]] = {
    "months": (MONTHS, months, run_months),
    "files": (FILES, small_files, run_files),
    "rows": (ROWS, large_month, run_rows),
    "tasks": (TASKS, no_input, run_empty_tasks),
    "plain-tasks": (TASKS, no_input, run_empty_tasks),
}


def spark_cluster() -> ModuleType:
    sys.path.insert(0, str(ROOT))
    return importlib.import_module("tests.support.spark_cluster")


def run(size: Size) -> Measured:
    """In a session that has started its workers: what a start costs is another benchmark's question."""
    from lakebed.config import load_settings
    from lakebed.engines.spark.probe import probe_workers
    from lakebed.engines.spark.session import open_session

    result = Measured()
    with ExitStack() as stack:
        master = "local[2]"
        if size.shape in ON_A_CLUSTER:
            cluster = stack.enter_context(spark_cluster().standalone_cluster())
            os.environ.update(cluster.environment)
            master = cluster.url
        if size.shape == "plain-tasks":
            run_as_spark_does()
        settings = load_settings({"master": master})
        session = stack.enter_context(open_session(settings))
        probe_workers(session, settings.storage)
        with measuring(result):
            result.rows = SHAPES[size.shape][2](size, session.spark)
    result.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return result


def measure(shape: str, folder: Path, factor: float) -> Iterator[tuple[int, Measured, int]]:
    """Every size of a shape: what it took, and how many data files it left."""
    sizes, make, _ = SHAPES[shape]
    for size in sizes:
        wanted = max(1, int(size * factor))
        source = make(folder, wanted)
        with tempfile.TemporaryDirectory(prefix="lakebed-scale-", dir=folder) as lake:
            asked = json.dumps(asdict(Size(shape, wanted, str(source), lake)))
            measured = run_contender([sys.executable, __file__, "--run", asked])
            yield wanted, measured, sum(1 for _ in Path(lake).rglob("*.parquet"))


def show(shape: str, folder: Path, factor: float) -> None:
    print(f"{shape:<8}{'size':>12}{'seconds':>10}{'CPU':>10}{'per unit':>12}{'driver MB':>11}{'files out':>11}")
    first: float | None = None
    for size, measured, files in measure(shape, folder, factor):
        each = measured.seconds / size
        first = first or each
        print(
            f"{'':<8}{size:>12,}{measured.seconds:>10.1f}{measured.cpu_seconds:>10.1f}{each:>12.6f}"
            f"{measured.peak_mb:>11,}{files:>11,}   {each / first:.2f} of the first",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", choices=[*SHAPES, []], default=[])
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run is not None:
        report(run(Size(**json.loads(given.run))))
        return
    folder = given.folder or Path(tempfile.mkdtemp(prefix="lakebed-scale-"))
    try:
        for shape in given.shapes or SHAPES:
            show(shape, folder, given.factor)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
