"""How the time of a load grows with the columns: thousands of tags must not cost more each than an ordinary report's.

python benchmarks/cur_wide.py [--columns 5008] [--rows 10] [--target duckdb]

The whole pipeline on the Arrow engine, which needs no JVM: Spark's start would hide what the columns take.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import lakebed
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.spark.session import Session
from lakebed.pipeline.context import RunContext

USUAL = 250
LIMIT = 3.0  # times the seconds a column of an ordinary report


def write_bill(path: Path, columns: int, rows: int) -> None:
    """A bill of so many columns, most of them tags."""
    names = ["bill/PayerAccountId", "lineItem/UnblendedCost", *(f"resourceTags/user:{n}" for n in range(columns - 2))]
    row = ",".join(["012345678901", "0.5", *(["value"] * (columns - 2))])
    path.write_text("\n".join([",".join(names), *([row] * rows)]) + "\n")


def seconds_of_cpu(columns: int, rows: int, kind: str) -> float:
    """What loading such a bill into an empty target takes."""
    with tempfile.TemporaryDirectory(prefix="lakebed-wide-") as folder:
        bill = Path(folder) / "bill.csv"
        write_bill(bill, columns, rows)
        target = "iceberg:costs" if kind == "iceberg" else f"{kind}:{folder}/costs"
        began = time.process_time()
        done = lakebed.run(bill, target, report="wide", period="2026-10", workdir=f"{folder}/work")
        used = time.process_time() - began
    if done.failed or done.rows != rows:
        sys.exit(f"the load of {columns} columns failed: {done.to_dict()}")
    return used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=5_008)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--target", choices=("duckdb", "parquet", "iceberg"), default="duckdb")
    options = parser.parse_args()
    here = Session(None, "this process", local=True, owned=False)  # type: ignore[arg-type]
    RunContext.engine = property(lambda self: ArrowEngine(self.storage.settings))  # type: ignore[assignment,method-assign]
    RunContext.session = property(lambda self: here)  # type: ignore[assignment,method-assign]
    seconds_of_cpu(USUAL, options.rows, options.target)  # the first load of a process imports everything
    usual = min(seconds_of_cpu(USUAL, options.rows, options.target) for _ in range(3)) / USUAL
    wide = seconds_of_cpu(options.columns, options.rows, options.target) / options.columns
    ratio = wide / usual
    verdict = "within" if ratio <= LIMIT else "BEYOND"
    print(
        f"{options.target}: {wide * 1000:.2f} ms CPU a column of {options.columns:,}, "
        f"{usual * 1000:.2f} ms of {USUAL}: {ratio:.2f} times as long, {verdict} {LIMIT:.0f}"
    )
    raise SystemExit(0 if ratio <= LIMIT else 1)


if __name__ == "__main__":
    main()
