"""Changes one thing in a copy of the source, runs the tests that reach it, and does it again.

    nice scripts/mutate --package kernels --sample 30 --seed 1

The same seed and sample choose the same changes to the same source. A change that no test notices is a survivor: it is
mended with a test, or it goes into scripts/mutate.equivalent.toml with the reason why it changes nothing.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib
import random
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from scripts.mutation.bench import Bench
from scripts.mutation.changes import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent.parent
EQUIVALENT = ROOT / "scripts/mutate.equivalent.toml"
# Which tests are asked about a package: tests/<package>, tests/test_<module>.py, and these.
ALSO = {
    "changes": ("tests/cli/test_impact.py", "tests/cli/test_check.py"),
    "config": ("tests/pipeline/test_settings.py", "tests/pipeline/test_sources.py", "tests/cli/test_operations.py"),
    "datasets": ("tests/engines/duckdb", "tests/table"),
    "engines": (
        "tests/kernels",
        "tests/table",
        "tests/property/test_merge.py",
        "tests/conformance/test_merge_parquet.py",
    ),
    "kernels": ("tests/property", "tests/engines", "tests/source", "tests/pipeline", "tests/table"),
    "lineage": ("tests/cli/test_lineage.py", "tests/changes"),
    "merge_core": ("tests/property", "tests/table", "tests/datasets"),
    "model": ("tests/merge_core", "tests/targets", "tests/pipeline", "tests/source"),
    "pipeline": ("tests/cli/test_pipeline.py", "tests/cli/test_operations.py"),
    "retry": ("tests/targets", "tests/table"),
    "schema": ("tests/property", "tests/targets", "tests/table", "tests/merge_core"),
    "source": ("tests/pipeline", "tests/cli/test_discover.py", "tests/security"),
    "state": ("tests/pipeline", "tests/table", "tests/security"),
    "storage": ("tests/source", "tests/targets", "tests/security"),
    "table": ("tests/targets", "tests/datasets", "tests/cli/test_merge.py", "tests/cli/test_write.py"),
    "targets": ("tests/property", "tests/table", "tests/conformance/test_targets.py", "tests/pipeline"),
    "workspace": ("tests/table", "tests/pipeline"),
}
# Imported once, before the forks: most of what a run of the tests costs is this.
PRELOADED = (
    "pyarrow.parquet",
    "pyarrow.dataset",
    "pyarrow.csv",
    "pyarrow.compute",
    "duckdb",
    "sqlglot",
    "sqlglot.optimizer.qualify",
    "sqlalchemy",
    "pyiceberg.table",
    "pyspark.sql",
    "typer",
    "rich.console",
    "pydantic",
    "obstore",
    "polars",
    "pandas",
)


def known_equivalents() -> set[tuple[str, str, str]]:
    entries = tomllib.loads(EQUIVALENT.read_text()).get("equivalent", []) if EQUIVALENT.exists() else []
    return {(entry["file"], entry["before"], entry["after"]) for entry in entries if entry["reason"]}


def files_of(package: str) -> list[Path]:
    """A folder with all below it, or a module directly below the package."""
    place = ROOT / "src/lakebed" / package
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def tests_of(package: str) -> list[str]:
    """The folders and modules of tests that are asked about a package."""
    places = [f"tests/{package}", f"tests/test_{package}.py", *ALSO.get(package, ())]
    return [place for place in places if (ROOT / place).exists()]


def examine(package: str, *, bench: Bench, sample: int, seed: int, only: str) -> tuple[int, list[Mutant]]:
    """How many changes were tried, and which of them nobody noticed."""
    files = [path for path in files_of(package) if only in str(path.relative_to(ROOT))]
    candidates = [mutant for path in files for mutant in mutants(path, ROOT)]
    known = known_equivalents()
    tried, survivors = 0, []
    bench.check_unchanged(candidates[0])
    for mutant in random.Random(seed).sample(candidates, len(candidates)):
        if tried == sample:
            break
        before, after = mutant.lines((ROOT / mutant.path).read_bytes())
        if (str(mutant.path), before, after) in known:
            continue
        with contextlib.suppress(SyntaxError):
            compile(mutant.apply((ROOT / mutant.path).read_bytes()), str(mutant.path), "exec")
            tried += 1
            started = time.monotonic()
            alive, asked = bench.survives(mutant)
            print(
                f"{'SURVIVED' if alive else 'noticed '} {mutant.path}:{mutant.line} ({asked} tests,"
                f" {time.monotonic() - started:.0f} s)\n    - {before}\n    + {after}",
                flush=True,
            )
            survivors += [mutant] * alive
    return tried, survivors


def list_unreached(package: str, bench: Bench) -> None:
    """Prints the lines with something to change that no test of those that are asked reaches."""
    for path in files_of(package):
        lines = {mutant.line for mutant in mutants(path, ROOT) if not any(bench.tests_for(mutant))}
        if lines:
            print(f"{path.relative_to(ROOT)}: {', '.join(map(str, sorted(lines)))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    inside = sorted((ROOT / "src/lakebed").iterdir())
    packages = [path.stem for path in inside if path.stem not in ("__init__", "__pycache__", "testing", "py")]
    parser.add_argument(
        "--package", action="append", choices=packages, help="which to examine; all of them if not given"
    )
    parser.add_argument("--only", default="", help="part of the paths of the files to change")
    parser.add_argument("--sample", type=int, default=12, help="changes for each package (12)")
    parser.add_argument("--seed", type=int, default=1, help="which changes (1)")
    parser.add_argument("--slow", action="store_true", help="ask the tests with Spark, servers and processes as well")
    parser.add_argument("--unreached", action="store_true", help="only list the lines that no test reaches")
    parser.add_argument("--at-least", type=float, default=92, help="exit with 1 below this share, in percent (92)")
    given = parser.parse_args()
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    folder = Path(tempfile.gettempdir()) / f"lakebed-mutate-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    groups = ["fast", "slow"] if given.slow else ["fast"]
    scores = {}
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"another run of scripts/mutate works in {folder}: wait for it to end")
        chosen = given.package or [package for package in packages if tests_of(package)]
        bench = Bench(ROOT, folder, groups, {place for package in chosen for place in tests_of(package)})
        for package in chosen:
            if given.unreached:
                list_unreached(package, bench)
                continue
            scores[package] = examine(package, bench=bench, sample=given.sample, seed=given.seed, only=given.only)
    low = False
    for package, (tried, survivors) in scores.items():
        share = 100 * (tried - len(survivors)) / tried if tried else 100
        low |= share < given.at_least
        print(f"{package}: {tried - len(survivors)} of {tried} noticed, {share:.0f} % (seed {given.seed})")
    sys.exit(1 if low else 0)


if __name__ == "__main__":
    main()
