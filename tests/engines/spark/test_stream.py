"""The streaming example of the docs, killed and started again: every event is in the table once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support import ROOT

import lakebed
from lakebed.engines.spark.java import find_java

pytestmark = [pytest.mark.spark, pytest.mark.processes]

EXAMPLE = ROOT / "examples" / "stream" / "stream.py"
# Runs the example, and dies when it has come to a step this often.
PROGRAM = """
import os, runpy, signal, sys
from lakebed.checkpoints import watch_checkpoints

step, times, *sys.argv = sys.argv[1:]
left = int(times)

def die(passed):
    global left
    left -= passed == step
    if left == 0 and passed == step:
        os.kill(os.getpid(), signal.SIGKILL)

watch_checkpoints(die)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_example(folder: Path, target: str, *, dies_at: str = "never", times: int = 1) -> int:
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false "
        "--conf spark.sql.shuffle.partitions=2 pyspark-shell",
        "LAKEBED_WORKDIR": str(folder / "work"),
    }
    places = [str(folder / "events"), target, str(folder / "checkpoint")]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, dies_at, str(times), str(EXAMPLE), *places],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, -signal.SIGKILL), ran.stderr[-4000:]
    return ran.returncode


def add_events(folder: Path, number: int, **more: object) -> None:
    folder.mkdir(exist_ok=True)
    lines = (json.dumps({"id": number * 100 + each, "kind": "click", **more}) for each in range(100))
    (folder / f"{number}.json").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("target", ["iceberg:web.events", "parquet:events_table"])
def test_a_stream_that_is_killed_and_started_again_writes_every_event_once(target: str, tmp_path: Path) -> None:
    for number in range(3):
        add_events(tmp_path / "events", number)
    address = target.replace("parquet:", f"parquet:{tmp_path}/")
    # The second batch is written and not committed; then it is committed, and Spark does not know.
    assert run_example(tmp_path, address, dies_at="files written", times=2) == -signal.SIGKILL
    assert run_example(tmp_path, address, dies_at="write committed") == -signal.SIGKILL
    add_events(tmp_path / "events", 3, tag="new")
    assert run_example(tmp_path, address) == 0
    found = lakebed.read(address, workdir=tmp_path / "work")
    table = found if isinstance(found, pa.Table) else found.to_table()
    assert sorted(table["id"].to_pylist()) == list(range(400))
    assert [row["tag"] for row in table.to_pylist() if row["id"] >= 300] == ["new"] * 100
