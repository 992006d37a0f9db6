"""`lakebed ingest` on the command line."""

import json
from pathlib import Path

import pytest
from tests.support.arrow_runs import use_arrow

from lakebed.cli import build


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_arrow(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id;v\n1;x\n2;n/a\n")
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        build(["ingest", *words])(prog_name="lakebed", args=["ingest", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_what_was_loaded_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("in", "--target", "parquet:out") == 0
    said = capsys.readouterr()
    assert "2 rows loaded; 0 of 1 file skipped" in said.out
    assert "in/a.csv" in said.out
    assert "semicolons" in said.err
    assert "adds up" in said.err
    assert run("in", "--target", "parquet:out") == 0
    assert "0 rows loaded; 1 of 1 file skipped" in capsys.readouterr().out


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("in", "--target", "duckdb:x.duckdb", "--name", "t", "--json", "--dry-run") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["table"], told["loaded"], told["dry_run"]) == ("t", 2, True)
    assert told["types"] == {"id": "int32", "v": "text"}
    assert told["plan"]["creates"] is True
    assert not Path("x.duckdb").exists()
    assert run("in", "--target", "duckdb:x.duckdb", "--name", "t", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["action"], one["rows"], one["dialect"]) for one in told["files"]] == [
        ("load", 2, 'semicolons, quotes ", utf-8')
    ]
    assert (told["rows"], told["deliveries"][0]["state"]) == (2, "loaded")


def test_options_reach_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("in", "--target", "parquet:out", "--types", "id string", "--keys", "id", "--delimiter", ";", "--json") == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["types"]["id"], told["inserted"], told["updated"]) == ("text", 2, 0)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("absent",), 1, "absent"),
        (("in", "--delimiter", "ab"), 2, "the delimiter is 'ab'"),
        (("in", "--keys", "nope"), 2, "nope"),
        (("in", "--types", "v int"), 1, "line 2, column v: 'x'"),
    ],
)
def test_refusals(words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words, "--target", "parquet:out", "--json") == code
    told = capsys.readouterr()
    assert said in json.loads(told.out)["error"]["message"]
    assert "Traceback" not in told.err
