"""SIGINT and SIGTERM end a run in order, wherever they come; running again goes on. Real signals, real processes."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support import SUPPORT

import lakebed
from lakebed.errors import NotFound
from lakebed.samples import SampleSpec, make_sample
from lakebed.state.ledger import Ledger
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget

pytestmark = pytest.mark.processes

PROGRAM = str(SUPPORT / "interrupted_run.py")
SPEC = SampleSpec(months=2, rows=24, columns=63, files=2, restate=False)


@pytest.fixture
def bills(tmp_path: Path) -> Path:
    make_sample(tmp_path / "bills", spec=SPEC)
    return tmp_path / "bills"


TARGETS = {"duckdb": "duckdb:costs", "parquet": "parquet:costs", "iceberg": "iceberg:billing"}


def run(
    bills: Path,
    *words: str,
    signal: str = "SIGTERM",
    step: str = "never",
    engine: str = "arrow",
    kind: str = "duckdb",
) -> "Ended":
    """A run in a process of its own, which gets the signal at this step."""
    command = [sys.executable, PROGRAM, signal, step, engine, "run", str(bills), "--target", TARGETS[kind], *words]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT.parent.parent)}
    return subprocess.run(
        command, cwd=bills.parent, env=environment, capture_output=True, text=True, check=False, timeout=None
    )


Ended = subprocess.CompletedProcess[str]


def months(folder: Path, kind: str = "duckdb") -> dict[str, int]:
    addresses = {"duckdb": f"duckdb:{folder / 'costs'}#sample_report", "parquet": f"parquet:{folder / 'costs'}"}
    try:
        found = lakebed.read(addresses.get(kind, "iceberg:billing.sample_report"), workdir=folder / ".lakebed")
    except NotFound:
        return {}
    table = found if isinstance(found, pa.Table) else found.to_table()
    return dict(Counter(table["lakebed_period"].to_pylist()))


def require_nothing_left(folder: Path) -> None:
    """No claim, no staging folder, no staged output of a commit that never came."""
    with Ledger.read(folder / ".lakebed" / "ledger.db") as ledger:
        assert ledger.claims() == ()
        assert ledger.orphans() == ()
        assert {one.state for one in ledger.deliveries()} <= {"discovered", "staged", "loaded", "failed"}
        assert {one.state for one in ledger.loads()} <= {"loaded", "failed"}
    assert not list(folder.glob(".costs*/**/*.parquet"))
    in_warehouse = {str(path) for path in folder.glob(".lakebed/warehouse/**/data/**/*.parquet")}
    if in_warehouse:
        target = IcebergTarget("billing", "sample_report", CatalogSettings.for_workdir(folder / ".lakebed"))
        assert in_warehouse <= {uri.removeprefix("file://") for uri in target.named_files()}


def signals_at_steps() -> Iterator[object]:
    """Both signals at every step; CI sends them in turns."""
    for place, step in enumerate(["discovered", "staging", "copied", "loading", "converted", "committing"]):
        for other, (signal, code) in enumerate([("SIGINT", 130), ("SIGTERM", 143)]):
            yield pytest.param(signal, code, step, marks=[pytest.mark.full] if (place + other) % 2 else [])


@pytest.mark.parametrize(("signal", "code", "step"), list(signals_at_steps()))
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


@pytest.mark.parametrize("kind", ["parquet", "iceberg"])
@pytest.mark.parametrize(("signal", "code", "step"), [("SIGINT", 130, "converted"), ("SIGTERM", 143, "committing")])
def test_so_it_is_in_every_target(bills: Path, signal: str, code: int, step: str, kind: str) -> None:
    ended = run(bills, signal=signal, step=step, kind=kind)
    assert ended.returncode == code, ended.stderr
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"interrupted by {signal}: 0 of 2 deliveries are loaded, the rest is as it was.")
    assert months(bills.parent, kind) == {}
    require_nothing_left(bills.parent)
    assert run(bills, kind=kind).returncode == 0
    assert months(bills.parent, kind) == {"2026-09": 24, "2026-10": 24}
    require_nothing_left(bills.parent)


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("duckdb", "commit staged"),
        ("duckdb", "commit recorded"),
        ("duckdb", "finished"),
        ("parquet", "commit verified"),
        ("parquet", "commit recorded"),
        ("parquet", "commit replaced"),
        ("iceberg", "commit described"),
        ("iceberg", "commit snapshot written"),
        ("iceberg", "commit created"),
    ],
)
def test_a_signal_during_a_commit_waits_for_the_end_of_it(bills: Path, kind: str, step: str) -> None:
    ended = run(bills, "--json", step=step, kind=kind)
    assert ended.returncode == 143, ended.stderr
    said = json.loads(ended.stdout)["error"]
    assert (said["type"], said["signal"]) == ("Interrupted", "SIGTERM")
    assert "1 of 2 deliveries is loaded (sample-report 2026-10)" in said["message"]
    assert said["message"] in ended.stderr
    assert months(bills.parent, kind) == {"2026-10": 24}
    require_nothing_left(bills.parent)
    again = run(bills, "--json", kind=kind)
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
