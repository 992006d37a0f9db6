"""The same load with dlt: pyarrow batches with explicit types to Parquet files. Runs in an environment of its own.

dlt_load.py plain|tuned FOLDER OUT COLUMNS.json

`plain` is what dlt's documentation shows: one resource that yields the batches of every file. `tuned` is the best we
found: a resource per file on two threads, and isal instead of zlib.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.update(
    RUNTIME__DLTHUB_TELEMETRY="false",
    RUNTIME__LOG_LEVEL="CRITICAL",
)
if sys.argv[1] == "tuned":
    os.environ.update(EXTRACT__WORKERS="2", NORMALIZE__WORKERS="2")
sys.path.insert(0, str(Path(__file__).parent.parent))

import dlt
import pyarrow as pa
import pyarrow.csv as pacsv
from isal import igzip

from measuring.clock import Measured, measuring, report

TYPES = {"text": pa.string(), "decimal": pa.decimal128(38, 18), "timestamp": pa.timestamp("us", "UTC")}


def main(way: str, folder: str, out: str, columns_file: str) -> None:
    columns = json.loads(Path(columns_file).read_text())
    types = {header: TYPES[kind] for header, kind in columns}

    def batches(path: Path) -> Iterator[pa.RecordBatch]:
        options = pacsv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
        if way == "plain":
            yield from pacsv.open_csv(path, convert_options=options)
            return
        with igzip.open(path, "rb") as stream:
            reading = pacsv.ReadOptions(block_size=8 << 20, use_threads=False)
            yield from pacsv.open_csv(stream, read_options=reading, convert_options=options)

    def every_batch() -> Iterator[pa.RecordBatch]:
        for path in files:
            yield from batches(path)

    files = sorted(Path(folder).glob("*.csv.gz"))
    if way == "plain":
        resources = [dlt.resource(every_batch, name="costs")]
    else:
        resources = [
            dlt.resource(batches, name=f"file{number}", table_name="costs", parallelized=True)(path)
            for number, path in enumerate(files)
        ]
    pipeline = dlt.pipeline(
        "cur_load",
        destination=dlt.destinations.filesystem(bucket_url=f"file://{out}/lake"),
        dataset_name="cur",
        pipelines_dir=f"{out}/pipelines",
    )
    result = Measured()
    with measuring(result):
        pipeline.run(resources, loader_file_format="parquet")
    result.rows = pipeline.last_trace.last_normalize_info.row_counts["costs"]
    report(result)


main(*sys.argv[1:])
