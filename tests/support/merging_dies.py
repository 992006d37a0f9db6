"""Run as a program by test_merge_crash.py: merges into 20 files, and dies by SIGKILL at a given step.

merging_dies.py PLACE ENGINE STEP...    a child for each PLACE/STEP dies at its STEP-th step
merging_dies.py PLACE ENGINE count      one that lives, and says how many steps there are
"""

import os
import signal
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lakebed.engines.duckdb.write as duckdb_write
import lakebed.kernels.merge as kernel
from lakebed.model import WrittenFile
from lakebed.table.merge import merge
from lakebed.targets.parquet.target import ParquetTarget

FILES = 20
OLD = [(number, "old") for number in range(100)]
# Every fifth row changes, so that every file does, and ten are new.
CHANGES = [(number, "new") for number in range(0, 100, 5)] + [(number, "new") for number in range(100, 110)]
NEW = sorted({**dict(OLD), **dict(CHANGES)}.items())


def table(rows: list[tuple[int, str]]) -> pa.Table:
    return pa.table({"id": [row[0] for row in rows], "v": [row[1] for row in rows]})


def fill(folder: Path) -> None:
    folder.mkdir()
    for number in range(FILES):
        pq.write_table(table(OLD[number * 5 : number * 5 + 5]), folder / f"part-{number:02d}.parquet")


class Steps:
    """Counts steps, and kills this process at one of them."""

    def __init__(self, last: int | None) -> None:
        self.last = last
        self.count = 0

    def __call__(self, name: str) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def run(place: str, engine: str, last: int | None) -> int:
    steps = Steps(last)
    close, copy = kernel.Sink.close, duckdb_write.copy

    def closing(self: kernel.Sink, partition: dict[str, str | None]) -> WrittenFile | None:
        steps("file half written")
        done = close(self, partition)
        steps("file written")
        return done

    def copying(*arguments: object, **options: object) -> object:
        steps("before a file")
        done = copy(*arguments, **options)  # type: ignore[arg-type]
        steps("file written")
        return done

    kernel.Sink.close = closing  # type: ignore[method-assign, assignment]
    duckdb_write.copy = copying  # type: ignore[assignment]
    merge(table(CHANGES), ParquetTarget(place, checkpoint=steps), keys="id", engine=engine)
    return steps.count


def main() -> None:
    place, engine, *asked = sys.argv[1:]
    if asked == ["count"]:
        sys.stdout.write(str(run(place, engine, None)))
        return
    for step in asked:
        # Forks before any thread has started: importing PyArrow for each death would take minutes.
        child = os.fork()
        if child == 0:
            run(place.replace("STEP", step), engine, int(step))
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
