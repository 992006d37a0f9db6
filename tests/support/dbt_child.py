"""Run as a program in dbt's environment: forks for each command that it reads, and says how it went.

This process itself starts no thread and opens nothing: what dies with a command is a process of its own.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner

import lakebed.dbt.plugin
import lakebed.engines.duckdb.merge
import lakebed.state.ledger
import lakebed.targets.iceberg.target  # noqa: F401
from lakebed.checkpoints import watch_checkpoints

# Statements of dbt before which a run may die, by how they begin.
STATEMENTS = ("create or replace view", "comment on view", 'insert into "dev".lakebed', "commit", "begin", "copy (")


class Points:
    """Counts the points that a run passes, and ends it at one of them."""

    def __init__(self, stop_at: str | None) -> None:
        self.passed: list[str] = []
        self._stop_at = stop_at

    def __call__(self, name: str) -> None:
        point = f"{name} {sum(one.rpartition(' ')[0] == name for one in self.passed) + 1}"
        self.passed.append(point)
        if point == self._stop_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def event(self, event: Any) -> None:
        """dbt's own events: a statement is about to be run."""
        sql = getattr(event.data, "sql", "") if event.info.name == "SQLQuery" else ""
        text = sql.split("*/")[-1].strip().lower()
        for start in STATEMENTS:
            if text.startswith(start):
                self(f"before {start}")


def run(request: dict[str, Any]) -> dict[str, Any]:
    os.chdir(request["project"])
    os.environ.update(request["variables"])
    said: list[str] = []
    points = Points(request["stop_at"])
    watch_checkpoints(points)

    def hear(event: Any) -> None:
        if event.info.level in ("info", "warn", "error"):
            said.append(event.info.msg)
        points.event(event)

    done = dbtRunner(callbacks=[hear]).invoke(["--quiet", "--no-use-colors", *request["arguments"]])
    nodes, messages = {}, {}
    for one in getattr(done.result, "results", None) or ():
        node = getattr(one, "node", None)
        name = getattr(node, "name", None) or str(getattr(one, "unique_id", ""))
        nodes[name] = str(one.status)
        messages[name] = str(one.message)
    if done.exception is not None:
        said.append(f"{type(done.exception).__name__}: {done.exception}")
    return {
        "code": 0,
        "success": bool(done.success),
        "nodes": nodes,
        "messages": messages,
        "said": "\n".join(said),
        "points": points.passed,
    }


def in_child(request: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # What dbt prints is for the log of the tests, not for the pipe that answers go through.
        os.dup2(2, 1)
        code = 1
        try:
            with os.fdopen(writing, "w") as answer:
                json.dump(run(request), answer)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {"code": os.waitstatus_to_exitcode(status)}


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(in_child(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
