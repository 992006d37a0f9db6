"""Run as a program: interrupts a command at one point after the other and says what everybody saw; see `Cell`.

Forks for each death: importing everything again would take minutes. This process itself therefore starts no thread, and
does nothing but fork.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults.commands import COMMANDS, Command
from tests.faults.faults import FAULTS
from tests.faults.places import ON_SERVER, Place, Rows, open_place
from tests.faults.points import Points, room_of, step_of
from tests.support.arrow_runs import use_arrow
from tests.support.s3_server import StoppableServer

from lakebed.errors import LakebedError
from lakebed.pipeline.progress import Observer
from lakebed.targets.parquet import lock


@dataclass(frozen=True)
class Cell:
    """One command into one target, as JSON on the command line."""

    command: str
    target: str
    folder: str
    source: str
    fault: str = "killed"
    server: dict[str, Any] | None = None
    points: tuple[str, ...] = ()  # none: all

    @property
    def what(self) -> Command:
        return COMMANDS[self.command]


def in_child(act: Callable[[], object]) -> tuple[int, Any]:
    """How the child ended, and what it returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            with os.fdopen(writing, "w") as answer:
                json.dump(act(), answer)
            code = 0
        except LakebedError as refused:
            # A refusal that a user reads; anything else is a defect.
            sys.stderr.write(f"{type(refused).__name__}: {refused}\n")
            code = 3
        finally:
            if code == 1:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    status = os.waitpid(child, 0)[1]
    return status, json.loads(said) if said and status == 0 else None


def require(act: Callable[[], object], what: str) -> Any:
    status, said = in_child(act)
    if status:
        raise SystemExit(f"{what}: ended with {status}")
    return said


class Matrix:
    """All points of a cell."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.source = Path(cell.source)
        self.place: Place = open_place(cell.target, Path(cell.folder), cell.server)
        self.fault = FAULTS[cell.fault]
        if cell.fault == "the storage is gone":
            self.place.stoppable = StoppableServer(Path(cell.folder) / "s3")
            self.place.server = self.place.stoppable.server
            require(self.place.stoppable.await_ready, "the storage")
        self.place.enter()

    def see(self) -> dict[str, Rows]:
        """What everybody reads; where no row changes, with what tells Lakebed old from new."""
        seen = self.place.look(self.cell.what.columns)
        tell = self.cell.what.told_by
        if tell is None:
            return seen
        told = ((str(tell(self.place)),),)
        return {reader: (*rows, *told) for reader, rows in seen.items()}

    def look(self) -> dict[str, object]:
        return {"seen": self.see(), "memory": self.cell.what.remember(self.place)}

    def prepare(self) -> None:
        self.cell.what.prepare(self.place, self.source)

    def rehearse(self) -> list[str]:
        points = Points("none")
        self.cell.what.act(self.place, self.source, points.watch())
        return points.passed

    def interrupt(self, point: str) -> None:
        with self.fault.during(self.place) as strike:
            observer = Points(point, strike).watch()
            self.cell.what.act(self.place, self.source, observer)

    def repair(self) -> dict[str, object]:
        """What everybody sees now; then the command runs again, and everybody looks again."""
        if self.place.stoppable is not None:
            self.place.stoppable.await_ready()
        seen = self.see()
        with self.fault.after(self.place):
            self.cell.what.act(self.place, self.source, Observer())
        return {"seen": seen, "again": self.look()}

    def chosen(self, passed: list[str]) -> list[str]:
        """The first and the last time that each step is passed, in the rooms that are tried here."""
        rooms = self.cell.what.rooms
        # Pipeline and ledger do the same wherever the table lies.
        skipped = ("ledger", "pipeline") if self.cell.target in ON_SERVER else ()
        here = [point for point in passed if room_of(point) not in skipped]
        here = [point for point in here if not rooms or room_of(point) in rooms]
        ends = {step_of(point): point for point in here}
        return [point for point in here if point in (step_of(point), ends[step_of(point)])]

    def run(self) -> None:
        require(self.prepare, "the old state")
        old = one_view(require(self.see, "reading the old state"))
        self.place.save()
        rehearsed = require(self.rehearse, "the rehearsal")
        new = require(self.look, "reading the new state")
        new_rows = one_view(new["seen"])
        if new_rows == old:
            raise SystemExit(f"{self.cell.command} changes nothing, so that nothing can be seen of it")
        say({"points": rehearsed, "memory": new["memory"]})
        for point in self.cell.points or self.chosen(rehearsed):
            if not self.place.renew():
                require(self.prepare, f"the old state before {point}")
            status, _ = in_child(lambda point=point: self.interrupt(point))
            self.fault.mend(self.place)
            found = require(self.repair, f"repairing after {point}")
            names = {str(old): "old", str(new_rows): "new"}
            say(
                {
                    "point": point,
                    "step": step_of(point),
                    "ended": os.waitstatus_to_exitcode(status),
                    "saw": {reader: names.get(str(as_rows(rows)), "both") for reader, rows in found["seen"].items()},
                    "again": {
                        reader: names.get(str(as_rows(rows)), "both") for reader, rows in found["again"]["seen"].items()
                    },
                    "memory": found["again"]["memory"],
                }
            )


def as_rows(found: list[list[str]]) -> Rows:
    return tuple(tuple(row) for row in found)


def one_view(seen: dict[str, list[list[str]]]) -> Rows:
    """The rows that all readers agree on."""
    views = {reader: as_rows(rows) for reader, rows in seen.items()}
    if len(set(views.values())) != 1:
        raise SystemExit(
            f"readers disagree about a table at rest: { {name: len(rows) for name, rows in views.items()} }"
        )
    return next(iter(views.values()))


def say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    cell = Cell(**json.loads(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # The lease of a writer that is dead is waited for; thirty seconds at each of these deaths would take an hour.
    lock.LEASE_SECONDS = 1.0
    if not cell.what.spark:
        use_arrow()
    matrix = Matrix(cell)
    try:
        matrix.run()
    finally:
        if matrix.place.stoppable is not None:
            matrix.place.stoppable.close()


if __name__ == "__main__":
    main()
