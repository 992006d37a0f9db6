"""DuckDBs that are not the locked one, each in an environment of its own: before MERGE, and the newest."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

OLD_DUCKDB = "duckdb==1.3.2"
NEW_DUCKDB = "duckdb>=2,<3"
# What holds the DuckDB engine, the DuckDB target and the load into DuckDB to their promises.
SUITES = (
    "tests/engines/duckdb",
    "tests/targets/duckdb",
    "tests/datasets/test_load_csv.py",
    "tests/conformance/test_targets.py",
    "tests/conformance/test_merge_duckdb.py",
    "tests/conformance/test_merge_parquet.py",
)
PROGRAM = """
import json, logging, sys
import duckdb, pyarrow as pa
from lakebed.datasets import DatasetMergeError, DuckDBDatasetIO
from lakebed.merge_core.oracle import merge_by_row
from lakebed.merge_core.spec import STRATEGIES, MergeSpec
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.rows import difference

lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("lakebed.engines.duckdb.merge").addHandler(handler)
logging.getLogger("lakebed.engines.duckdb.merge").setLevel(logging.INFO)
old = pa.table({"id": [1, 2, 3, 3], "v": ["a", "b", "c", "d"]})
new = pa.table({"v": ["B", "D"], "id": pa.array([2, 4], pa.int32()), "w": [1.5, 2.5]})
counts = {}
for strategy in STRATEGIES:
    folder = f"{sys.argv[1]}/{strategy}"
    DuckDBDatasetIO().merge(old, folder, "delete_insert", "id")
    wanted = merge_by_row(old, new, MergeSpec.of(keys="id", strategy=strategy))
    result = DuckDBDatasetIO().merge(new, folder, strategy, "id")
    assert (result.inserted, result.updated, result.deleted) == (wanted.inserted, wanted.updated, wanted.deleted)
    assert difference(ParquetTarget(folder).read().to_table(), wanted.table) is None
    counts[strategy] = [result.inserted, result.updated, result.deleted]
try:
    DuckDBDatasetIO().merge(new, folder, "upsert", "id", use_merge=True)
except DatasetMergeError as error:
    refusal = error.message
print(json.dumps({"version": duckdb.__version__, "counts": counts, "lines": sorted(set(lines)), "refusal": refusal}))
"""


def install(requirement: str, folder: Path) -> Path:
    """Installs a DuckDB into a folder that PYTHONPATH may name; skips the test where it cannot be had."""
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    installed = subprocess.run(
        [uv, "pip", "install", "-q", "--no-deps", "--target", folder, requirement], capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip(f"{requirement} cannot be installed here: {installed.stderr.strip()[-200:]}")
    return folder


@pytest.mark.full
def test_the_suites_of_duckdb_pass_on_the_newest_one(tmp_path: Path) -> None:
    new = install(NEW_DUCKDB, tmp_path / "new")
    environment = {**os.environ, "PYTHONPATH": str(new)}
    version = subprocess.run(
        [sys.executable, "-c", "import duckdb; print(duckdb.__version__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(version.stdout.split(".")[0]) >= 2
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not full and not spark and not server", *SUITES],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.full
def test_the_fallback_on_a_real_old_duckdb(tmp_path: Path) -> None:
    old = install(OLD_DUCKDB, tmp_path / "old")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env={"PYTHONPATH": str(old)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["version"] == "1.3.2"
    assert said["counts"]["upsert"] == [1, 1, 0]
    assert said["lines"] == ["Using UNION ALL fallback for merge operation (DuckDB < 1.4.0 or MERGE unavailable)"]
    assert said["refusal"] == "DuckDB MERGE requested but not available. Required version: >= 1.4.0, Current: 1.3.2"
