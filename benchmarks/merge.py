"""Merging into Parquet files, in every shape of `inputs/merge_shapes.py`: ours and the peers.

    python benchmarks/merge.py [--shapes A,B | all] [--repeat 3] [--only "lakebed duckdb,lakebed arrow"] [--rows N]

Every contender runs in a process of its own, on a fresh copy of the table, one after the other and the whole round
again `--repeat` times; the fastest run of each counts, since a shared machine only ever adds. The rewrite is DuckDB's:
the table without the source's keys, and the source. In the shapes A and B, 50,000 updates and 50,000 inserts go into
5,000,000 rows of 12 columns in 20 files; these are held against a floor as well: read the keys and match them, which
tells the affected files; rewrite those; write the inserts. A second floor is told the affected files beforehand and
reads no keys but theirs. Modules are imported, connections and sessions open, and the copy of the table on the disk
before the clock starts, for every contender alike. Peers run in `.venv-bench`, which `make bench` makes; those that
fail are named. `--rows` makes every shape smaller in proportion.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inputs.merge_shapes import ROWS, SHAPES, Shape
from measuring.clock import Measured, measuring

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# A contender that takes this many seconds is not run again: noise does not decide about it.
ONCE_IS_ENOUGH = 20.0
# What is measured against the floor, which knows no other.
FLOORED = ("A", "B", "A shuffled", "B shuffled")
# Where the source is a DataFrame; a large one is shuffled however many rows `--rows` leaves of it.
ON_SPARK = ("few on Spark", "large on Spark")


class Run:
    """One contender's view of one run."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.folder = folder
        self.shape = shape
        self.table = folder / "copy"
        self.out = folder / "out"
        self.source_path = folder / "source.parquet"
        shutil.rmtree(self.table, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def fresh_copy(self) -> Path:
        shutil.copytree(self.folder / "table", self.table)
        # The copy is on the disk before the clock starts: a commit's fsync would wait for it otherwise.
        os.sync()
        return self.table

    def source(self) -> "pa.Table | pa.RecordBatchReader":
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self.shape.stream:
            return pq.read_table(self.source_path)
        file = pq.ParquetFile(self.source_path)
        return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())

    def affected(self, files: list[str]) -> list[str]:
        return files[:1] if self.shape.first_file_only else files

    @property
    def matching(self) -> str:
        """What tells that a row of the table `t` and one of the source `s` have one key."""
        return " AND ".join(f"s.{key} = t.{key}" for key in self.shape.keys)


Timed = Callable[[], None]


def floor(*, told: bool) -> Callable[[Run], Timed]:
    def prepare(run: Run) -> Timed:
        import duckdb

        files, source = sorted(str(path) for path in run.fresh_copy().glob("*.parquet")), run.source()
        connection = duckdb.connect()

        def work() -> None:
            connection.register("source", source)
            affected = run.affected(files)
            if told:
                connection.execute(f"SELECT count(id), min(id), max(id) FROM read_parquet({affected})").fetchall()
            else:
                matched = connection.execute(
                    f"SELECT filename, count(*) FROM read_parquet({files}, filename = true) AS target "
                    "SEMI JOIN source ON target.id = source.id GROUP BY ALL"
                ).fetchall()
                assert sorted(name for name, _ in matched) == affected
            for number, file in enumerate(affected):
                connection.execute(f"COPY (SELECT * FROM read_parquet('{file}')) TO '{run.out}/{number}.parquet'")
            limit = source.num_rows // 2
            connection.execute(f"COPY (SELECT * FROM source LIMIT {limit}) TO '{run.out}/inserts.parquet'")

        return work

    return prepare


def ours(engine: str) -> Callable[[Run], Timed]:
    def prepare(run: Run) -> Timed:
        import lakebed.targets.parquet.target  # noqa: F401 - opened by its address, so imported before the clock starts
        from lakebed.engines.duckdb.merge import DuckDBMerge
        from lakebed.table.merge import merge

        table, source = run.fresh_copy(), run.source()
        if engine == "spark":
            spark = warm_spark()
            if run.shape.from_frame:
                from lakebed.engines.spark.merge import SparkMerge

                frame = spark.read.parquet(str(run.source_path))
                options = {"broadcast_rows": 0, "driver_rows": 0} if run.shape.files > 20 else {}
                return lambda: merge(frame, str(table), keys=run.shape.keys, engine=SparkMerge(spark, **options))
        if engine == "duckdb":
            import duckdb

            chosen = DuckDBMerge(connection=duckdb.connect())
        else:
            chosen = engine

        def work() -> None:
            merge(source, str(table), keys=run.shape.keys, strategy=run.shape.strategy, engine=chosen)

        return work

    return prepare


def warm_spark() -> "SparkSession":
    """A session that is up, its Python workers started, as in a pipeline that merges more than once."""
    from lakebed.config import load_settings
    from lakebed.engines.spark.session import open_session

    spark = open_session(load_settings({"master": "local[2]"})).spark
    spark.range(4).mapInArrow(lambda batches: batches, "id long").toArrow()
    return spark


def duckdb_rewrite(run: Run) -> Timed:
    import duckdb

    table, source = run.fresh_copy(), run.source()
    connection = duckdb.connect()

    def work() -> None:
        if run.shape.stream:
            connection.execute(f"CREATE VIEW source AS FROM read_parquet('{run.source_path}')")
        else:
            connection.register("source", source)
        target = f"read_parquet('{table}/*.parquet')"
        options = "(FORMAT parquet, PER_THREAD_OUTPUT)"
        arriving = "SELECT DISTINCT * FROM source" if run.shape.strategy == "deduplicate" else "FROM source"
        rest = f"SELECT * FROM {target} t WHERE NOT EXISTS (SELECT 1 FROM source s WHERE {run.matching}) UNION ALL "
        if run.shape.created:
            rest = ""
        elif run.shape.strategy == "full_merge":
            # Nothing of the table remains but its keys' count, without which nobody knows what was inserted.
            rest = ""
            connection.execute(f"SELECT count(*) FROM {target} t SEMI JOIN source s ON {run.matching}").fetchall()
        connection.execute(f"COPY ({rest}{arriving}) TO '{run.out}/all' {options}")

    return work


def delta(run: Run) -> Timed:
    import deltalake
    import pyarrow.dataset as pads

    table, source = run.fresh_copy(), run.source()
    place = str(run.out / "delta")
    deltalake.write_deltalake(place, pads.dataset(table).to_table(), target_file_size=17_000_000)
    opened = deltalake.DeltaTable(place)

    def work() -> None:
        merging = (
            opened.merge(source, run.matching, source_alias="s", target_alias="t")
            .when_matched_update_all()
            .when_not_matched_insert_all()
        )
        if run.shape.strategy == "full_merge":
            merging = merging.when_not_matched_by_source_delete()
        merging.execute()

    return work


def pyiceberg_upsert(run: Run) -> Timed:
    import pyarrow.dataset as pads
    from pyiceberg.catalog.sql import SqlCatalog

    table, source = run.fresh_copy(), run.source()
    catalog = SqlCatalog("bench", uri=f"sqlite:///{run.out}/catalog.db", warehouse=f"file://{run.out}")
    catalog.create_namespace("bench")
    rows = pads.dataset(table).to_table()
    source = source if hasattr(source, "num_rows") else source.read_all()
    iceberg = catalog.create_table("bench.table", schema=rows.schema)
    files = min(run.shape.files, 20)
    for batch in range(files):
        each = rows.num_rows // files
        iceberg.append(rows.slice(batch * each, each))

    def work() -> None:
        iceberg.upsert(source, join_cols=list(run.shape.keys))

    return work


def fsspeckit(backend: str) -> Callable[[Run], Timed]:
    def prepare(run: Run) -> Timed:
        table, source = run.fresh_copy(), run.source()
        if backend == "pyarrow":
            from fsspeckit.datasets.pyarrow import PyarrowDatasetIO

            handler = PyarrowDatasetIO()
        else:
            from fsspeckit.datasets.duckdb import DuckDBDatasetIO, create_duckdb_connection

            handler = DuckDBDatasetIO(create_duckdb_connection())

        def work() -> None:
            handler.merge(data=source, path=str(table), strategy="upsert", key_columns=list(run.shape.keys))

        return work

    return prepare


def naive_spark(run: Run) -> Timed:
    table = run.fresh_copy()
    spark = warm_spark()

    def work() -> None:
        old = spark.read.parquet(str(table))
        new = spark.read.parquet(str(run.source_path))
        keys = list(run.shape.keys)
        kept = old.join(new.select(*keys), on=keys, how="left_anti")
        kept.unionByName(new).write.parquet(str(run.out / "all"))
        spark.read.parquet(str(run.out / "all")).count()

    return work


def iceberg_merge(run: Run) -> Timed:
    """Iceberg's own MERGE on Spark; Spark fetches its runtime from Maven Central."""
    from pyspark.sql import SparkSession

    from lakebed.targets.iceberg.spark_conf import RUNTIME

    table = run.fresh_copy()
    settings = {
        "spark.jars.packages": RUNTIME,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.bench.type": "hadoop",
        "spark.sql.catalog.bench.warehouse": str(run.out),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.read.parquet(str(table)).writeTo("bench.db.costs").create()
    spark.read.parquet(str(run.source_path)).createOrReplaceTempView("source")

    def work() -> None:
        spark.sql(
            f"MERGE INTO bench.db.costs t USING source s ON {run.matching} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    return work


CONTENDERS: dict[str, Callable[[Run], Timed]] = {
    "floor": floor(told=False),
    "floor, told the files": floor(told=True),
    "lakebed duckdb": ours("duckdb"),
    "lakebed arrow": ours("arrow"),
    "lakebed spark": ours("spark"),
    "naive spark": naive_spark,
    "iceberg spark": iceberg_merge,
    "duckdb rewrite": duckdb_rewrite,
    "delta-rs": delta,
    "fsspeckit pyarrow": fsspeckit("pyarrow"),
    "fsspeckit duckdb": fsspeckit("duckdb"),
    "pyiceberg upsert": pyiceberg_upsert,
}
PEERS = frozenset({"delta-rs", "fsspeckit pyarrow", "fsspeckit duckdb", "pyiceberg upsert"})
# What only updates and inserts, a row at most once.
UPSERTS_ONLY = frozenset({"fsspeckit pyarrow", "fsspeckit duckdb", "pyiceberg upsert"})
NO_PEERS = frozenset({"deduplicate", "delete_insert"})
PEERS_PYTHON = Path(__file__).parent.parent / ".venv-bench" / "bin" / "python"


def takes_part(contender: str, shape_name: str) -> bool:
    """Whether a contender can do this shape at all, and would end today."""
    strategy = SHAPES[shape_name].strategy
    if SHAPES[shape_name].created and contender != "duckdb rewrite":
        return contender in ("lakebed duckdb", "lakebed arrow")
    if contender.startswith("floor"):
        return shape_name in FLOORED
    if shape_name in ON_SPARK:
        others = ("lakebed arrow",) if shape_name == ON_SPARK[0] else ()
        return contender in ("lakebed spark", "naive spark", "iceberg spark", *others)
    if contender == "iceberg spark":
        return False
    if contender.startswith("fsspeckit"):
        return shape_name in ("A", "B")
    if contender in PEERS and (strategy in NO_PEERS or (contender in UPSERTS_ONLY and strategy != "upsert")):
        return False
    return contender != "naive spark" or strategy == "upsert"


def reference_of(shape_name: str) -> str:
    """What the others are held against."""
    if shape_name in ON_SPARK:
        return "lakebed arrow" if shape_name == ON_SPARK[0] else "naive spark"
    return "floor" if shape_name in FLOORED else "duckdb rewrite"


def one_run(folder: Path, shape: Shape, name: str) -> None:
    """The child process: prepares, then times the work alone."""
    work = CONTENDERS[name](Run(folder, shape))
    measured = Measured()
    with measuring(measured):
        work()
    print(json.dumps({"seconds": measured.seconds, "cpu": measured.cpu_seconds, "peak_mb": peak_mb()}))


def peak_mb() -> int:
    """The most memory that a process of this session has had: ours, or Spark's JVM, or one of its Python workers.

    What `getrusage` says begins with what the parent had when it started this process.
    """
    peak = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if os.getsid(int(status.parent.name)) == os.getsid(0):
                line = next((one for one in status.read_text().splitlines() if one.startswith("VmHWM")), None)
                peak = max(peak, int(line.split()[1]) // 1024 if line else 0)
        except OSError:
            continue  # ended meanwhile
    return peak


def measure(folder: Path, shape_name: str, name: str) -> dict[str, float] | str:
    python = str(PEERS_PYTHON) if name in PEERS and PEERS_PYTHON.exists() else sys.executable
    command = [python, __file__, "--child", name, "--shapes", shape_name, "--folder", str(folder)]
    # A session of its own, so that what it starts can be told from everybody else's.
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, start_new_session=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1]
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def plan_time(files: int = 10_000) -> float:
    """Seconds from a merge's beginning to its plan, on a table of very many files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lakebed.table.merge import merge

    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "many")
        folder.mkdir()
        for number in range(files):
            rows = pa.table({"id": range(number * 10, number * 10 + 10), "v": ["x"] * 10})
            pq.write_table(rows, folder / f"part-{number:05d}.parquet")
        source = pa.table({"id": [5, files * 10 + 1], "v": ["y", "z"]})
        started = time.perf_counter()
        merge(source, str(folder), keys="id", dry_run=True)
        return time.perf_counter() - started


def measure_shape(name: str, shape: Shape, contenders: Sequence[str], repeat: int) -> None:
    """Runs every contender on this shape and prints its table."""
    found: dict[str, list[dict[str, float]]] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="lakebed-bench-") as place:
        folder = Path(place)
        shape.make(folder)
        for _ in range(repeat):
            for contender in contenders:
                if contender in missing or any(run["seconds"] > ONCE_IS_ENOUGH for run in found.get(contender, ())):
                    continue
                result = measure(folder, name, contender)
                print(name, "|", contender, result, file=sys.stderr, flush=True)
                if isinstance(result, str):
                    missing[contender] = result
                else:
                    found.setdefault(contender, []).append(result)
    reference = reference_of(name)
    best = {contender: min(run["seconds"] for run in runs) for contender, runs in found.items()}
    cpu = {contender: min(run["cpu"] for run in runs) for contender, runs in found.items()}
    print(f"\n{name}: {shape.what}; {shape.rows:,} rows, best of {repeat}")
    print(f"| {name} | s | x {reference} | cpu s | x {reference} | peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for contender in contenders:
        if contender in missing:
            print(f"| {contender} | not run: {missing[contender][:100]} | | | | |")
            continue
        seconds, cpu_seconds = best[contender], cpu[contender]
        times, cpu_times = seconds / best[reference], cpu_seconds / cpu[reference]
        peak = max(run["peak_mb"] for run in found[contender])
        print(f"| {contender} | {seconds:.3f} | {times:.2f} | {cpu_seconds:.2f} | {cpu_times:.2f} | {peak:.0f} |")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", default="A,B", help=f"all, or of: {', '.join(SHAPES)}")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--child")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    chosen = list(SHAPES) if given.shapes == "all" else [name.strip() for name in given.shapes.split(",")]
    if unknown := [name for name in chosen if name not in SHAPES]:
        parser.error(f"no shape {unknown[0]!r}; there are {', '.join(SHAPES)}")
    if given.child:
        one_run(given.folder, SHAPES[chosen[0]], given.child)
        return
    for name in chosen:
        shape = SHAPES[name]
        shape = replace(shape, rows=shape.rows * given.rows // ROWS)
        reference = reference_of(name)
        contenders = [
            one
            for one in CONTENDERS
            if takes_part(one, name)
            and (not given.only or one == reference or one in given.only.split(","))
            and one not in given.skip.split(",")
        ]
        measure_shape(name, shape, contenders, given.repeat)
    if not given.only:
        print(f"plan for 10,000 files: {plan_time():.2f} s")


if __name__ == "__main__":
    main()
