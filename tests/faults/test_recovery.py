"""A recovery that is killed itself, at any of its steps, is finished by the next writer."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DELIVERY
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, contents, rows

pytestmark = pytest.mark.processes

# Commits or recovers, and is killed at the step of this number; prints the steps that it passes.
PROGRAM = """
import os, sys
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, rows

mode, template, *numbers = sys.argv[1:]

def act(place, at):
    passed = []
    def checkpoint(name):
        passed.append(name)
        sys.stdout.write(name + "\\n")
        sys.stdout.flush()
        if len(passed) == at:
            os.kill(os.getpid(), 9)
    target = ParquetTarget(place, checkpoint=checkpoint)
    if mode == "recover":
        target.state()
        return
    loader = Loader(target, StorageSettings(), ())
    new = rows(OCTOBER, range(100, 104), delivery="new")
    prepared = loader.prepare(new, replacing=OCTOBER, rows_per_file=1)
    target.commit(prepared.state, prepared.staging, prepared.change)

for number in map(int, numbers):
    # A warm process is forked for each death: importing PyArrow for each would take minutes.
    child = os.fork()
    if child == 0:
        act(template.replace("STEP", str(number)), number)
        os._exit(0)
    os.waitpid(child, 0)
"""


def run(mode: str, place: Path | str, *numbers: int) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, mode, str(place), *map(str, numbers)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def copy_of(folder: Path, name: str) -> Path:
    shutil.copytree(folder.with_name(f".{folder.name}.txn"), folder.with_name(f".{name}.txn"))
    return Path(shutil.copytree(folder, folder.with_name(name)))


def test_a_recovery_killed_at_every_step_is_finished(tmp_path: Path) -> None:
    table = tmp_path / "table"
    loader = Loader(ParquetTarget(str(table)), StorageSettings(), ())
    prepared = loader.prepare(rows(OCTOBER, range(6), delivery="old"), rows_per_file=1)
    loader.target.commit(prepared.state, prepared.staging, prepared.change)
    steps = run("commit", copy_of(table, "rehearsal"), 10_000)
    # Two files have moved when the process dies.
    run("commit", table, steps.index("recorded") + 3)
    recovery = run("recover", copy_of(table, "practice"), 10_000)
    assert len(recovery) >= 5
    for number in range(1, len(recovery) + 1):
        copy_of(table, f"copy{number}")
    run("recover", tmp_path / "copySTEP", *range(1, len(recovery) + 1))
    for number in range(1, len(recovery) + 1):
        found = contents(ParquetTarget(str(tmp_path / f"copy{number}")))
        assert {row[DELIVERY] for row in found} == {"new"}, recovery[number - 1]
        assert len(found) == 4, recovery[number - 1]
