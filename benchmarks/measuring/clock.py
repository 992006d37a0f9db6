"""Wall clock and CPU of a program and everything it started: the JVM, its Python workers, their threads."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """Seconds on the clock, seconds of CPU, and rows that the contender says it wrote."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    rows: int = 0
    peak_mb: int = 0


@contextmanager
def measuring(result: Measured) -> Iterator[None]:
    """Adds what the block takes, in this process and in all others of its session."""
    cpu, clock = _session_cpu(), time.perf_counter()
    yield
    result.seconds += time.perf_counter() - clock
    result.cpu_seconds += _session_cpu() - cpu


def report(result: Measured) -> None:
    """Tells the parent, as the last line on stdout."""
    print(json.dumps(asdict(result)))


def run_contender(command: Sequence[str]) -> Measured:
    """Runs a program in a session of its own, so that its CPU can be told from everybody else's."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, start_new_session=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(command)} failed with {ran.returncode}")
    return Measured(**json.loads(ran.stdout.splitlines()[-1]))


def _session_cpu() -> float:
    session = os.getsid(0)
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The command's name is in brackets and may hold blanks; the numbers come after it.
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile; its parent has its time
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))  # own and reaped children's, user and system
    return ticks / _TICKS
