"""SIGINT and SIGTERM end a run in order, wherever they come; running again goes on. Real signals, real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.support import SUPPORT

from lakebed.samples import SampleSpec, make_sample
from lakebed.state.ledger import Ledger

pytestmark = pytest.mark.processes

PROGRAM = str(SUPPORT / "interrupted_run.py")
SPEC = SampleSpec(months=2, rows=24, columns=63, files=2, restate=False)


@pytest.fixture
def bills(tmp_path: Path) -> Path:
    make_sample(tmp_path / "bills", spec=SPEC)
    return tmp_path / "bills"


def run(bills: Path, *words: str, signal: str = "SIGTERM", step: str = "never", engine: str = "arrow") -> "Ended":
    """A run in a process of its own, which gets the signal at this step."""
    command = [sys.executable, PROGRAM, signal, step, engine, "run", str(bills), "--target", "duckdb:costs", *words]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT.parent.parent)}
    return subprocess.run(
        command, cwd=bills.parent, env=environment, capture_output=True, text=True, check=False, timeout=None
    )


Ended = subprocess.CompletedProcess[str]


def months(folder: Path) -> dict[str, int]:
    if not (folder / "costs").exists():
        return {}
    with duckdb.connect(folder / "costs", read_only=True) as connection:
        if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'sample_report'").fetchone():
            return {}
        return dict(connection.execute("SELECT lakebed_period, count(*) FROM sample_report GROUP BY 1").fetchall())


def require_nothing_left(folder: Path) -> None:
    """No claim, no staging folder, no staged output of a commit that never came."""
    with Ledger.read(folder / ".lakebed" / "ledger.db") as ledger:
        assert ledger.claims() == ()
        assert ledger.orphans() == ()
        assert {one.state for one in ledger.deliveries()} <= {"discovered", "staged", "loaded", "failed"}
        assert {one.state for one in ledger.loads()} <= {"loaded", "failed"}
    assert not list(folder.glob(".costs*/**/*.parquet"))


@pytest.mark.parametrize("step", ["discovered", "staging", "copied", "loading", "converted", "committing"])
@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_before_the_commit_leaves_the_table_as_it_was(bills: Path, signal: str, code: int, step: str) -> None:
    ended = run(bills, signal=signal, step=step)
    assert ended.returncode == code, ended.stderr
    [line] = ended.stderr.splitlines()
    assert line == (
        f"interrupted by {signal}: 0 of {0 if step == 'discovered' else 2} deliveries are loaded, "
        "the rest is as it was. Run the same command again to go on."
    )
    assert months(bills.parent) == {}
    require_nothing_left(bills.parent)
    again = run(bills)
    assert again.returncode == 0, again.stderr
    assert months(bills.parent) == {"2026-09": 24, "2026-10": 24}


@pytest.mark.parametrize("step", ["commit staged", "commit recorded", "finished"])
def test_a_signal_during_a_commit_waits_for_the_end_of_it(bills: Path, step: str) -> None:
    ended = run(bills, "--json", step=step)
    assert ended.returncode == 143, ended.stderr
    said = json.loads(ended.stdout)["error"]
    assert (said["type"], said["signal"]) == ("Interrupted", "SIGTERM")
    assert "1 of 2 deliveries is loaded (sample-report 2026-10)" in said["message"]
    assert said["message"] in ended.stderr
    assert months(bills.parent) == {"2026-10": 24}
    require_nothing_left(bills.parent)
    again = run(bills, "--json")
    assert [one["skipped"] for one in json.loads(again.stdout)["deliveries"]] == [True, False]


@pytest.mark.spark
@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_cancels_the_spark_job_and_stops_the_session(bills: Path, signal: str, code: int) -> None:
    ended = run(bills, "--master", "local[1]", signal=signal, step="job", engine="spark")
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == "no session was left\n"
    assert ended.stderr.splitlines()[-1].startswith(f"interrupted by {signal}: 0 of 2 deliveries are loaded")
    assert "Traceback" not in ended.stderr
    assert months(bills.parent) == {}
    require_nothing_left(bills.parent)
    assert run(bills).returncode == 0
