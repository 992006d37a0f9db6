"""Iceberg's own Spark runtime as another writer and reader of our tables."""

import json
import os
import subprocess
import sys

import pytest

from lakebed.targets.iceberg.spark_conf import AWS_BUNDLE, RUNTIME, SQLITE_DRIVER, spark_conf
from lakebed.targets.iceberg.target import IcebergTarget
from tests.support import SUPPORT
from tests.support.strangers import jars

SESSION = SUPPORT / "iceberg_runtime_session.py"


def by_runtime(target: IcebergTarget, statements: list[str], **environment: str) -> list[list[dict[str, object]]]:
    """What Iceberg's Spark says, in a process of its own, with the settings that `doctor --spark-conf` prints."""
    found = jars(RUNTIME, SQLITE_DRIVER, AWS_BUNDLE)
    if isinstance(found, str):
        pytest.skip(found)
    conf = spark_conf(target.settings)
    del conf["spark.jars.packages"]  # the cached jars instead: no resolving at every start
    request = {"conf": {**conf, "spark.jars": ",".join(map(str, found))}, "statements": statements}
    done = subprocess.run(
        [sys.executable, str(SESSION)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    answer = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert answer, done.stderr[-4000:]
    return json.loads(answer[0].removeprefix("RESULT"))  # type: ignore[no-any-return]
