"""`lakebed check` as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

pytestmark = pytest.mark.processes


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lakebed.cli import main; main()", "check", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "total.sql").write_text("SELECT sum(cost) AS total\nFROM costs")
    with duckdb.connect(str(tmp_path / "costs.duckdb")) as connection:
        connection.execute("CREATE TABLE costs (id INTEGER, cost DECIMAL(38, 18))")
    return tmp_path


def test_exit_codes_and_the_three_forms(folder: Path) -> None:
    fine = run("queries", "--target", "duckdb:costs.duckdb", cwd=folder)
    assert fine.returncode == 0
    assert "1 of 1 statements read the target; checked against the target as it is: nothing found" in fine.stdout
    (folder / "queries" / "day.sql").write_text("SELECT id,\n  kost\nFROM costs")
    broken = run("queries", "--target", "duckdb:costs.duckdb", cwd=folder)
    assert broken.returncode == 1
    assert "queries/day.sql:2: error: there is no column kost in costs\n    Did you mean cost?" in broken.stdout
    answer = run("queries", "--target", "duckdb:costs.duckdb", "--json", cwd=folder)
    assert answer.returncode == 1
    [finding] = json.loads(answer.stdout)["findings"]
    assert (finding["kind"], finding["severity"], finding["line"]) == ("missing", "error", 2)
    comment = run("queries", "--target", "duckdb:costs.duckdb", "--format", "github", cwd=folder)
    assert comment.returncode == 1
    assert "**1 place would break.**" in comment.stdout
    assert "| `queries/day.sql:2` | `kost` |" in comment.stdout


def test_a_wrong_call_says_what_to_do(folder: Path) -> None:
    neither = run("--target", "duckdb:costs.duckdb", cwd=folder)
    assert neither.returncode == 2
    assert "Give a folder of SQL files, or --dbt DIR." in neither.stderr
    absent = run("queries", "--target", "duckdb:absent.duckdb", cwd=folder)
    assert absent.returncode in (1, 2)
    assert "absent.duckdb" in absent.stderr
