"""Asks workers what they have and reach, which also proves that they run our kernels at all."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyspark

from lakebed.engines.spark.session import Session
from lakebed.engines.spark.tasks import WORKERS_NEED, run_tasks
from lakebed.errors import EngineError
from lakebed.kernels.probe import ProbeTasks, WorkerFacts
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.storage import Storage, join

# Enough for one task to land on every worker of a small cluster; on a large one it is a sample.
TASKS = 16


@dataclass(frozen=True)
class Workers:
    """The workers that answered, one for each host and Python, and how far a clock is from this machine's."""

    found: tuple[WorkerFacts, ...]
    clock_off_seconds: float

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.host for one in self.found))

    def refusal(self, place: str) -> tuple[str, str] | None:
        """A worker that cannot use a place, and why; None where all can."""
        return next(((one.host, one.refused[place]) for one in self.found if place in one.refused), None)


def driver_version() -> str:
    """What pyspark says of itself; the one that a platform brings need not be installed as a distribution."""
    version: str = pyspark.__version__
    return version


def probe_workers(
    session: Session, storage: StorageSettings, *, read: Sequence[str] = (), write: Sequence[str] = ()
) -> Workers:
    """Runs a stage of small tasks on the session."""
    tasks = ProbeTasks(storage.resolved(), f"lakebed-probe-{uuid4().hex}", tuple(read), tuple(write))
    count = 1 if session.local else TASKS
    started = time.time()
    try:
        answers = run_tasks(session.spark, tasks, count, doing="ask workers what they have")
    except EngineError as failure:
        raise EngineError(
            f"Spark started on {session.master}, but its workers did not run our kernel: {failure.message}",
            remedy=WORKERS_NEED,
        ) from failure
    ended = time.time()
    for place in write:
        Storage(storage).delete(join(place, f"{tasks.name}-{number}") for number in range(count))
    facts = [one for one in answers if isinstance(one, WorkerFacts)]
    # A task ran some time between the two: a clock is only known to be off by what is outside of them.
    off = max((max(started - one.clock, one.clock - ended, 0.0) for one in facts), default=0.0)
    return Workers(tuple({(one.host, one.executable): one for one in facts}.values()), off)
