"""The same load with dlt: pyarrow batches with explicit types to Parquet files. Runs in an environment of its own.

dlt_load.py FOLDER OUT COLUMNS.json
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.update(
    RUNTIME__DLTHUB_TELEMETRY="false",
    RUNTIME__LOG_LEVEL="CRITICAL",
    EXTRACT__WORKERS="2",
    NORMALIZE__WORKERS="2",
    NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID="false",
)
sys.path.insert(0, str(Path(__file__).parent.parent))

import dlt
import pyarrow as pa
import pyarrow.csv as pacsv
from isal import igzip

from measuring.clock import Measured, measuring, report

TYPES = {"text": pa.string(), "decimal": pa.decimal128(38, 18), "timestamp": pa.timestamp("us", "UTC")}


def main(folder: str, out: str, columns_file: str) -> None:
    columns = json.loads(Path(columns_file).read_text())
    types = {header: TYPES[kind] for header, kind in columns}

    def batches(path: Path) -> Iterator[pa.RecordBatch]:
        with igzip.open(path, "rb") as stream:
            yield from pacsv.open_csv(
                stream,
                read_options=pacsv.ReadOptions(block_size=8 << 20, use_threads=False),
                convert_options=pacsv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""]),
            )

    files = sorted(Path(folder).glob("*.csv.gz"))
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
