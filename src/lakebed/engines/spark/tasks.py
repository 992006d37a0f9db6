"""Runs numbered tasks on Spark's workers: one stage, no shuffle, and only what each task returns comes back.

Every job of ours passes `collect`, which names it for the Spark UI and cancels it when the run is interrupted.
"""

import pickle
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.engines.spark.job_names import named_jobs
from lakebed.errors import EngineError
from lakebed.kernels.archive_cache import SparingArchives
from lakebed.kernels.worker import run
from lakebed.subject import subject

if TYPE_CHECKING:
    import pyarrow as pa

    MapsBatches: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


WORKERS_NEED = "Workers need pyarrow and the same Python as the driver; PYSPARK_PYTHON says which one they run."
# What Spark and Python say of workers that lack it.
_LACKING = ("No module named", "PYTHON_VERSION_MISMATCH", "Cannot run program")


def run_tasks(session: SparkSession, tasks: Callable[[int], object], count: int, *, doing: str) -> list[object]:
    """One stage of `count` tasks, no shuffle; what each returned, by its number. `doing` is what the UI shows."""
    if count == 0:
        return []
    numbers = session.range(0, count, 1, count)
    try:
        returned = collect(map_batches(numbers, partial(run, tasks), "task long, result binary"), doing=doing)
    except PySparkException as error:
        raise EngineError(f"the Spark job failed: {reason(error)}", remedy=remedy(error)) from error
    results = dict(zip(returned.column(0).to_pylist(), returned.column(1).to_pylist(), strict=True))
    return [pickle.loads(results[number]) for number in range(count)]


def map_batches(frame: DataFrame, function: "MapsBatches", schema: str) -> DataFrame:
    """The rows that a kernel makes of the frame's, on workers. Every Python task of ours is started here."""
    return frame.mapInArrow(SparingArchives(function), schema)  # type: ignore[arg-type]


def collect(frame: DataFrame, *, doing: str) -> "pa.Table":
    """What a small frame gives. An interrupt cancels its job; pyspark by itself would wait for the job's end.

    The job is waited for in a thread of its own, which has the caller's job properties: a signal reaches the main
    thread only, and only where that is not inside of pyspark. So the job's name is not left on the caller's session.
    """
    session, about = frame.sparkSession, subject()
    tag = f"lakebed-{uuid.uuid4().hex}"
    outcome: Future[pa.Table] = Future()

    def collect() -> None:
        session.addTag(tag)
        try:
            with named_jobs(session, about, doing):
                outcome.set_result(frame.toArrow())
        except BaseException as error:  # noqa: BLE001 -- raised where the result is waited for
            outcome.set_exception(_of_spark(error))
        finally:
            session.removeTag(tag)

    thread = InheritableThread(target=collect, session=session, daemon=True)
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        session.interruptTag(tag)
        raise
    finally:
        thread.join()


def is_of_spark(error: BaseException) -> bool:
    """It is Spark's word, and no mistake of ours."""
    return isinstance(_of_spark(error), PySparkException)


def _of_spark(error: BaseException) -> BaseException:
    """The error; of Java's that pyspark leaves to py4j, one of Spark's."""
    return PySparkException(str(error)) if type(error).__module__ == "py4j.protocol" else error


def reason(error: PySparkException) -> str:
    """The line that matters of a Python traceback inside a Java one, or of Java's own the first cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if not line.startswith(("at ", "File ", "Traceback")) and "Error: " in line]
    caused = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (raised or caused or lines[:1] or [type(error).__name__])[-1]


def remedy(error: PySparkException) -> str | None:
    """What helps where the workers' Python is not the one that was meant."""
    said = str(error)
    return WORKERS_NEED if any(word in said for word in _LACKING) else None
