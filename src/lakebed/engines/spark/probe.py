"""Asks a worker what it has, which also proves that it runs our kernels at all."""

from dataclasses import dataclass

import pyspark
from pyspark.errors import PySparkException

from lakebed.engines.spark.session import Session
from lakebed.engines.spark.tasks import collect
from lakebed.errors import EngineError
from lakebed.kernels.probe import WORKER_FACTS, worker_facts


@dataclass(frozen=True, slots=True)
class Worker:
    """What a kernel found around itself."""

    executable: str
    python: str
    pyarrow: str
    isal: bool


def driver_version() -> str:
    """What pyspark says of itself; the one that a platform brings need not be installed as a distribution."""
    version: str = pyspark.__version__
    return version


def probe_worker(session: Session) -> Worker:
    """Runs one task on the session."""
    try:
        asked = session.spark.range(0, 1, 1, 1).mapInArrow(worker_facts, WORKER_FACTS)
        [row] = collect(asked, doing="ask a worker what it has").to_pylist()
    except PySparkException as failure:
        raise EngineError(
            f"Spark started on {session.master}, but its workers did not run our kernel: {failure}",
            remedy="Workers need pyarrow and the same Python as the driver; PYSPARK_PYTHON says which one they run.",
        ) from failure
    return Worker(**row)
