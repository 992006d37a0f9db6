"""Writes rows that are new in a table, partition by partition."""

import pyarrow as pa

from lakebed.kernels.conform import conform
from lakebed.kernels.keys import counting
from lakebed.kernels.merge import Rules
from lakebed.kernels.merge_files import Sink, at_once
from lakebed.kernels.partitions import positions_by_partition
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import WrittenFile


def write_rows(
    rows: pa.Table,
    positions: pa.Array | None,
    rules: Rules,
    *,
    folder: str,
    name: str,
    storage: StorageSettings,
    codec: str = "zstd",
    rows_per_file: int = 5_000_000,
) -> list[WrittenFile]:
    """Writes the rows at these positions, or all, as new files, one partition after the other."""
    chosen = counting(rows.num_rows) if positions is None else positions
    step = at_once(rules.schema)
    written = []
    for number, (partition, mine) in enumerate(positions_by_partition(rows, chosen, rules.partition_by)):
        for start in range(0, len(mine), rows_per_file):
            part = f"{name}-{number:05d}-{start // rows_per_file:05d}.parquet"
            sink = Sink(folder, part, rules.physical, storage, codec)
            for begin in range(start, min(start + rows_per_file, len(mine)), step):
                taken = rows.take(mine.slice(begin, min(step, start + rows_per_file - begin))).combine_chunks()
                columns = [_one_chunk(column) for column in taken.columns]
                arrays = conform(taken.schema, columns, rules.schema, taken.num_rows, by_id=False)
                sink.write(pa.RecordBatch.from_arrays(arrays, schema=rules.schema))
            if (done := sink.close(partition)) is not None:
                written.append(done)
    return written


def _one_chunk(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
