"""`lakebed write`: one object on stdout, a plan for --dry-run, exit codes."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from lakebed.cli import build


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build(["write"]), ["write", *arguments])


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1, 2], "day": ["mon", None]}), "old.parquet")
    pq.write_table(pa.table({"id": [3], "day": ["mon"], "w": [1]}), "monday.parquet")
    pq.write_table(pa.table({"id": [4], "day": pa.array([None], pa.string())}), "no_day.parquet")
    assert run("old.parquet", "t").exit_code == 0


def test_json_is_the_result() -> None:
    done = run("monday.parquet", "t", "--mode", "replace_slice", "--slice", "day=mon", "--json")
    said = json.loads(done.stdout)
    assert (said["rows"], said["removed"], said["total"], said["added_columns"]) == (1, 1, 2, ["w"])
    said = json.loads(run("no_day.parquet", "t", "--mode", "replace_slice", "--slice-null", "day", "--json").stdout)
    assert (said["rows"], said["removed"], said["total"]) == (1, 1, 2)


def test_a_dry_run_prints_the_plan() -> None:
    done = run("monday.parquet", "t", "--dry-run")
    assert "3 rows (before: 2): would be 1 written, 0 removed" in done.stdout
    assert "add     w int64" in done.stdout
    assert pq.read_table("t").num_rows == 2


def test_a_version_is_written_once() -> None:
    assert "1 written" in run("monday.parquet", "t", "--txn", "nightly:load:7").stdout
    assert "nothing was written" in run("monday.parquet", "t", "--txn", "nightly:load:7").stdout
    assert "older version 3" in run("monday.parquet", "t", "--txn", "nightly:load:3").stderr
    assert pq.read_table("t").num_rows == 3


def test_a_refusal_says_why_and_exits_with_one() -> None:
    done = run("old.parquet", "t", "--mode", "replace_slice", "--slice", "day=mon", "--json")
    assert done.exit_code == 1
    assert "1 of 2 rows do not belong to the slice" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--mode", "upsert"),
        ("--mode", "replace_slice"),
        ("--mode", "replace_slice", "--slice", "day"),
        ("--mode", "replace_slice", "--slice", "day=a", "--slice", "day=b"),
        ("--mode", "replace_slice", "--slice", "day=a", "--slice-null", "day"),
        ("--slice", "day=mon"),
        ("--txn", "nightly"),
        ("--txn", ":1"),
        ("--txn", "nightly:x"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_two(arguments: tuple[str, ...]) -> None:
    assert run("monday.parquet", "t", *arguments).exit_code == 2
