"""Runs a cell of the matrix in its program, and judges what was seen."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.faults.child import Cell
from tests.support import ROOT
from tests.support.s3_server import S3Server


@dataclass(frozen=True)
class Outcome:
    """What one interruption left: what Lakebed and the others saw, and what they saw after the next run."""

    point: str
    step: str
    ended: int
    saw: Mapping[str, str]
    again: Mapping[str, str]
    memory: Mapping[str, object]

    @property
    def word(self) -> str:
        """`old` or `new`; with a star where Lakebed reads the new state and others do not yet."""
        ours = self.saw["lakebed"]
        return ours if set(self.saw.values()) == {ours} else f"{ours}*"


@dataclass(frozen=True)
class Ran:
    """A whole cell."""

    points: list[str]
    memory: Mapping[str, object]
    outcomes: list[Outcome]

    def words(self) -> dict[str, str]:
        """Step by step, `old` or `new`, or both where a step is passed several times."""
        steps: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            words = steps.setdefault(outcome.step, [])
            if outcome.word not in words:
                words.append(outcome.word)
        return {step: ", ".join(words) for step, words in steps.items()}


def run_cell(cell: Cell) -> Ran:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.faults.child", json.dumps(asdict(cell))]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=cell.folder)
    assert ran.returncode == 0, ran.stderr[-6000:]
    first, *rest = [json.loads(line) for line in ran.stdout.splitlines()]
    return Ran(first["points"], first["memory"], [Outcome(**line) for line in rest])


def cell_of(command: str, target: str, folder: Path, source: Path, server: S3Server | None = None, **more: Any) -> Cell:
    return Cell(command, target, str(folder), str(source), server=asdict(server) if server else None, **more)


def require_old_or_new(outcomes: Iterable[Outcome], memory: Mapping[str, object], *, journal: bool) -> None:
    """Old or new to everybody; after the next run new, with nothing lost, counted twice or left lying about.

    A folder of Parquet files has no commit that others know of: between the journal's record and its end they may meet
    files of both states, until the next writer has finished what was begun.
    """
    for outcome in outcomes:
        assert outcome.saw["lakebed"] in ("old", "new"), outcome
        if not (journal and outcome.saw["lakebed"] == "new"):
            assert len(set(outcome.saw.values())) == 1, outcome
        assert set(outcome.again.values()) == {"new"}, outcome
        assert outcome.memory == memory, outcome
