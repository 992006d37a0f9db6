"""dbt's own classes for the incremental models of an adapter, with our materialization, in dbt's environment."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.dbt_env import FOLDER, dbt_python

pytestmark = [pytest.mark.processes, pytest.mark.full]
SUITE = Path(__file__).parent / "adapter"


def test_the_suite(tmp_path: Path) -> None:
    command = [dbt_python(), "-m", "pytest", "-q", "-p", "dbt.tests.fixtures.project", "-p", "no:cacheprovider"]
    places = ["-c", "/dev/null", "--rootdir", SUITE, "--confcutdir", SUITE, "--basetemp", tmp_path / "suite"]
    ran = subprocess.run(
        [*command, *places, SUITE / "suite.py"],
        cwd=tmp_path,
        env={**os.environ, "DO_NOT_TRACK": "1", "PYTHONPYCACHEPREFIX": str(FOLDER / "pycache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-20_000:]
