"""Column lineage of TPC-DS and TPC-H, ours and the peers on the same texts in the same run.

python benchmarks/lineage.py [--repeat N] [--without-peers]

Every contender gets the same 121 statements with the full schema and gives all output columns; a statement counts with
the best of N runs, because the machine may be shared. sqlglot[c] runs in this process, taking turns with us statement
by statement. sqllineage and FlowScope have environments of their own (pip and npm); where they cannot be installed,
that is said and they are left out. At the end: how the CPU time grows with the number of statements, and a project of
2,000 models with questions to it.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from sqlglot import MappingSchema  # noqa: E402 - the repository has to be on the path first
from sqlglot.lineage import lineage as sqlglot_lineage  # noqa: E402
from tests.support.tpc_workload import workload  # noqa: E402

import lakebed  # noqa: E402
from lakebed.changes.impact import ProjectImpact  # noqa: E402
from lakebed.lineage.project import read_folder, trace_project  # noqa: E402

PEERS = Path(__file__).parent / "peers"
ENVIRONMENT = ROOT / ".venv-bench-lineage"
NODE = ROOT / ".bench-lineage-node"
SQLLINEAGE = "sqllineage==1.5.9"
FLOWSCOPE = "@pondpilot/flowscope-core@0.3.1"


def best(actions: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """CPU milliseconds of the fastest run of each, in turns: what else the machine does meets all of them alike."""
    fastest = [float("inf")] * len(actions)
    for _ in range(repeat):
        for place, action in enumerate(actions):
            started = time.process_time()
            action()
            fastest[place] = min(fastest[place], time.process_time() - started)
    return [seconds * 1000 for seconds in fastest]


def measure(name: str, repeat: int) -> dict[str, list[float]]:
    """Milliseconds per statement: ours, ours with the whole JSON, and sqlglot's."""
    queries, schema = workload(name)
    columns = {t["name"]: {c["name"]: c["dataType"] for c in t["columns"]} for t in schema["tables"]}
    mapping = MappingSchema(columns, dialect="duckdb")
    found: dict[str, list[float]] = {"lakebed": [], "lakebed, with to_dict()": [], "sqlglot[c]": []}
    for sql in queries:
        actions = (
            lambda sql=sql: lakebed.analyze(sql, dialect="duckdb", schema=schema),
            lambda sql=sql: lakebed.analyze(sql, dialect="duckdb", schema=schema).to_dict(),
            lambda sql=sql: sqlglot_lineage(
                None, sql, schema=mapping, dialect="duckdb", trim_selects=False, copy=False
            ),
        )
        for times, one in zip(found.values(), best(actions, repeat), strict=True):
            times.append(one)
    return found


def peer(command: Sequence[str], name: str, repeat: int) -> list[float] | None:
    """Milliseconds per statement of a program that reads the workload as JSON and prints its times."""
    queries, schema = workload(name)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"queries": queries, "schema": schema, "repeat": repeat}, file)
        file.flush()
        ran = subprocess.run([*command, file.name], capture_output=True, text=True, check=False, timeout=1800)
    if ran.returncode:
        print(f"  {command[-1]} failed: {(ran.stderr.strip().splitlines() or ['no message'])[-1]}")
        return None
    times: list[float] = json.loads(ran.stdout.splitlines()[-1])
    return times


def sqllineage() -> list[str] | None:
    """The command that runs sqllineage, installed into its own environment on first use."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
        for command in (
            [uv, "venv", "-q", str(ENVIRONMENT)],
            [uv, "pip", "install", "-q", "-p", str(python), SQLLINEAGE],
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                shutil.rmtree(ENVIRONMENT, ignore_errors=True)
                print("  sqllineage is left out: it cannot be installed here")
                return None
    return [str(python), str(PEERS / "sqllineage_lineage.py")]


def flowscope() -> list[str] | None:
    """The command that runs FlowScope's npm package, installed into its own folder on first use."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        print("  FlowScope is left out: there is no Node here")
        return None
    if not (NODE / "node_modules").exists():
        NODE.mkdir(exist_ok=True)
        (NODE / "package.json").write_text('{"name": "bench", "private": true, "type": "module"}')
        if subprocess.run(
            [npm, "install", "--silent", FLOWSCOPE], cwd=NODE, capture_output=True, check=False
        ).returncode:
            shutil.rmtree(NODE, ignore_errors=True)
            print("  FlowScope is left out: its npm package cannot be installed here")
            return None
    shutil.copy(PEERS / "flowscope_lineage.mjs", NODE / "flowscope_lineage.mjs")
    return [node, str(NODE / "flowscope_lineage.mjs")]


def show(name: str, found: dict[str, list[float]]) -> None:
    ours = statistics.mean(found["lakebed"])
    print(f"{name}: {len(found['lakebed'])} statements        mean ms   p95 ms   max ms   mean / ours")
    for contender, times in found.items():
        p95 = sorted(times)[max(0, round(len(times) * 0.95) - 1)]
        mean = statistics.mean(times)
        print(f"  {contender:32}{mean:10.2f}{p95:9.2f}{max(times):9.2f}{mean / ours:11.2f}x")


def cpu_seconds(script: str) -> tuple[float, float]:
    """Of the analysis, and of the analysis with its whole JSON."""
    started = time.process_time()
    result = lakebed.analyze(script)
    analysed = time.process_time() - started
    result.to_dict()
    return analysed, time.process_time() - started


def scaling() -> None:
    """One script of ever more statements, each of which reads what earlier ones declared."""
    print("scaling: statements    CPU seconds    times the tenth    with to_dict()    times the tenth")
    before: tuple[float, float] | None = None
    for count in (100, 1_000, 10_000):
        script = "CREATE TABLE t0 (a INT, b INT, c INT);\n" + "".join(
            f"CREATE TABLE t{i} AS SELECT a, b + c AS b, max(c) OVER (PARTITION BY a) AS c FROM t{i // 2} WHERE a;\n"
            for i in range(1, count)
        )
        runs = [cpu_seconds(script) for _ in range(5)]
        plain, whole = (min(run[part] for run in runs) for part in (0, 1))
        growth = ("", "") if before is None else (f"{plain / before[0]:.1f}", f"{whole / before[1]:.1f}")
        print(f"  {count:>20,}{plain:15.3f}{growth[0]:>19}{whole:18.3f}{growth[1]:>19}")
        before = plain, whole


MODELS, COLUMNS = 2_000, 25


def write_project(folder: Path) -> None:
    """Models that read one or two earlier ones: columns passed on, computed and aggregated, through CTEs."""
    names = [f"c{number}" for number in range(COLUMNS)]
    declared = ", ".join(f"{name} INT" for name in names)
    (folder / "raw.sql").write_text("\n".join(f"CREATE TABLE raw{n} ({declared});" for n in range(20)))
    for place in range(MODELS):
        source = f"raw{place}" if place < 20 else f"m{place // 2 - 10 + place % 7}"
        kept = [name if n % 3 else f"{name} + {n} AS {name}" for n, name in enumerate(names[:-1])]
        other = f"m{place // 3}" if place >= 60 else "raw0"
        (folder / f"m{place}.sql").write_text(
            f"WITH src AS (\n  SELECT * FROM {source}\n)\nSELECT {', '.join(f's.{one}' for one in kept)},\n"
            f"  max(o.c1) OVER (PARTITION BY s.c2) AS c{COLUMNS - 1}\n"
            f"FROM src s LEFT JOIN {other} o ON s.c3 = o.c4\nWHERE s.c5 > 10\n"
        )


def project() -> None:
    """A folder of 2,000 models with 50,000 columns, traced as a whole, and questions to it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_project(folder)
        started, before = time.perf_counter(), time.process_time()
        traced = trace_project(read_folder(folder, {}), references=True)
        seconds, cpu = time.perf_counter() - started, time.process_time() - before
        columns = sum(len(statement.outputs) for statement in traced.result.statements)
        edges = sum(len(statement.column_lineage) for statement in traced.result.statements)
        shape = f"{len(traced.scripts):,} files, {columns:,} columns, {edges:,} edges"
        print(f"project: {shape}: {seconds:.1f} s, of which CPU {cpu:.1f} s")
        started, before = time.perf_counter(), time.process_time()
        asked = ProjectImpact(traced)
        print(f"  index for questions: CPU {(time.process_time() - before) * 1000:.1f} ms")
        for what, ask in (
            ("the first question, drop raw7.c8", lambda: asked.of(drop="raw7.c8")),
            ("drop raw7.c8", lambda: asked.of(drop="raw7.c8")),
            ("m200.c9, everything downstream", lambda: asked.of("m200.c9")),
            ("rename raw3.c7", lambda: asked.of(rename={"raw3.c7": "other"})),
            ("retype raw3.c7 to STRING", lambda: asked.of(retype={"raw3.c7": "STRING"})),
            ("raw0.c4, which decides nearly everything", lambda: asked.of("raw0.c4")),
        ):
            started, before = time.perf_counter(), time.process_time()
            found = ask()
            took, cpu = (time.perf_counter() - started) * 1000, (time.process_time() - before) * 1000
            told = f"{found.reached_count:,} reached, {len(found.breaks):,} broken"
            print(f"  impact: {what:40}{took:9.1f} ms, CPU {cpu:7.1f} ms: {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--without-peers", action="store_true")
    arguments = parser.parse_args()
    peers: dict[str, list[str]] = {}
    if not arguments.without_peers:
        for name, command in ((SQLLINEAGE, sqllineage()), (f"FlowScope {FLOWSCOPE.rpartition('@')[2]}", flowscope())):
            if command is not None:
                peers[name] = command
    for name in ("tpcds", "tpch"):
        found = measure(name, arguments.repeat)
        for contender, command in peers.items():
            # sqllineage takes hundreds of milliseconds per statement: one run is enough
            times = peer(command, name, 1 if "sqllineage" in contender else arguments.repeat)
            if times is not None:
                found[contender] = times
        show(name, found)
    scaling()
    project()


if __name__ == "__main__":
    main()
