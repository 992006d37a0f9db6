"""Eight processes that merge into one table: all get through, and no row is lost."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed

WRITERS = 8
PROGRAM = """
import logging, sys
import pyarrow as pa
import lakebed

logging.basicConfig(stream=sys.stderr, level=logging.INFO)
target, workdir, writer = sys.argv[1], sys.argv[2], int(sys.argv[3])
for turn in range(int(sys.argv[4])):
    ids = [writer * 1000 + turn * 10 + n for n in range(10)]
    # A row of everybody's too, so that every merge rewrites the same file.
    rows = pa.table({"id": [0, *ids], "writer": [writer] * 11})
    lakebed.merge(rows, target, keys="id", engine="arrow", workdir=workdir)
"""


def write_at_once(target: str, workdir: Path, *, turns: int) -> None:
    """Starts all writers, waits for them, and checks that none was refused and that every row is there."""
    lakebed.merge(pa.table({"id": [0], "writer": [-1]}), target, keys="id", engine="arrow", workdir=workdir)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, target, str(workdir), str(writer), str(turns)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for writer in range(1, WRITERS + 1)
    ]
    ends = [(writer.communicate()[1], writer.returncode) for writer in writers]
    assert [code for _, code in ends] == [0] * WRITERS, "\n".join(said[-3000:] for said, code in ends if code)
    found = lakebed.read(target, workdir=workdir)
    table = found if isinstance(found, pa.Table) else found.to_table()
    expected = {w * 1000 + turn * 10 + n for w in range(1, WRITERS + 1) for turn in range(turns) for n in range(10)}
    assert sorted(table["id"].to_pylist()) == [0, *sorted(expected)]


@pytest.mark.full
def test_into_a_parquet_folder(tmp_path: Path) -> None:
    write_at_once(f"parquet:{tmp_path}/costs", tmp_path / "work", turns=3)


@pytest.mark.full
def test_into_iceberg_on_sqlite(tmp_path: Path) -> None:
    write_at_once("iceberg:ns.costs", tmp_path / "work", turns=2)


@pytest.mark.full
def test_into_a_duckdb_file(tmp_path: Path) -> None:
    write_at_once(f"duckdb:{tmp_path}/lake.duckdb#costs", tmp_path / "work", turns=3)
