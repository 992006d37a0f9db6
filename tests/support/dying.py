"""Run as a program by test_crash.py: commits a change, and dies by SIGKILL at a given step of it.

dying.py commit ADDRESS STEP...     a child for each ADDRESS/STEP dies at its STEP-th checkpoint
dying.py recover ADDRESS STEP...    the same while recovering
dying.py race ADDRESS ID            waits for a line on its input, commits, and says how it went
"""

import os
import signal
import sys
from collections.abc import Callable

from lakebed.errors import ConcurrentModification, TargetLocked
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.targets.base import Target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.targets.shared.checkpoints import Checkpoint, no_checkpoint
from lakebed.testing.target import OCTOBER, Loader, rows

OLD = rows(OCTOBER, range(20), delivery="old")
NEW = rows(OCTOBER, range(100, 112), delivery="new")


def table(place: str, checkpoint: Checkpoint = no_checkpoint) -> Target:
    """A Parquet folder, or a DuckDB file by its name."""
    if place.endswith(".duckdb"):
        # However busy the machine: what a race is about is who comes first, not who waits too long.
        return DuckDBTarget(place, "costs", checkpoint=checkpoint, wait_seconds=3600)
    return ParquetTarget(place, checkpoint=checkpoint, wait_seconds=3600)


def one_file_per_row(target: Target, data: list[dict[str, object]], *, replace: bool) -> None:
    """Commits rows as one file each, in place of the month."""
    loader = Loader(target, StorageSettings(), ())
    prepared = loader.prepare(data, replacing=OCTOBER if replace else None, rows_per_file=1)
    target.commit(prepared.state, prepared.staging, prepared.change)


def dies_at(step: int) -> Checkpoint:
    """A checkpoint that kills this process when it is called for the step-th time."""
    calls = 0

    def checkpoint(name: str) -> None:
        nonlocal calls
        calls += 1
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return checkpoint


def in_child(act: Callable[[], object]) -> None:
    """Forks: importing PyArrow for each of a hundred deaths would take minutes."""
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    os.waitpid(child, 0)


def main() -> None:
    mode, place, *rest = sys.argv[1:]
    if mode == "race":
        target = table(place)
        loader = Loader(target, StorageSettings(), ())
        prepared = loader.prepare(rows(OCTOBER, [int(rest[0])]), replacing=OCTOBER)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        try:
            target.commit(prepared.state, prepared.staging, prepared.change)
            sys.stdout.write("won\n")
        except (ConcurrentModification, TargetLocked) as error:
            sys.stdout.write(f"lost {type(error).__name__}\n")
        return
    for step in map(int, rest):
        at = place.replace("STEP", str(step))
        if mode == "commit":
            in_child(lambda at=at, step=step: one_file_per_row(table(at, dies_at(step)), NEW, replace=True))
        else:
            in_child(lambda at=at, step=step: table(at, dies_at(step)).state())


if __name__ == "__main__":
    main()
