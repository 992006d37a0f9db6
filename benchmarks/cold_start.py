"""How long a command takes that has nothing to do: what every call from a shell, cron or an editor pays.

python benchmarks/cold_start.py [--runs 5]

Seconds of CPU, the least of several runs, of commands that need no engine. `bytecode` is a second start, which finds
all modules compiled, as after an install by pip; `none` compiles each anew, as where PYTHONDONTWRITEBYTECODE is set.
Beside them the commands of peers that are on PATH or beside this Python.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

LIMIT_SECONDS = 0.3
OURS = ("--version", "--help", "sample --help", "run --help", "merge --help", "lineage --help", "status")
PEERS = ("dlt --version", "dbt --version", "pyiceberg version", "duckdb --version", "sqlmesh --version")


def cpu_seconds(command: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> float:
    """What one start takes, user and system together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(command: Sequence[str], runs: int) -> tuple[float, float]:
    """The least CPU seconds with bytecode, and without any."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LAKEBED_"))}
    with tempfile.TemporaryDirectory(prefix="lakebed-cold-") as folder:
        compiled = {**clean, "PYTHONPYCACHEPREFIX": str(Path(folder) / "pycache")}
        # Another folder, which stays empty: what lies beside the sources does not count.
        bare = {**clean, "PYTHONPYCACHEPREFIX": str(Path(folder) / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
        cpu_seconds(command, cwd=folder, env=compiled)
        return (
            min(cpu_seconds(command, cwd=folder, env=compiled) for _ in range(runs)),
            min(cpu_seconds(command, cwd=folder, env=bare) for _ in range(runs)),
        )


def contenders() -> list[list[str]]:
    """Our commands, and those of the peers that are installed here."""
    beside = Path(sys.executable).parent
    places = os.pathsep.join([str(beside), str(Path(".venv-bench/bin").absolute()), os.environ.get("PATH", "")])
    found = [[str(beside / "lakebed"), *line.split()] for line in OURS]
    for line in PEERS:
        name, *arguments = line.split()
        if place := which(name, path=places):
            found.append([place, *arguments])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(f"{'command':26} {'bytecode':>10} {'none':>10}")
    slow = []
    for command in contenders():
        line = " ".join([Path(command[0]).name, *command[1:]])
        try:
            with_bytecode, without = measure(command, options.runs)
        except subprocess.CalledProcessError as failed:
            print(f"{line:26} failed with {failed.returncode}")
            continue
        print(f"{line:26} {with_bytecode:8.2f} s {without:8.2f} s")
        if line.startswith("lakebed ") and with_bytecode > LIMIT_SECONDS:
            slow.append(line)
    print(f"promised: {LIMIT_SECONDS} s with bytecode: {'over it: ' + ', '.join(slow) if slow else 'kept'}")


if __name__ == "__main__":
    main()
