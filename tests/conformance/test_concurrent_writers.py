"""Processes that change one table at once: all get through, no row and no column is lost, and retries are told."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.s3_server import S3Server

import lakebed

WRITERS = 8
MERGES = """
import json, logging, sys
import pyarrow as pa
import lakebed

logging.basicConfig(stream=sys.stderr, level=logging.INFO)
target, workdir, writer = sys.argv[1], sys.argv[2], int(sys.argv[3])
for turn in range(int(sys.argv[4])):
    ids = [writer * 1000 + turn * 10 + n for n in range(10)]
    # A row of everybody's too, so that every merge rewrites the same file.
    rows = pa.table({"id": [0, *ids], "writer": [writer] * 11, f"c_{writer}_{turn}": [writer] * 11})
    done = lakebed.merge(rows, target, keys="id", engine="arrow", workdir=workdir)
    print(json.dumps(done.retries))
"""
EVOLVES = """
import json, logging, sys
import lakebed

logging.basicConfig(stream=sys.stderr, level=logging.INFO)
target, workdir, writer = sys.argv[1], sys.argv[2], int(sys.argv[3])
for turn in range(int(sys.argv[4])):
    done = lakebed.evolve(target, {f"c_{writer}_{turn}": "int"}, workdir=workdir)
    print(json.dumps(done.retries))
"""


def run_at_once(program: str, target: str, workdir: Path, *, writers: int, turns: int) -> list[int]:
    """Starts all writers, waits for them, checks that none was refused, and returns the retries of each turn."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, target, str(workdir), str(writer), str(turns)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=workdir,
        )
        for writer in range(1, writers + 1)
    ]
    ends = [(*writer.communicate(), writer.returncode) for writer in running]
    assert [code for *_, code in ends] == [0] * writers, "\n".join(said[-3000:] for _, said, code in ends if code)
    for printed, said, _ in ends:
        retries = [json.loads(line) for line in printed.splitlines()]
        # Waiting for a file that another process has open changes nothing and is only logged.
        told = any("done after" in line and ":opening " not in line for line in said.splitlines())
        assert told is any(retries), "what was tried again is in the log too"
    return [json.loads(line) for printed, *_ in ends for line in printed.splitlines()]


def columns_of(writers: int, turns: int) -> set[str]:
    return {f"c_{writer}_{turn}" for writer in range(1, writers + 1) for turn in range(turns)}


def merge_at_once(target: str, workdir: Path, *, turns: int, writers: int = WRITERS) -> list[int]:
    workdir.mkdir(exist_ok=True)
    lakebed.merge(pa.table({"id": [0], "writer": [-1]}), target, keys="id", engine="arrow", workdir=workdir)
    retries = run_at_once(MERGES, target, workdir, writers=writers, turns=turns)
    found = lakebed.read(target, workdir=workdir)
    table = found if isinstance(found, pa.Table) else found.to_table()
    by_id = {row["id"]: row for row in table.to_pylist()}
    expected = {
        w * 1000 + turn * 10 + n: f"c_{w}_{turn}"
        for w in range(1, writers + 1)
        for turn in range(turns)
        for n in range(10)
    }
    assert by_id.keys() == {0, *expected}
    assert len(by_id) == table.num_rows
    assert columns_of(writers, turns) == set(table.column_names) - {"id", "writer"}
    for id_, column in expected.items():
        values = {name: value for name, value in by_id[id_].items() if name.startswith("c_") and value is not None}
        assert values == {column: id_ // 1000}
    # Everybody's row was updated by every merge, and a merge keeps what another wrote into its own column.
    assert all(by_id[0][column] == int(column.split("_")[1]) for column in columns_of(writers, turns))
    return retries


def evolve_at_once(target: str, workdir: Path, *, turns: int, writers: int = WRITERS) -> list[int]:
    workdir.mkdir(exist_ok=True)
    lakebed.evolve(target, {"id": "int"}, workdir=workdir)
    retries = run_at_once(EVOLVES, target, workdir, writers=writers, turns=turns)
    schema = lakebed.evolve(target, {"id": "int"}, workdir=workdir).final
    assert set(schema.names) == {"id"} | columns_of(writers, turns)
    return retries


@pytest.mark.processes
def test_three_merge_into_iceberg(tmp_path: Path) -> None:
    merge_at_once("iceberg:ns.costs", tmp_path / "work", turns=2, writers=3)


@pytest.mark.processes
def test_three_evolve_iceberg(tmp_path: Path) -> None:
    evolve_at_once("iceberg:ns.costs", tmp_path / "work", turns=3, writers=3)


@pytest.mark.full
@pytest.mark.processes
def test_into_a_parquet_folder(tmp_path: Path) -> None:
    merge_at_once(f"parquet:{tmp_path}/costs", tmp_path / "work", turns=3)


@pytest.mark.full
@pytest.mark.processes
def test_into_a_duckdb_file(tmp_path: Path) -> None:
    merge_at_once(f"duckdb:{tmp_path}/lake.duckdb#costs", tmp_path / "work", turns=3)


@pytest.mark.full
@pytest.mark.processes
def test_eight_merge_twelve_columns_each_into_iceberg_on_sqlite(tmp_path: Path) -> None:
    merge_at_once("iceberg:ns.costs", tmp_path / "work", turns=12)


@pytest.mark.full
@pytest.mark.processes
def test_eight_evolve_twelve_columns_each_on_sqlite(tmp_path: Path) -> None:
    evolve_at_once("iceberg:ns.costs", tmp_path / "work", turns=12)


def work_on(server: S3Server, workdir: Path) -> None:
    """A work directory whose default catalog is the server's; commands and merges started in it find its settings."""
    workdir.mkdir()
    storage = {key: value for key, value in asdict(server.settings).items() if isinstance(value, str)}
    lines = ["[storage]", *(f"{key} = {json.dumps(value)}" for key, value in storage.items()), "[catalog.lakebed]"]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in server.catalog_properties.items()]
    (workdir / "lakebed.toml").write_text("\n".join(lines) + "\n")


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.server
def test_eight_merge_twelve_columns_each_into_iceberg_on_rest(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_on(s3_server, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    merge_at_once("iceberg:crowd.merged", tmp_path / "work", turns=12)


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.server
def test_eight_evolve_twelve_columns_each_on_rest(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_on(s3_server, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    evolve_at_once("iceberg:crowd.evolved", tmp_path / "work", turns=12)
