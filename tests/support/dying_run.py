"""Run as a program by test_killed_runs.py: the whole pipeline in this process, without a JVM.

dying_run.py die KIND FOLDER     dies by SIGKILL at every step of a run in turn, looks, runs again, looks; JSON lines
dying_run.py race TARGET SOURCE  runs when told so on its input, and says what it loaded
dying_run.py wait TARGET SOURCE  the same, but stops in the middle of each load until told to go on
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import lakebed
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import Engine, FileDone
from lakebed.engines.spark.session import Session
from lakebed.errors import LakebedError
from lakebed.model import Delivery
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import DeliveryReport
from lakebed.state.ledger import Ledger
from lakebed.targets.base import Target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = ("discovered", "staging", "copied", "loading", "converted", "committing", "finishing", "finished")


def without_java() -> None:
    """The load of the Arrow engine, which runs the same kernels, in place of Spark's."""

    def engine(self: RunContext) -> Engine:
        return ArrowEngine(self.storage.settings)

    def session(self: RunContext) -> Session:
        return Session(cast("SparkSession", None), "this process", local=True, owned=False)

    RunContext.engine = property(engine)  # type: ignore[method-assign,assignment]
    RunContext.session = property(session)  # type: ignore[method-assign,assignment]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Dying(Observer):
    """Dies at a step that the pipeline tells of."""

    def __init__(self, step: str) -> None:
        self._step = step

    def _at(self, step: str) -> None:
        if step == self._step:
            die()

    def discovered(self, deliveries: int, superseded: int) -> None:
        self._at("discovered")

    def staging(self, delivery: Delivery) -> None:
        self._at("staging")

    def copied(self, size_bytes: int) -> None:
        self._at("copied")

    def loading(self, delivery: Delivery) -> None:
        self._at("loading")

    def converted(self, done: FileDone) -> None:
        self._at("converted")

    def committing(self, delivery: Delivery) -> None:
        self._at("committing")

    def finished(self, report: DeliveryReport) -> None:
        if not report.skipped:
            self._at("finished")


def dying_at(step: str) -> Observer:
    """An observer that dies at this step; at a checkpoint of the commit, or before the ledger hears of it."""
    if step == "finishing":
        Ledger.finish_load = lambda *_: die()  # type: ignore[method-assign,assignment,misc]
    elif step.startswith("commit "):
        number = int(step.removeprefix("commit "))
        calls: list[str] = []

        def checkpoint(name: str) -> None:
            calls.append(name)
            if len(calls) == number:
                die()

        on_checkpoints(checkpoint)
    return Dying(step)


def on_checkpoints(checkpoint: Callable[[str], None]) -> None:
    """Calls this at every step of a commit into the table itself; the table of rejected rows is left alone."""
    original = Workspace.target

    def target(self: Workspace, address: object, *, staging: str | None = None) -> Target:
        opened = original(self, address, staging=staging)  # type: ignore[arg-type]
        if not str(address).endswith("_rejected"):
            if isinstance(opened, DuckDBTarget):
                opened._checkpoint = checkpoint
            elif isinstance(opened, ParquetTarget):
                opened._journal._checkpoint = checkpoint
        return opened

    Workspace.target = target  # type: ignore[method-assign]


def in_child(act: Callable[[], object]) -> int:
    """Forks: importing everything again for each of these deaths would take minutes. Returns how the child ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            # Not the way out that the parent will take as well.
            if code:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitpid(child, 0)[1]


def look(target: str, place: Path, *, point: str, moment: str) -> None:
    """What table, ledger and folders hold, as one line of JSON."""
    workspace = Workspace.open({"workdir": str(place / "work")})
    found = workspace.target(target).read()
    rows = (found if hasattr(found, "to_pylist") else found.to_table()).to_pylist()
    months: dict[str, list[object]] = {}
    for period in sorted({row["lakebed_period"] for row in rows}):
        here = [row for row in rows if row["lakebed_period"] == period]
        cost = sum(row["line_item_unblended_cost"] or 0 for row in here)
        months[period] = [sorted({row["lakebed_delivery"] for row in here}), len(here), format(cost.normalize(), "f")]
    with workspace.ledger() as ledger:
        answer = {
            "point": point,
            "moment": moment,
            "months": months,
            "states": sorted({one.state for one in ledger.deliveries()}),
            "loads": sorted(f"{one.slice.period} {one.delivery} {one.state}" for one in ledger.loads()),
            "orphans": [orphan.folder for orphan in ledger.orphans()],
            "leftovers": [str(path) for path in place.glob(".costs*/**/*.parquet")],
        }
    sys.stdout.write(json.dumps(answer) + "\n")


def die_everywhere(kind: str, folder: Path) -> None:
    """`folder` has `before/` and `after/`, the deliveries of two days; everything else is made here."""
    place, saved = folder / "place", folder / "saved"
    target = "iceberg:costs.bill" if kind == "iceberg" else f"{kind}:{place / 'costs'}" + "#bill" * (kind == "duckdb")

    def run(day: str, observer: Observer | None = None) -> None:
        report = lakebed.run(str(folder / day), target, workdir=str(place / "work"), observer=observer)
        if errors := [one.error for one in report.deliveries if one.error]:
            raise LakebedError("\n".join(errors))

    def run_and_name_checkpoints() -> None:
        names: list[str] = []
        on_checkpoints(names.append)
        run("after")
        (folder / "checkpoints.json").write_text(json.dumps(names))

    place.mkdir()
    assert in_child(lambda: run("before")) == 0
    shutil.copytree(place, saved)
    in_child(lambda: look(target, place, point="nowhere", moment="old"))
    assert in_child(run_and_name_checkpoints) == 0
    in_child(lambda: look(target, place, point="nowhere", moment="new"))
    checkpoints = json.loads((folder / "checkpoints.json").read_text())
    for point in (*STEPS, *(f"commit {number}" for number in range(1, len(checkpoints) + 1))):
        shutil.rmtree(place)
        shutil.copytree(saved, place)
        ended = in_child(lambda point=point: run("after", dying_at(point)))
        assert ended == signal.SIGKILL, f"{point}: {ended}"
        in_child(lambda point=point: look(target, place, point=point, moment="killed"))
        assert in_child(lambda: run("after")) == 0, point
        in_child(lambda point=point: look(target, place, point=point, moment="again"))


class Waiting(Observer):
    """Says that it is in the middle of a load, and waits there."""

    def loading(self, delivery: Delivery) -> None:
        sys.stdout.write("loading\n")
        sys.stdout.flush()
        sys.stdin.readline()


def wait_patiently() -> None:
    """However busy the machine, a DuckDB file that the other run has open is waited for."""
    original = Workspace.target

    def target(self: Workspace, address: object, *, staging: str | None = None) -> Target:
        opened = original(self, address, staging=staging)  # type: ignore[arg-type]
        if isinstance(opened, DuckDBTarget):
            opened._file._wait_seconds = 3600
        return opened

    Workspace.target = target  # type: ignore[method-assign]


def race(target: str, source: str, observer: Observer | None) -> None:
    wait_patiently()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    report = lakebed.run(source, target, workdir=str(Path(source).parent / "work"), observer=observer)
    sys.stdout.write(json.dumps(report.to_dict()) + "\n")


def main() -> None:
    mode, one, other = sys.argv[1:]
    without_java()
    if mode == "die":
        die_everywhere(one, Path(other))
    else:
        race(one, other, Waiting() if mode == "wait" else None)


if __name__ == "__main__":
    main()
