"""How long `lakebed plan` takes for a manifest of many files.

python benchmarks/cur_plan.py [--files 10000] [--runs 3]

One delivery of tiny files, discovered, its manifest matched with the listing, its header read, its schema planned: all
that a run does before the first byte is copied. On a disk; of an object store the listing's pages come on top.
"""

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path

import lakebed

LIMIT_SECONDS = 5.0
COLUMNS = 250
PERIOD = "20261001-20261101"
ASSEMBLY = "20261103T053622Z"


def deliver(bucket: Path, files: int) -> None:
    """A CUR delivery of so many files and 250 columns."""
    folder = bucket / "billing" / "report" / PERIOD / ASSEMBLY
    folder.mkdir(parents=True)
    columns = [
        {"category": "identity", "name": "LineItemId", "type": "String"},
        {"category": "lineItem", "name": "UnblendedCost", "type": "BigDecimal"},
        *({"category": "resourceTags", "name": f"user:tag{n}", "type": "String"} for n in range(COLUMNS - 2)),
    ]
    header = ",".join(f"{column['category']}/{column['name']}" for column in columns)
    packed = gzip.compress(f"{header}\na,1{',' * (COLUMNS - 2)}\n".encode())
    keys = []
    for number in range(1, files + 1):
        path = folder / f"report-{number:05d}.csv.gz"
        path.write_bytes(packed)
        keys.append(str(path.relative_to(bucket)))
    manifest = {
        "assemblyId": ASSEMBLY,
        "account": "111122223333",
        "columns": columns,
        "compression": "GZIP",
        "contentType": "text/csv",
        "reportName": "report",
        "billingPeriod": {"start": "20261001T000000.000Z", "end": "20261101T000000.000Z"},
        "bucket": "bills",
        "reportKeys": keys,
    }
    (folder / "report-Manifest.json").write_text(json.dumps(manifest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakebed-plan-") as folder:
        bucket = Path(folder) / "bucket"
        deliver(bucket, options.files)
        times = []
        for number in range(options.runs):
            started, used = time.perf_counter(), time.process_time()
            planned = lakebed.plan(str(bucket), f"duckdb:{folder}/{number}", workdir=f"{folder}/work")
            times.append((time.perf_counter() - started, time.process_time() - used))
            [one] = planned.deliveries
            assert one.evolution is not None
            assert (one.action, len(one.delivery.files)) == ("load", options.files)
    wall, cpu = min(times)
    verdict = "within" if wall <= LIMIT_SECONDS else "BEYOND"
    print(
        f"plan of a manifest with {options.files:,} files and {COLUMNS} columns: {wall:.2f} s "
        f"({cpu:.2f} s CPU; best of {options.runs}), {verdict} {LIMIT_SECONDS:.0f} s"
    )
    raise SystemExit(0 if wall <= LIMIT_SECONDS else 1)


if __name__ == "__main__":
    main()
