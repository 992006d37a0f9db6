"""Eight processes that load, four that merge and two that read, all at one table: nobody loses anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults import crowd
from tests.support import ROOT

from lakebed.samples import SampleSpec, make_sample

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    "target",
    [
        "Iceberg on SQLite",
        pytest.param("Parquet", marks=pytest.mark.full),
        pytest.param("DuckDB", marks=pytest.mark.full),
    ],
)
def test_nobody_loses_anything(target: str, tmp_path: Path) -> None:
    spec = SampleSpec(months=crowd.MONTHS, rows=crowd.ROWS, columns=63, files=2, restate=False)
    make_sample(tmp_path / "bills", spec=spec)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.faults.crowd", target, str(tmp_path), str(tmp_path / "bills")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-6000:]
    seen = json.loads(ran.stdout)
    assert {code for codes in seen["ends"].values() for code in codes} == {0}, ran.stderr[-6000:]
    loaded = dict.fromkeys(crowd.months(), crowd.ROWS)
    merged = {f"1999-{writer:02d}": crowd.TURNS * crowd.BATCH for writer in range(1, crowd.MERGERS + 1)}
    assert seen["counts"] == loaded | merged
