"""The fallback on a real DuckDB older than 1.4, in an environment of its own."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

OLD_DUCKDB = "duckdb==1.3.2"
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


@pytest.mark.full
def test_the_fallback_on_a_real_old_duckdb(tmp_path: Path) -> None:
    old = tmp_path / "old"
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    installed = subprocess.run(
        [uv, "pip", "install", "-q", "--no-deps", "--target", old, OLD_DUCKDB], capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip(f"{OLD_DUCKDB} cannot be installed here: {installed.stderr.strip()[-200:]}")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env={"PYTHONPATH": str(old)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["version"] == "1.3.2"
    assert said["counts"]["upsert"] == [1, 1, 0]
    assert said["lines"] == ["Using UNION ALL fallback for merge operation (DuckDB < 1.4.0 or MERGE unavailable)"]
    assert said["refusal"] == "DuckDB MERGE requested but not available. Required version: >= 1.4.0, Current: 1.3.2"
