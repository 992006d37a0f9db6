"""Two attempts of one task, both alive and both writing: every row is in the table once."""

import json
from pathlib import Path

import pyarrow.dataset as pads
import pytest
from tests.support.spark_cluster import Server

from lakebed.samples import SampleSpec, make_sample

pytestmark = pytest.mark.spark

# The first attempt of the first task waits until Spark has started a second one; then both do all the work.
DRIVER = """
import json, os, sys, time
from pathlib import Path
import lakebed
from lakebed.engines.spark import load

master, bills, lake, marks = sys.argv[1:]

class Straggling:
    def __init__(self, tasks):
        self.tasks = tasks

    def __call__(self, number):
        from pyspark import TaskContext
        if number == 0:
            if TaskContext.get().attemptNumber():
                Path(marks, "second").touch()
            while not Path(marks, "second").exists():
                time.sleep(0.05)
        result = self.tasks(number)
        if number == 0:
            Path(marks, f"done-{TaskContext.get().attemptNumber()}").touch()
        return result

run_tasks = load.run_tasks
load.run_tasks = lambda session, tasks, *count, **named: run_tasks(session, Straggling(tasks), *count, **named)
conf = {
    "spark.speculation": "true", "spark.speculation.quantile": "0.25", "spark.speculation.multiplier": "1.01",
    "spark.speculation.interval": "50ms", "spark.speculation.minTaskRuntime": "50ms", "spark.executor.memory": "512m",
}
report = lakebed.run(bills, f"parquet:{lake}", master=master, conf=conf, shared_folders=[str(Path(lake).parent)],
                     workdir=str(Path(lake).parent / "work"))
print(json.dumps(report.to_dict()))
"""


def test_rows_of_a_task_with_two_attempts_are_there_once(standalone_cluster: Server, tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    spec = SampleSpec(files=5, restate=False)
    truth = make_sample(tmp_path / "bills", months=1, rows=500, columns=80, spec=spec)
    said = standalone_cluster.run(DRIVER, str(tmp_path / "bills"), str(tmp_path / "lake"), str(tmp_path / "marks"))
    [delivery] = json.loads(said.splitlines()[-1])["deliveries"]
    assert (delivery["state"], delivery["reconciled"]) == ("loaded", True)
    assert (tmp_path / "marks" / "second").exists(), "Spark started no second attempt: the test proves nothing"
    rows = pads.dataset(tmp_path / "lake", format="parquet", partitioning="hive").to_table(["identity_line_item_id"])
    [month] = truth.current
    assert rows.num_rows == month.totals.rows
    assert len(rows.column(0).unique()) == rows.num_rows
