"""What a failed job says: the line that matters, and what helps where the workers run another Python."""

import pytest
from pyspark.errors import PySparkException

from lakebed.engines.spark.tasks import WORKERS_NEED, is_of_spark, reason, remedy

TRACEBACK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    import pyarrow
ModuleNotFoundError: No module named 'pyarrow'
\tat org.apache.spark.api.python.BasePythonRunner
"""


def test_workers_without_pyarrow_are_named_with_what_they_need() -> None:
    error = PySparkException(TRACEBACK)
    assert reason(error) == "ModuleNotFoundError: No module named 'pyarrow'"
    assert remedy(error) == WORKERS_NEED


@pytest.mark.parametrize(
    "said",
    [
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11",
        'java.io.IOException: Cannot run program "python3": error=2, No such file or directory',
    ],
)
def test_so_are_workers_of_another_python_and_of_none(said: str) -> None:
    assert remedy(PySparkException(said)) == WORKERS_NEED


def test_of_java_alone_it_is_the_first_cause() -> None:
    said = """An error occurred while calling o276.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils
Caused by: org.apache.spark.SparkException: Job aborted.
\t... 1 more
Caused by: java.io.IOException: No space left on device
\t... 2 more
"""
    assert reason(PySparkException(said)) == "java.io.IOException: No space left on device"


def test_other_failures_have_no_such_advice() -> None:
    assert remedy(PySparkException("ValueError: 12 is not a date")) is None


def test_what_pyspark_leaves_to_py4j_is_of_spark_and_a_mistake_of_ours_is_not() -> None:
    left = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
    assert is_of_spark(PySparkException("no such table"))
    assert is_of_spark(left("o1.sql"))
    assert not is_of_spark(KeyError("name"))
