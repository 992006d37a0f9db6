"""`lakebed lineage` as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes


def run(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lakebed.cli import main; main()", "lineage", *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.sql").write_text("CREATE TABLE raw (id INT, cost INT);\nCREATE VIEW v AS SELECT * FROM raw;")
    (tmp_path / "b.sql").write_text("SELECT id, {{ measure }}(cost) AS c FROM v GROUP BY id")
    return tmp_path


def test_files_in_order_share_their_schema(folder: Path) -> None:
    done = run("a.sql", "b.sql", "--var", "measure=sum", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "└─ v.cost" in done.stdout
    assert "0 errors" in done.stdout


def test_json_is_one_object(folder: Path) -> None:
    for arguments in (("--json",), ("--format", "json")):
        done = run("a.sql", *arguments, cwd=folder)
        answer = json.loads(done.stdout)
        assert [statement["target"] for statement in answer["statements"]] == ["raw", "v"]
        assert answer["statements"][1]["file"] == "a.sql"


def test_stdin_schema_and_walks(folder: Path) -> None:
    (folder / "schema.json").write_text('{"tables": [{"name": "t", "columns": ["a", "b"]}]}')
    done = run("-", "--schema", "schema.json", "--dialect", "duckdb", cwd=folder, stdin="CREATE TABLE n AS FROM t")
    assert "└─ t.b" in done.stdout
    up = run("a.sql", "--upstream", "v.cost", "--json", cwd=folder)
    assert [item["table"] for item in json.loads(up.stdout)["upstream"]["columns"]] == ["raw"]
    down = run("a.sql", "--downstream", "raw.cost", cwd=folder)
    assert "1  v.cost" in down.stdout


def test_files_are_written(folder: Path) -> None:
    assert run("a.sql", "--format", "html", "-o", "x.html", cwd=folder).returncode == 0
    assert (folder / "x.html").read_text().startswith("<!doctype html>")
    assert run("a.sql", "--format", "duckdb", "-o", "x.duckdb", cwd=folder).returncode == 0
    assert (folder / "x.duckdb").exists()
    again = run("a.sql", "--format", "duckdb", "-o", "x.duckdb", "--json", cwd=folder)
    assert again.returncode == 1
    assert "there already" in json.loads(again.stdout)["error"]["message"]


def test_a_bad_statement_is_an_issue_and_strict_refuses(folder: Path) -> None:
    (folder / "bad.sql").write_text("SELEC 1 FROM; SELECT a FROM t")
    done = run("bad.sql", "--json", cwd=folder)
    assert done.returncode == 0
    assert {issue["code"] for issue in json.loads(done.stdout)["issues"]} == {"PARSE_ERROR", "UNKNOWN_TABLE"}
    assert run("bad.sql", "--strict", cwd=folder).returncode == 1
    assert run("a.sql", "--strict", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "nothing to analyse"),
        (("nowhere.sql",), 1, "not there"),
        (("a.sql", "--format", "pdf"), 2, "not known"),
        (("a.sql", "--dialect", "cobol"), 1, "not known"),
        (("a.sql", "--schema", "nowhere.json"), 2, "not there"),
        (("a.sql", "--var", "x"), 2, "no value"),
        (("b.sql",), 1, "measure"),
        (("a.sql", "--upstream", "nope.x"), 1, "does not occur"),
    ],
)
def test_mistakes_are_said_without_a_stack_trace(
    folder: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
