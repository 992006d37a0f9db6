"""The load of one month against its peers: wide gzipped CSV to Parquet with exact decimals, and into DuckDB.

    cur_load.py [--rows 1000000] [--columns 250] [--folder DIR]

Every contender runs in a process of its own, once to warm up where it has something to warm up, and then measured.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inputs import cur
from measuring.clock import Measured, measuring, report, run_contender

HERE = Path(__file__).parent
PEER_PYTHON = HERE.parent / ".venv-bench" / "bin" / "python"


def names(count: int) -> list[tuple[str, str, str]]:
    """Header, name in the table and kind of every column."""
    return [(header, header.replace("/", "_").replace(":", "_").lower(), kind) for header, kind in cur.columns(count)]


def job(files: list[Path], out: Path, count: int):  # type: ignore[no-untyped-def]
    import pyarrow as pa

    from lakebed.engines.protocols.load import ConvertJob
    from lakebed.model import SourceFile, Staging
    from lakebed.schema.types import Column, Schema, Text

    types = {"text": pa.string(), "decimal": pa.decimal128(38, 18), "timestamp": pa.timestamp("us")}
    schema = pa.schema([(name, types[kind]) for _, name, kind in names(count)])
    return ConvertJob(
        files=tuple(
            SourceFile(str(file), file.name, "csv", "gzip" if file.suffix == ".gz" else "none", file.stat().st_size)
            for file in files
        ),
        columns=Schema.of(Column(name, Text(), original=header) for header, name, _ in names(count)),
        constants={},
        staging=Staging("bench", str(out), schema),
        partition={},
    )


def lakebed_spark(files: list[Path], out: Path, count: int) -> Measured:
    from lakebed.config import load_settings
    from lakebed.engines.spark.load import SparkEngine
    from lakebed.engines.spark.session import open_session

    result = Measured()
    with open_session(load_settings({"master": "local[2]"})) as session:
        engine = SparkEngine(session.spark)
        engine.convert(job(files[:2], out / "warm", count))
        with measuring(result):
            result.rows = engine.convert(job(files, out / "lakebed", count)).source.rows
    return result


def lakebed_process(files: list[Path], out: Path, count: int) -> Measured:
    from lakebed.engines.arrow.load import ArrowEngine

    result = Measured()
    with measuring(result):
        result.rows = ArrowEngine().convert(job(files, out / "lakebed", count)).source.rows
    return result


def _duckdb_reader(files: list[Path], count: int) -> str:
    types = {"text": "VARCHAR", "decimal": "DECIMAL(38,18)", "timestamp": "TIMESTAMP"}
    columns = ", ".join(f"'{name}': '{types[kind]}'" for _, name, kind in names(count))
    listed = ", ".join(f"'{file}'" for file in files)
    return f"read_csv([{listed}], columns = {{{columns}}}, header = true, delim = ',', compression = 'gzip')"


def duckdb_parquet(files: list[Path], out: Path, count: int) -> Measured:
    import duckdb

    result = Measured()
    with duckdb.connect(config={"threads": 2}) as connection, measuring(result):
        copied = connection.execute(
            f"COPY (SELECT * FROM {_duckdb_reader(files, count)}) TO '{out}/duckdb.parquet' (FORMAT parquet)"
        )
        result.rows = copied.fetchall()[0][0]
    return result


def duckdb_insert(files: list[Path], out: Path, count: int) -> Measured:
    import duckdb

    result = Measured()
    types = {"text": "VARCHAR", "decimal": "DECIMAL(38,18)", "timestamp": "TIMESTAMP"}
    columns = ", ".join(f'"{name}" {types[kind]}' for _, name, kind in names(count))
    with measuring(result), duckdb.connect(str(out / "peer.duckdb"), config={"threads": 2}) as connection:
        connection.execute(f"CREATE TABLE costs ({columns})")
        inserted = connection.execute(f"INSERT INTO costs SELECT * FROM {_duckdb_reader(files, count)}")
        result.rows = inserted.fetchall()[0][0]
    return result


def lakebed_duckdb(files: list[Path], out: Path, count: int) -> Measured:
    """Into a DuckDB table through the target: files first, then one transaction."""
    from dataclasses import replace

    from lakebed.config import load_settings
    from lakebed.engines.spark.load import SparkEngine
    from lakebed.engines.spark.session import open_session
    from lakebed.schema.evolve import Policy, plan_evolution
    from lakebed.schema.types import Column, Decimal, Schema, Text, Timestamp
    from lakebed.targets.base import Change
    from lakebed.targets.duckdb.target import DuckDBTarget

    types = {"text": Text(), "decimal": Decimal(38, 18), "timestamp": Timestamp()}
    incoming = Schema.of(Column(name, types[kind], original=header) for header, name, kind in names(count))
    result = Measured()
    with open_session(load_settings({"master": "local[2]"})) as session:
        engine = SparkEngine(session.spark)
        engine.convert(job(files[:2], out / "warm", count))
        with measuring(result):
            target = DuckDBTarget(str(out / "ours.duckdb"), "costs")
            state = target.state()
            evolution = plan_evolution(None, incoming, Policy(rules=target.capabilities.rules))
            staging = target.stage(state, evolution)
            converted = engine.convert(replace(job(files, out, count), staging=staging))
            result.rows = target.commit(state, staging, Change(evolution, add=converted.files)).rows
    return result


def bare_calls(files: list[Path], out: Path, count: int) -> Measured:
    """isal, pyarrow's CSV reader with types and its Parquet writer with our options: nothing checked, nothing added up.

    What is built on these calls, ours and dlt's way too, cannot cost less CPU.
    """
    from concurrent.futures import ThreadPoolExecutor
    from itertools import chain

    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq
    from isal import igzip

    from lakebed.kernels.parquet import COMPRESSION, ROW_GROUP_BYTES, repeating_columns

    types = {"text": pa.string(), "decimal": pa.decimal128(38, 18), "timestamp": pa.timestamp("us", "UTC")}
    converting = pacsv.ConvertOptions(
        column_types={header: types[kind] for header, _, kind in names(count)},
        strings_can_be_null=True,
        null_values=[""],
    )
    reading = pacsv.ReadOptions(block_size=8 << 20, use_threads=False)

    def convert(file: Path) -> int:
        writer = None
        rows = 0
        with igzip.open(file, "rb") as stream:
            waiting: list[pa.RecordBatch] = []
            batches = pacsv.open_csv(stream, read_options=reading, convert_options=converting)
            for batch in chain(batches, [None]):
                waiting += [batch] if batch is not None else []
                if batch is None or sum(one.nbytes for one in waiting) >= ROW_GROUP_BYTES:
                    table = pa.Table.from_batches(waiting)
                    waiting = []
                    writer = writer or pq.ParquetWriter(
                        out / f"{file.name}.parquet",
                        table.schema,
                        compression=COMPRESSION,
                        use_dictionary=repeating_columns(table),
                    )
                    writer.write_table(table)
                    rows += table.num_rows
        if writer is not None:
            writer.close()
        return rows

    result = Measured()
    with measuring(result), ThreadPoolExecutor(2) as pool:
        result.rows = sum(pool.map(convert, files))
    return result


def spark_reader(files: list[Path], out: Path, count: int) -> Measured:
    from lakebed.config import load_settings
    from lakebed.engines.spark.session import open_session

    types = {"text": "STRING", "decimal": "DECIMAL(38,18)", "timestamp": "TIMESTAMP"}
    schema = ", ".join(f"`{name}` {types[kind]}" for _, name, kind in names(count))
    result = Measured()
    with open_session(load_settings({"master": "local[2]"})) as session:

        def convert(some: list[Path], folder: str) -> None:
            read = session.spark.read.schema(schema).option("header", True).csv([str(file) for file in some])
            read.write.parquet(str(out / folder))

        convert(files[:2], "warm")
        with measuring(result):
            convert(files, "spark")
        result.rows = session.spark.read.parquet(str(out / "spark")).count()
    return result


def memory(files: list[Path], out: Path, count: int) -> Measured:
    """The peak of one task on one file: the worker's process, in which the kernel runs alone."""
    result = lakebed_process(files, out, count)
    result.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return result


@dataclass(frozen=True)
class Promised:
    """How many times as fast as a peer the load is to be, by the clock and by CPU where that is promised too."""

    clock: float
    cpu: float | None = None

    def __str__(self) -> str:
        return f"promised {self.clock}" + (f" and {self.cpu} by CPU" if self.cpu is not None else "")

    def judge(self, clock: float, cpu: float) -> str:
        kept = clock >= self.clock and (self.cpu is None or cpu >= self.cpu)
        return f"{self}: {'kept' if kept else 'MISSED'}"


# Against dlt it is the clock, as its documentation shows it and tuned by hand; by CPU both make the same calls.
PROMISED = {
    "duckdb": Promised(1.5),
    "spark-reader": Promised(3.0),
    "dlt": Promised(2.5, cpu=1.5),
    "dlt-tuned": Promised(1.5),
}
DLT = {"dlt": "plain", "dlt-tuned": "tuned"}
CONTENDERS: dict[str, Callable[[list[Path], Path, int], Measured]] = {
    "lakebed-spark": lakebed_spark,
    "bare-calls": bare_calls,
    "duckdb": duckdb_parquet,
    "spark-reader": spark_reader,
    "lakebed-duckdb": lakebed_duckdb,
    "duckdb-insert": duckdb_insert,
    "memory": memory,
}


def contend(name: str, files: list[Path], count: int) -> Measured:
    """Runs one contender in a fresh process and a fresh folder."""
    with tempfile.TemporaryDirectory(prefix="lakebed-bench-", dir=files[0].parent) as out:
        if name in DLT:
            columns = Path(out) / "columns.json"
            columns.write_text(json.dumps(cur.columns(count)))
            peer = HERE / "peers" / "dlt_load.py"
            return run_contender([str(PEER_PYTHON), str(peer), DLT[name], str(files[0].parent), out, str(columns)])
        listed = [str(file) for file in files]
        return run_contender(
            [sys.executable, __file__, "--contender", name, "--out", out, "--columns", str(count), *listed]
        )


def show(name: str, measured: Measured) -> None:
    print(
        f"{name:<24}{measured.seconds:>8.1f} s {measured.cpu_seconds:>8.1f} s CPU {measured.rows:>10,} rows", flush=True
    )


def compare(files: list[Path], count: int, rounds: int) -> None:
    """The best of several rounds each, and the ratios that the project promises."""
    wanted = ["lakebed-spark", "bare-calls", "duckdb", "spark-reader", "lakebed-duckdb", "duckdb-insert"]
    if PEER_PYTHON.exists():
        wanted += DLT
    best: dict[str, Measured] = {}
    for _ in range(rounds):
        for name in wanted:
            measured = contend(name, files, count)
            show(name, measured)
            if name not in best or measured.cpu_seconds < best[name].cpu_seconds:
                best[name] = measured
    ours = best["lakebed-spark"]
    for name, promised in PROMISED.items():
        if name in best:
            clock, cpu = best[name].seconds / ours.seconds, best[name].cpu_seconds / ours.cpu_seconds
            print(f"lakebed is {clock:.2f} times as fast as {name} ({cpu:.2f} by CPU), {promised.judge(clock, cpu)}")
        else:
            print(f"{name} is not there to be compared with ({promised}): make bench installs it")
    bare = best["bare-calls"]
    print(f"lakebed costs {ours.cpu_seconds / bare.cpu_seconds:.2f} times the CPU of the bare pyarrow calls")
    if "dlt" in best:
        print(f"the bare calls are {best['dlt'].cpu_seconds / bare.cpu_seconds:.2f} times as fast as dlt by CPU")
    into, peer = best["lakebed-duckdb"], best["duckdb-insert"]
    print(
        f"into DuckDB: {into.seconds / peer.seconds:.2f} times DuckDB's own insert "
        f"({into.cpu_seconds / peer.cpu_seconds:.2f} by CPU), promised at most 1.15"
    )


def flat_memory(folder: Path, count: int) -> None:
    for size_mb in (100, 1000):
        rows = size_mb * 1_000_000 // (1417 * count // 250)
        files = cur.make(folder / f"{size_mb}mb", rows=rows, count=count, files=1, gzip=False)
        measured = contend("memory", files, count)
        written = files[0].stat().st_size / 1e6
        print(
            f"one task on {written:.0f} MB of CSV: {measured.peak_mb} MB at its peak, promised at most 600", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "lakebed-bench-cur")
    parser.add_argument("--contender", choices=sorted(CONTENDERS), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contender:
        report(CONTENDERS[given.contender](given.files, given.out, given.columns))
        return
    files = cur.make(given.folder / f"{given.rows}x{given.columns}", rows=given.rows, count=given.columns, files=8)
    print(f"{given.rows:,} rows x {given.columns} columns, {len(files)} gzip files, {os.cpu_count()} cores")
    compare(files, given.columns, given.rounds)
    flat_memory(given.folder, given.columns)


if __name__ == "__main__":
    main()
