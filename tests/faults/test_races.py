"""Two that do the same at once: of commits one wins, and of runs none loads what another is loading."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.support import ROOT, SUPPORT, racing

from lakebed.kernels.storage_settings import StorageSettings
from lakebed.samples import SampleSpec, make_sample
from lakebed.testing.target import OCTOBER, Loader, contents, rows

pytestmark = pytest.mark.processes

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SPEC = SampleSpec(months=2, rows=24, columns=63, files=2)


def deliver(folder: Path, *, restate: bool) -> None:
    spec = SampleSpec(**{**vars(SPEC), "restate": restate})
    make_sample(folder, months=spec.months, rows=spec.rows, columns=spec.columns, spec=spec)


@pytest.mark.parametrize("name", ["folder", "file.duckdb"])
def test_of_two_that_commit_at_once_one_wins(tmp_path: Path, name: str) -> None:
    place = str(tmp_path / name)
    Loader(racing.table(place), StorageSettings(), ()).load(rows(OCTOBER, range(20)))
    racers = [
        subprocess.Popen(
            [sys.executable, str(SUPPORT / "racing.py"), place, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in (501, 502, 503)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    results = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        results.append(racer.communicate()[0].strip())
    assert sorted(results) == ["lost ConcurrentModification", "lost ConcurrentModification", "won"]
    winner = (501, 502, 503)[results.index("won")]
    assert [row["id"] for row in contents(racing.table(place))] == [winner]


class Runner:
    """A run in a process of its own that starts when it is told to, and is gone after the block."""

    def __init__(self, mode: str, folder: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.support.racing_run",
            mode,
            f"duckdb:{folder / 'costs'}#bill",
            str(folder / "bills"),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
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
