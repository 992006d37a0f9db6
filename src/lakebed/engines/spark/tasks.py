"""Runs numbered tasks on Spark's workers: one stage, no shuffle, and only what each task returns comes back."""

import pickle
from collections.abc import Callable
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakebed.errors import EngineError
from lakebed.kernels.worker import run


def run_tasks(session: SparkSession, tasks: Callable[[int], object], count: int) -> list[object]:
    """One stage of `count` tasks, no shuffle; what each returned, by its number."""
    if count == 0:
        return []
    numbers = session.range(0, count, 1, count)
    try:
        returned = numbers.mapInArrow(partial(run, tasks), "task long, result binary").toArrow()
    except PySparkException as error:
        raise EngineError(f"the Spark job failed: {reason(error)}") from error
    results = dict(zip(returned.column(0).to_pylist(), returned.column(1).to_pylist(), strict=True))
    return [pickle.loads(results[number]) for number in range(count)]


def reason(error: PySparkException) -> str:
    """The line that matters of a Python traceback inside a Java one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if not line.startswith(("at ", "File ", "Traceback")) and "Error: " in line]
    return (raised or lines or [type(error).__name__])[-1 if raised else 0]
