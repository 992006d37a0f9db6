"""`lakebed plan` looks and touches nothing, not even a commit that a crash has left half done."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import dying
from tests.support.file_trees import everything

import lakebed
from lakebed.samples import SampleSpec, make_sample
from lakebed.testing.target import contents

SPEC = SampleSpec(months=1, rows=10, columns=63, files=1, restate=False)


@pytest.mark.processes
@pytest.mark.parametrize("step", ["recorded", "put"])
def test_a_crashed_commit_waits_for_whoever_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.chdir(tmp_path)
    make_sample(tmp_path / "bills", months=1, rows=10, columns=63, spec=SPEC)
    place = tmp_path / "lake" / "costs"
    place.parent.mkdir()
    dying.one_file_per_row(dying.table(str(place)), dying.OLD, replace=False)
    seen: list[str] = []
    practice = tmp_path / "lake" / "practice"
    dying.one_file_per_row(dying.table(str(practice)), dying.OLD, replace=False)
    dying.one_file_per_row(dying.table(str(practice), seen.append), dying.NEW, replace=True)
    number = next(index for index, name in enumerate(seen, start=1) if name.startswith(step))
    program = str(Path(dying.__file__))
    subprocess.run([sys.executable, program, "commit", str(place), str(number)], check=True)
    before = everything(tmp_path)
    planned = lakebed.plan(str(tmp_path / "bills"), f"parquet:{place}")
    assert [one.action for one in planned.deliveries] == ["load"]
    assert everything(tmp_path) == before
    # Whoever writes next finds the commit and finishes it.
    assert contents(dying.table(str(place))) == dying.NEW
    assert everything(tmp_path) != before


@pytest.mark.parametrize("target", ["duckdb:costs", "parquet:costs", "iceberg:costs"])
def test_where_nothing_is_nothing_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    make_sample(tmp_path / "bills", months=1, rows=10, columns=63, spec=SPEC)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert [one.action for one in lakebed.plan(str(tmp_path / "bills"), target).deliveries] == ["load"]
    assert everything(tmp_path / "here") == {}
