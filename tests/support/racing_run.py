"""Run as a program by tests/faults/test_races.py: the whole pipeline in this process, without a JVM.

racing_run.py race TARGET SOURCE  runs when told so on its input, and says what it loaded
racing_run.py wait TARGET SOURCE  the same, but stops in the middle of each load until told to go on
"""

import json
import sys
from pathlib import Path

import lakebed
from lakebed.model import Delivery
from lakebed.pipeline.progress import Observer
from lakebed.targets.duckdb.target import DuckDBTarget
from tests.support.arrow_runs import use_arrow


class Waiting(Observer):
    """Says that it is in the middle of a load, and waits there."""

    def loading(self, delivery: Delivery) -> None:
        sys.stdout.write("loading\n")
        sys.stdout.flush()
        sys.stdin.readline()


def main() -> None:
    mode, target, source = sys.argv[1:]
    use_arrow()
    # However busy the machine, a DuckDB file that the other run has open is waited for.
    (DuckDBTarget.__init__.__kwdefaults__ or {})["wait_seconds"] = 3600
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    observer = Waiting() if mode == "wait" else None
    report = lakebed.run(source, target, workdir=str(Path(source).parent / "work"), observer=observer)
    sys.stdout.write(json.dumps(report.to_dict()) + "\n")


if __name__ == "__main__":
    main()
