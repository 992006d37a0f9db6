"""The one list of points at which a writer dies: every step that the code names, every write to the ledger, every file.

A step is named by `lakebed.checkpoints`, by the pipeline's observer, by the ledger's method that writes, or here, where
the work is another library's. The second time that a process passes a step is `put 2`.
"""

import inspect
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import Engine, event

import lakebed.engines.duckdb.write as duckdb_write
import lakebed.kernels.merge_files as merge_files
import lakebed.kernels.rows as rows_kernel
from lakebed.checkpoints import watch_checkpoints
from lakebed.pipeline.progress import Observer
from lakebed.state.claims import Claim
from lakebed.state.ledger import Ledger

# Of several sources, each begins before anything is done for it.
_NO_STEPS = ("warned", "source_begins")
OBSERVED = tuple(
    name for name, _ in inspect.getmembers(Observer, inspect.isfunction) if name not in _NO_STEPS and name[0] != "_"
)
# Steps of the commands themselves; what is not here is a step of a target's commit.
CHECKPOINTS = {"reconciled": "pipeline", "ingest committed": "pipeline"} | dict.fromkeys(
    ("source checked", "keys matched", "files written", "merge committed", "write committed", "history written"),
    "table",
)
LEDGER_WRITES = (
    "record_discovered",
    "set_state",
    "record_staged",
    "claim_load",
    "claim_staging",
    "begin_load",
    "open_staging",
    "close_staging",
    "finish_load",
    "record_schema_changes",
    "begin_files",
    "finish_files",
)


# What the work of other libraries is called here.
FILES = ("file half written", "file not yet written", "file written")
METADATA = "catalog's metadata written"


def room_of(point: str) -> str:
    """Whose step it is: the ledger's, the pipeline's, a library's, or one that a checkpoint names."""
    step = step_of(point)
    if step.startswith("ledger "):
        return "ledger"
    if step in OBSERVED:
        return "pipeline"
    return "libraries" if step in (*FILES, METADATA) else CHECKPOINTS.get(step, "targets")


def step_of(point: str) -> str:
    """`put` of `put 2`."""
    return re.sub(r" \d+$", "", point)


class Points:
    """Everything that this process passes, in order; `act` is called when it comes to `at`."""

    def __init__(self, at: str | None = None, act: Callable[[], object] | None = None) -> None:
        self.passed: list[str] = []
        self._at = at
        self._act = act or die
        self._times: Counter[str] = Counter()
        self._guard = threading.Lock()

    def __call__(self, step: str) -> None:
        # Names of files differ from run to run.
        name = re.sub(r" \S+\.parquet$", "", step)
        with self._guard:
            self._times[name] += 1
            point = name if self._times[name] == 1 else f"{name} {self._times[name]}"
            self.passed.append(point)
            if point == self._at:
                self._act()

    def watch(self) -> Observer:
        """Arms everything in this process, which is not to be used for anything else. The pipeline takes the result."""
        watch_checkpoints(self)
        self._watch_ledger()
        _before_and_after(merge_files.Sink, "close", self, FILES[0], FILES[2])
        _before_and_after(rows_kernel.PartitionedOutput, "close", self, FILES[0], FILES[2])
        _before_and_after(duckdb_write, "copy", self, FILES[1], FILES[2])
        _after_static(SqlCatalog, "_write_metadata", self, METADATA)
        return _Observing(self)

    def _watch_ledger(self) -> None:
        """Every transaction when all is written and nothing committed; what follows it is the next step's matter."""
        writing: list[str] = []

        def in_transaction(_: object) -> None:
            if writing:
                self(f"ledger {writing[-1]}")

        event.listen(Engine, "commit", in_transaction)
        for owner, names in ((Ledger, LEDGER_WRITES), (Claim, ("release",))):
            for name in names:
                _around(owner, name, writing)


class _Observing(Observer):
    def __init__(self, points: Points) -> None:
        self._points = points

    def __getattribute__(self, name: str) -> Any:
        if name in OBSERVED:
            points = object.__getattribute__(self, "_points")
            return lambda *_: points(name)
        return object.__getattribute__(self, name)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _around(owner: type, name: str, writing: list[str]) -> None:
    original = getattr(owner, name)

    def method(*arguments: Any, **named: Any) -> Any:
        writing.append(name)
        try:
            return original(*arguments, **named)
        finally:
            writing.pop()

    setattr(owner, name, method)


def _before_and_after(owner: Any, name: str, points: Points, before: str, after: str) -> None:
    original = getattr(owner, name)

    def function(*arguments: Any, **named: Any) -> Any:
        points(before)
        done = original(*arguments, **named)
        points(after)
        return done

    setattr(owner, name, function)


def _after_static(owner: type, name: str, points: Points, after: str) -> None:
    original = getattr(owner, name)

    def function(*arguments: Any, **named: Any) -> Any:
        done = original(*arguments, **named)
        points(after)
        return done

    setattr(owner, name, staticmethod(function))
