"""Run as a program: runs `lakebed` commands one after the other in this process, on the Arrow engine.

Reads a JSON list of `{"words": [...], "settings": "..."}` from stdin, where the settings are a lakebed.toml. Prints a
line of JSON for each command: its exit code, what it printed, and the traceback of what it did not handle.
"""

import json
import sys
import traceback
from pathlib import Path

from typer.testing import CliRunner

from lakebed.cli import build, logs
from tests.support.arrow_runs import use_arrow


def run(words: list[str], settings: str) -> dict[str, object]:
    Path("lakebed.toml").write_text(settings)
    ended = CliRunner().invoke(build(words), words)
    logs.reset()
    raised = ended.exception
    unhandled = None if raised is None or isinstance(raised, SystemExit) else traceback.format_exception(raised)
    return {"code": ended.exit_code, "out": ended.stdout, "err": ended.stderr, "unhandled": unhandled}


if __name__ == "__main__":
    use_arrow()
    for one in json.load(sys.stdin):
        sys.stdout.write(json.dumps(run(one["words"], one["settings"])) + "\n")
        sys.stdout.flush()
