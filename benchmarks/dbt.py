"""A dbt model of many rows: the materialization lakebed against dbt-duckdb's own incremental model.

    .venv/bin/python benchmarks/dbt.py [--rows 1000000] [--columns 50] [--folder DIR]

Each contender runs the model twice: once into a table that is not there yet, and once with as many rows again, half of
them with keys that are there (delete+insert). Promise: into DuckDB at most 1.3 times dbt-duckdb's own model. Seconds
are those of the model as dbt reports them, and of the processor for the whole command. dbt's environment is that of
the tests (`.venv-dbt`).
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb

ROOT = Path(__file__).parents[1]
DBT = ROOT / ".venv-dbt" / "bin" / "dbt"
PACKAGE = ROOT / "src" / "lakebed" / "dbt" / "package"
MODEL = (
    "{{{{ config(materialized='{kind}', unique_key='id', incremental_strategy='delete+insert') }}}}\n"
    "select * from read_parquet('{rows}') where batch = {{{{ var('batch') }}}}"
)


@dataclass(frozen=True)
class Contender:
    """A materialization and where it writes."""

    name: str
    kind: str
    target: str | None


CONTENDERS = (
    Contender("dbt-duckdb incremental", "incremental", None),
    Contender("lakebed into DuckDB", "lakebed", "duckdb"),
    Contender("lakebed into Iceberg", "lakebed", "iceberg:main"),
    Contender("lakebed into Parquet", "lakebed", "parquet:lake"),
)


def make_rows(path: Path, rows: int, columns: int) -> None:
    """Two batches of numbers, money and text; the second begins in the middle of the first."""
    kinds = (
        "(hash(n, {c}) % 1000000)::BIGINT AS c{c}",
        "((hash(n, {c}) % 100000000) / 10000)::DECIMAL(18,4) AS c{c}",
        "'value ' || (hash(n, {c}) % 5000) AS c{c}",
    )
    listed = ", ".join(kinds[number % 3].format(c=number) for number in range(columns - 2))
    with duckdb.connect() as connection:
        batches = " UNION ALL ".join(
            f"SELECT n + {batch * rows // 2} AS id, {batch} AS batch, {listed} FROM range({rows}) t(n)"
            for batch in (0, 1)
        )
        connection.execute(f"COPY ({batches}) TO '{path}' (FORMAT parquet)")


def run(folder: Path, batch: int) -> tuple[float, float]:
    """Seconds of the model, and of the processor for the whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [DBT, "--quiet", "run", "--vars", json.dumps({"batch": batch})]
    subprocess.run(command, cwd=folder, env={**os.environ, "DO_NOT_TRACK": "1"}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    [seconds] = [one["execution_time"] for one in results if one["unique_id"] == "model.bench.rows"]
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--columns", type=int, default=50)
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "lakebed-bench-dbt")
    given = options.parse_args()
    if not DBT.exists():
        raise SystemExit("there is no .venv-dbt: run `.venv/bin/python -m pytest tests/dbt/test_stock.py` once")
    shutil.rmtree(given.folder, ignore_errors=True)
    given.folder.mkdir(parents=True)
    rows = given.folder / "rows.parquet"
    make_rows(rows, given.rows, given.columns)
    base: dict[int, tuple[float, float]] = {}
    for one in CONTENDERS:
        folder = given.folder / one.name.replace(" ", "-")
        (folder / "models").mkdir(parents=True)
        output: dict[str, object] = {"type": "duckdb", "path": "dev.duckdb"}
        if one.target is not None:
            config = {"workdir": ".lakebed", "target": one.target}
            output["plugins"] = [{"module": "lakebed.dbt.plugin", "alias": "lakebed", "config": config}]
            (folder / "packages.yml").write_text(json.dumps({"packages": [{"local": str(PACKAGE)}]}))
            (folder / "dbt_packages").mkdir()
            (folder / "dbt_packages" / "lakebed").symlink_to(PACKAGE)
        (folder / "dbt_project.yml").write_text(json.dumps({"name": "bench", "profile": "bench"}))
        (folder / "profiles.yml").write_text(json.dumps({"bench": {"target": "dev", "outputs": {"dev": output}}}))
        (folder / "models" / "rows.sql").write_text(MODEL.format(kind=one.kind, rows=rows))
        for batch, what in ((0, "created"), (1, "half updated")):
            took = run(folder, batch)
            base.setdefault(batch, took)
            times, of_processor = (mine / theirs for mine, theirs in zip(took, base[batch], strict=True))
            print(
                f"{one.name:24} {what:13} {took[0]:6.1f} s ({times:.2f} times)   "
                f"processor {took[1]:6.1f} s ({of_processor:.2f} times)",
                flush=True,
            )
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
