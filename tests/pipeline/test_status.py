"""What the status says of work under way: a process that is gone does not go on."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lakebed
from lakebed.cli import build
from lakebed.model import Slice
from lakebed.state.ledger import Ledger

TABLE = "duckdb:/lake#hourly"
SLICE = Slice("1", "hourly", "2026-09")

LOAD = f"""
import sys
from pathlib import Path
from lakebed.model import Slice
from lakebed.state.ledger import Ledger
ledger, slice_ = Ledger.open(Path(sys.argv[1])), Slice("1", "hourly", "2026-09")
with ledger.claim_load({TABLE!r}, slice_) as claim:
    ledger.begin_load(claim, {TABLE!r}, slice_, "a1")
    print("loading", flush=True)
    sys.stdin.read()
"""


@pytest.mark.processes
def test_a_living_process_is_told_from_a_dead_one(tmp_path: Path) -> None:
    def work() -> tuple[object, bool]:
        report = lakebed.status(workdir=tmp_path)
        [load], [claim] = report.loads, report.claims
        assert report.to_dict()["loads"][0]["work"] == report.describe_work(load)  # type: ignore[index]
        return report.describe_work(load), claim.alive

    def shown() -> str:
        words = ["status", "--workdir", str(tmp_path)]
        return CliRunner().invoke(build(words), words, catch_exceptions=False).stdout

    command = [sys.executable, "-c", LOAD, str(tmp_path / "ledger.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        said, alive = work()
        assert (str(said).startswith(f"by process {process.pid} on "), alive) == (True, True)
        assert f"loading, by process {process.pid} on" in shown()
        process.kill()
    said, alive = work()
    assert (str(said).startswith(f"process {process.pid} on "), alive) == (True, False)
    assert str(said).endswith(" is gone: run again")
    assert "is gone: run again" in shown()


def test_a_load_without_any_claim_has_no_process(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger.db") as ledger, ledger.claim_load(TABLE, SLICE) as claim:
        ledger.begin_load(claim, TABLE, SLICE, "a1")
    report = lakebed.status(workdir=tmp_path)
    assert report.claims == ()
    assert report.describe_work(report.loads[0]) == "its process is gone: run again"
