"""Run as a program by tests/faults/test_races.py: `racing.py ADDRESS ID` waits for a line on its input, commits, and
says how it went."""

import sys

from lakebed.errors import ConcurrentModification, TargetLocked
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.targets.base import Target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, rows


def table(place: str) -> Target:
    """A Parquet folder, or a DuckDB file by its name."""
    # However busy the machine: what a race is about is who comes first, not who waits too long.
    if place.endswith(".duckdb"):
        return DuckDBTarget(place, "costs", wait_seconds=3600)
    return ParquetTarget(place, wait_seconds=3600)


def main() -> None:
    place, number = sys.argv[1:]
    target = table(place)
    prepared = Loader(target, StorageSettings(), ()).prepare(rows(OCTOBER, [int(number)]), replacing=OCTOBER)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    try:
        target.commit(prepared.state, prepared.staging, prepared.change)
        sys.stdout.write("won\n")
    except (ConcurrentModification, TargetLocked) as error:
        sys.stdout.write(f"lost {type(error).__name__}\n")


if __name__ == "__main__":
    main()
