"""Merging 50,000 updates and 50,000 inserts into 5,000,000 rows of 12 columns in 20 Parquet files: ours and the peers.

    python benchmarks/merge.py [--rows 5000000] [--repeat 3] [--only duckdb,arrow] [--spark]

Every contender runs in a process of its own, on a fresh copy of the table, one after the other and the whole round
again `--repeat` times; the fastest run of each counts, since a shared machine only ever adds. Case A has its updates in
one file, case B in all of them. The floor, by DuckDB: read the keys and match them, which tells the affected files;
rewrite those; write the inserts. A second floor is told the affected files beforehand and reads no keys but theirs.
Modules are imported, connections and sessions open, and the copy of the table on the disk before the clock starts, for
every contender alike. Peers run in `.venv-bench`, which `make bench` makes; those that fail are named.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FILES = 20
# A contender that takes this many seconds is not run again: noise does not decide about it.
ONCE_IS_ENOUGH = 20.0
CASES = ("A", "B")


def columns(first: str, last: str) -> str:
    return f"""SELECT i AS id, i % 1000 AS account, 'service-' || (i % 50) AS service, md5(i::VARCHAR) AS resource,
        DATE '2026-01-01' + (i % 365)::INT AS day, TIMESTAMP '2026-01-01' + to_seconds(i) AS at,
        (hash(i) % 1000000) / 100.0 AS price, ((hash(i) % 100000000)::DECIMAL(18,0) / 10000)::DECIMAL(18,6) AS cost,
        (i % 7)::INT AS kind, 'region-' || (i % 12) AS region, i % 2 = 0 AS flag, hash(i * 7) % 1000000 AS usage
        FROM range({first}, {last}) t(i)"""


def make_data(folder: Path, rows: int) -> None:
    """The table, and a source for each case: a hundredth of the rows changed, as many new."""
    import duckdb

    table = folder / "table"
    table.mkdir(parents=True)
    connection = duckdb.connect()
    each = rows // FILES
    for number in range(FILES):
        query = columns(str(number * each), str((number + 1) * each))
        connection.execute(f"COPY ({query}) TO '{table}/part-{number:02d}.parquet' (FORMAT parquet)")
    share = rows // 100
    new = columns(str(rows), str(rows + share))
    one_file = columns("0", str(share))
    spread = f"SELECT * FROM ({columns('0', str(rows))}) WHERE id % 100 = 0"
    for case, updates in zip(CASES, (one_file, spread), strict=True):
        changed = f"SELECT * REPLACE ('changed' AS service) FROM ({updates})"
        connection.execute(f"COPY ({changed} UNION ALL {new}) TO '{folder}/source-{case}.parquet' (FORMAT parquet)")


class Run:
    """One contender's view of one run."""

    def __init__(self, folder: Path, case: str) -> None:
        self.folder = folder
        self.case = case
        self.table = folder / "copy"
        self.out = folder / "out"
        self.source_path = folder / f"source-{case}.parquet"
        shutil.rmtree(self.table, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def fresh_copy(self) -> Path:
        shutil.copytree(self.folder / "table", self.table)
        # The copy is on the disk before the clock starts: a commit's fsync would wait for it otherwise.
        os.sync()
        return self.table

    def source(self) -> "pa.Table":
        import pyarrow.parquet as pq

        return pq.read_table(self.source_path)

    def affected(self, files: list[str]) -> list[str]:
        return files[:1] if self.case == "A" else files


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
            warm_spark()
        if engine == "duckdb":
            import duckdb

            chosen = DuckDBMerge(connection=duckdb.connect())
        else:
            chosen = engine

        def work() -> None:
            merge(source, str(table), keys="id", engine=chosen)

        return work

    return prepare


def warm_spark() -> "SparkSession":
    """A session that is up, its Python workers started, as in a pipeline that merges more than once."""
    from lakebed.config import load_settings
    from lakebed.engines.spark.session import open_session

    spark = open_session(load_settings({"master": "local[2]"})).spark
    spark.range(4).mapInArrow(lambda batches: batches, "id long").toArrow()
    return spark


def duckdb_full_rewrite(run: Run) -> Timed:
    import duckdb

    table, source = run.fresh_copy(), run.source()
    connection = duckdb.connect()

    def work() -> None:
        connection.register("source", source)
        connection.execute(
            f"COPY (SELECT * FROM read_parquet('{table}/*.parquet') t WHERE NOT EXISTS (SELECT 1 FROM source s WHERE "
            f"s.id = t.id) UNION ALL SELECT * FROM source) TO '{run.out}/all' (FORMAT parquet, PER_THREAD_OUTPUT)"
        )

    return work


def delta(run: Run) -> Timed:
    import deltalake
    import pyarrow.dataset as pads

    table, source = run.fresh_copy(), run.source()
    place = str(run.out / "delta")
    deltalake.write_deltalake(place, pads.dataset(table).to_table(), target_file_size=17_000_000)
    opened = deltalake.DeltaTable(place)

    def work() -> None:
        opened.merge(
            source, "target.id = source.id", source_alias="source", target_alias="target"
        ).when_matched_update_all().when_not_matched_insert_all().execute()

    return work


def pyiceberg_upsert(run: Run) -> Timed:
    import pyarrow.dataset as pads
    from pyiceberg.catalog.sql import SqlCatalog

    table, source = run.fresh_copy(), run.source()
    catalog = SqlCatalog("bench", uri=f"sqlite:///{run.out}/catalog.db", warehouse=f"file://{run.out}")
    catalog.create_namespace("bench")
    rows = pads.dataset(table).to_table()
    iceberg = catalog.create_table("bench.table", schema=rows.schema)
    for batch in range(FILES):
        each = rows.num_rows // FILES
        iceberg.append(rows.slice(batch * each, each))

    def work() -> None:
        iceberg.upsert(source, join_cols=["id"])

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
            handler.merge(data=source, path=str(table), strategy="upsert", key_columns=["id"])

        return work

    return prepare


def naive_spark(run: Run) -> Timed:
    table = run.fresh_copy()
    spark = warm_spark()

    def work() -> None:
        old = spark.read.parquet(str(table))
        new = spark.read.parquet(str(run.source_path))
        kept = old.join(new.select("id"), on="id", how="left_anti")
        kept.unionByName(new).write.parquet(str(run.out / "all"))
        spark.read.parquet(str(run.out / "all")).count()

    return work


CONTENDERS: dict[str, Callable[[Run], Timed]] = {
    "floor": floor(told=False),
    "floor, told the files": floor(told=True),
    "lakebed duckdb": ours("duckdb"),
    "lakebed arrow": ours("arrow"),
    "lakebed spark": ours("spark"),
    "naive spark": naive_spark,
    "duckdb full rewrite": duckdb_full_rewrite,
    "delta-rs": delta,
    "fsspeckit pyarrow": fsspeckit("pyarrow"),
    "fsspeckit duckdb": fsspeckit("duckdb"),
    "pyiceberg upsert": pyiceberg_upsert,
}
PEERS = frozenset({"delta-rs", "fsspeckit pyarrow", "fsspeckit duckdb", "pyiceberg upsert"})
PEERS_PYTHON = Path(__file__).parent.parent / ".venv-bench" / "bin" / "python"


def one_run(folder: Path, case: str, name: str) -> None:
    """The child process: prepares, then times the work alone."""
    work = CONTENDERS[name](Run(folder, case))
    started, cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu_seconds, "peak_mb": peak}))


def measure(folder: Path, case: str, name: str) -> dict[str, float] | str:
    python = str(PEERS_PYTHON) if name in PEERS and PEERS_PYTHON.exists() else sys.executable
    command = [python, __file__, "--child", name, "--case", case, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--child")
    parser.add_argument("--case", default="A")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.child:
        one_run(given.folder, given.case, given.child)
        return
    names = [name for name in CONTENDERS if not given.only or name.startswith("floor") or name in given.only.split(",")]
    names = [name for name in names if name not in given.skip.split(",")]
    with tempfile.TemporaryDirectory(prefix="lakebed-bench-") as place:
        folder = Path(place)
        make_data(folder, given.rows)
        found: dict[tuple[str, str], list[dict[str, float]]] = {}
        missing: dict[str, str] = {}
        for _ in range(given.repeat):
            for case in CASES:
                for name in names:
                    if name in missing or any(run["seconds"] > ONCE_IS_ENOUGH for run in found.get((name, case), ())):
                        continue
                    result = measure(folder, case, name)
                    print(case, name, result, file=sys.stderr, flush=True)
                    if isinstance(result, str):
                        missing[name] = result
                    else:
                        found.setdefault((name, case), []).append(result)
    print(f"{given.rows:,} rows, best of {given.repeat}")
    print("| | A s (x floor) | B s (x floor) | A cpu s | B cpu s | peak MB |")
    print("|---|---|---|---|---|---|")
    best = {key: min(run["seconds"] for run in runs) for key, runs in found.items()}
    cpu = {key: min(run["cpu"] for run in runs) for key, runs in found.items()}
    for name in names:
        if name in missing:
            print(f"| {name} | not run: {missing[name][:100]} | | | | |")
            continue
        cells = [f"{best[name, case]:.3f} ({best[name, case] / best['floor', case]:.2f})" for case in CASES]
        peak = max(run["peak_mb"] for case in CASES for run in found[name, case])
        print(f"| {name} | {cells[0]} | {cells[1]} | {cpu[name, 'A']:.2f} | {cpu[name, 'B']:.2f} | {peak:.0f} |")
    if not given.only:
        print(f"plan for 10,000 files: {plan_time():.2f} s")


if __name__ == "__main__":
    main()
