"""A run killed anywhere leaves the old month or the new one, and the next run finishes; two runs load nothing twice."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.support import SUPPORT

from lakebed.samples import SampleSpec, make_sample

pytestmark = pytest.mark.processes

PROGRAM = str(SUPPORT / "dying_run.py")
SPEC = SampleSpec(months=2, rows=24, columns=63, files=2)


def deliver(folder: Path, *, restate: bool) -> None:
    spec = SampleSpec(**{**vars(SPEC), "restate": restate})
    make_sample(folder, months=spec.months, rows=spec.rows, columns=spec.columns, spec=spec)


@pytest.mark.parametrize("kind", ["duckdb", "parquet", pytest.param("iceberg", marks=pytest.mark.full)])
def test_killed_at_every_step_the_month_is_the_old_or_the_new_and_the_next_run_finishes(
    tmp_path: Path, kind: str
) -> None:
    deliver(tmp_path / "before", restate=False)
    deliver(tmp_path / "after", restate=True)
    ran = subprocess.run(
        [sys.executable, PROGRAM, "die", kind, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    seen = [json.loads(line) for line in ran.stdout.splitlines()]
    old, new = (answer["months"] for answer in seen[:2])
    assert old["2026-09"] != new["2026-09"]
    assert old["2026-10"] == new["2026-10"]
    killed = {answer["point"]: answer for answer in seen if answer["moment"] == "killed"}
    # Whoever dies before the commit has changed nothing; once the commit is done, the new month stands.
    assert {point for point, answer in killed.items() if answer["months"] == old} >= {"staging", "copied", "converted"}
    assert {point for point, answer in killed.items() if answer["months"] == new} >= {"finishing", "finished"}
    assert all(answer["months"] in (old, new) for answer in killed.values())
    # The ledger says how far each got.
    assert "staging" in killed["copied"]["states"]
    assert "staged" in killed["loading"]["states"]
    assert "loading" in killed["committing"]["states"]
    assert killed["committing"]["orphans"]
    for answer in seen:
        if answer["moment"] == "again":
            assert answer["months"] == new, answer["point"]
            assert answer["states"] == ["loaded", "superseded"], answer["point"]
            assert answer["loads"] == seen[1]["loads"], answer["point"]
            assert (answer["orphans"], answer["leftovers"]) == ([], []), answer["point"]


class Runner:
    """A run in a process of its own that starts when it is told to, and is gone after the block."""

    def __init__(self, mode: str, folder: Path) -> None:
        command = [sys.executable, PROGRAM, mode, f"duckdb:{folder / 'costs'}#bill", str(folder / "bills")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.hear() == "ready"

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def tell(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def report(self) -> list[dict[str, object]]:
        said = self._process.communicate()[0].strip().splitlines()
        assert self._process.returncode == 0
        deliveries = json.loads(said[-1])["deliveries"]
        assert isinstance(deliveries, list)
        return deliveries


def test_a_delivery_that_another_run_is_loading_is_left_to_it(tmp_path: Path) -> None:
    deliver(tmp_path / "bills", restate=False)
    with Runner("wait", tmp_path) as first, Runner("race", tmp_path) as second:
        first.tell()
        assert first.hear() == "loading"
        second.tell()
        theirs = {str(one["period"]): one for one in second.report()}
        first.tell()
        ours = {str(one["period"]): one for one in first.report()}
    assert theirs["2026-10"]["state"] == "loading"
    assert theirs["2026-10"]["skipped"]
    assert "process" in str(theirs["2026-10"]["warnings"])
    assert theirs["2026-09"]["state"] == "loaded"
    assert (ours["2026-10"]["state"], ours["2026-10"]["skipped"]) == ("loaded", False)
    assert (ours["2026-09"]["state"], ours["2026-09"]["skipped"]) == ("loaded", True)


def test_two_runs_at_once_load_every_delivery_once(tmp_path: Path) -> None:
    deliver(tmp_path / "bills", restate=True)
    with Runner("race", tmp_path) as one, Runner("race", tmp_path) as other:
        one.tell()
        other.tell()
        reports = [*one.report(), *other.report()]
    loaded = [each["delivery"] for each in reports if each["state"] == "loaded" and not each["skipped"]]
    assert len(loaded) == len(set(loaded)) == SPEC.months
    assert not [each for each in reports if each["error"]]
    with duckdb.connect(tmp_path / "costs", read_only=True) as connection:
        rows = connection.execute("SELECT lakebed_delivery, count(*) FROM bill GROUP BY ALL ORDER BY ALL").fetchall()
        [number] = connection.execute("SELECT count(*) FROM lakebed.commits").fetchone() or ()
    assert rows == [(delivery, SPEC.rows) for delivery in sorted(map(str, loaded))]
    assert number == SPEC.months
