"""`lakebed merge`: one object on stdout, a plan for --dry-run, exit codes."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from lakebed.cli import build


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build(["merge"]), ["merge", *arguments])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": [1, 2], "v": ["a", "b"]}), tmp_path / "old.parquet")
    pq.write_table(pa.table({"id": [2, 3], "v": ["B", "C"], "w": [1, 2]}), tmp_path / "new.parquet")
    pq.write_table(pa.table({"id": [2, 2], "v": ["B", "C"]}), tmp_path / "twice.parquet")
    assert run(str(tmp_path / "old.parquet"), str(tmp_path / "t"), "--keys", "id").exit_code == 0
    return tmp_path


@pytest.mark.parametrize("engine", ["duckdb", "arrow"])
def test_json_is_the_result(files: Path, engine: str) -> None:
    done = run(str(files / "new.parquet"), str(files / "t"), "--keys", "id", "--engine", engine, "--json")
    said = json.loads(done.stdout)
    assert (said["inserted"], said["updated"], said["total"], said["added_columns"]) == (1, 1, 3, ["w"])
    assert done.exit_code == 0


def test_a_dry_run_prints_the_plan(files: Path) -> None:
    done = run(str(files / "new.parquet"), str(files / "t"), "--keys", "id", "--dry-run")
    assert "2 before, 1 inserted, 1 updated, 0 deleted, 3 after" in done.stdout
    assert "add column w int64" in done.stdout
    assert pq.read_table(files / "t").num_rows == 2
    said = json.loads(run(str(files / "new.parquet"), str(files / "t"), "--keys", "id", "--dry-run", "--json").stdout)
    assert len(said["plan"]["files"]["rewrite"]) == 1


def test_a_refusal_says_why_and_exits_with_one(files: Path) -> None:
    done = run(str(files / "twice.parquet"), str(files / "t"), "--keys", "id", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["error"]["kind"] == "DUPLICATE_SOURCE_KEYS"
    assert json.loads(done.stdout)["error"]["keys"] == [2]


def test_wrong_usage_exits_with_two(files: Path) -> None:
    assert run(str(files / "new.parquet"), str(files / "t"), "--keys", "id", "--strategy", "upsrt").exit_code == 2
    assert run(str(files / "new.parquet"), str(files / "t")).exit_code == 2


def piped(data: bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lakebed", "merge", "-", "costs", "--keys", "id", "--json"]
    return subprocess.run(command, input=data, capture_output=True, cwd=folder, check=False)


def stream_of(*tables: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return sink.getvalue()


@pytest.mark.processes
def test_rows_come_through_a_pipe(tmp_path: Path) -> None:
    first = piped(stream_of(pa.table({"id": [1, 2]}), pa.table({"id": [3]})), tmp_path)
    assert json.loads(first.stdout)["inserted"] == 3, first.stderr
    again = piped(stream_of(pa.table({"id": [3, 4]})), tmp_path)
    said = json.loads(again.stdout)
    assert (said["inserted"], said["updated"], said["total"]) == (1, 1, 4)


@pytest.mark.processes
@pytest.mark.parametrize("broken", ["empty", "no stream", "cut"])
def test_a_pipe_that_breaks_is_said_and_nothing_is_written(tmp_path: Path, broken: str) -> None:
    whole = stream_of(pa.table({"id": list(range(5000))}))
    data = {"empty": b"", "no stream": b"id,cost\n1,2\n", "cut": whole[: len(whole) // 2]}[broken]
    done = piped(data, tmp_path)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["remedy"]
    assert list(tmp_path.rglob("*.parquet")) == []
