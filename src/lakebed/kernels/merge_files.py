"""New Parquet files of a merge, and how files are opened: a batch or a row group at a time is in memory."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from lakebed.kernels.files import filesystem
from lakebed.kernels.parquet import repeating_columns
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import WrittenFile

BATCH_ROWS = 131_072
# And at most that many values, so that a batch of very many columns is no larger than one of few.
BATCH_VALUES = 2_097_152
# Batches of fewer rows are collected until they make a row group of that many bytes.
ROW_GROUP_BYTES = 32 << 20


class Sink:
    """One new Parquet file, opened when its first rows come."""

    def __init__(
        self, folder: str, name: str, schema: pa.Schema, storage: StorageSettings, codec: str = "zstd"
    ) -> None:
        self.name = name
        self._schema = schema
        self._codec = codec
        self._files, inner = filesystem(folder, storage)
        self._path = f"{inner.rstrip('/')}/{name}"
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self.waiting_bytes = 0
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            rows = pa.RecordBatch.from_arrays([batch.column(field.name) for field in self._schema], schema=self._schema)
            self._waiting.append(rows)
            self._waiting_rows += batch.num_rows
            self.waiting_bytes += batch.nbytes
            self.rows += batch.num_rows
            if self._waiting_rows >= BATCH_ROWS or self.waiting_bytes >= ROW_GROUP_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes the rows that wait as a row group."""
        if self._waiting:
            rows = pa.Table.from_batches(self._waiting)
            self._waiting, self._waiting_rows, self.waiting_bytes = [], 0, 0
            self._open(rows).write_table(rows, row_group_size=rows.num_rows)

    def close(self, partition: Mapping[str, str | None]) -> WrittenFile | None:
        self.flush()
        if self._writer is None:
            return None
        self._writer.close()
        size = self._files.get_file_info(self._path).size
        return WrittenFile(self.name, self.rows, size, partition)

    def discard(self) -> None:
        self._waiting.clear()
        if self._writer is not None:
            self._writer.close()
            self._files.delete_file(self._path)

    def _open(self, first: pa.RecordBatch | pa.Table) -> pq.ParquetWriter:
        if self._writer is None:
            if isinstance(self._files, pafs.LocalFileSystem):
                self._files.create_dir(self._path.rpartition("/")[0], recursive=True)
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                filesystem=self._files,
                compression=self._codec,
                use_dictionary=repeating_columns(first),
                store_decimal_as_integer=True,
            )
        return self._writer


def open_parquet(uri: str, storage: StorageSettings) -> pq.ParquetFile:
    files, path = filesystem(uri, storage)
    local = isinstance(files, pafs.LocalFileSystem)
    return pq.ParquetFile(path, filesystem=files, memory_map=local, pre_buffer=not local)


def at_once(schema: pa.Schema) -> int:
    """How many rows of this schema are worked on together."""
    return max(1, min(BATCH_ROWS, BATCH_VALUES // max(1, len(schema))))


def codec_of(uri: str | None, storage: StorageSettings) -> str:
    """The codec of a file, which what replaces it keeps."""
    if uri is None:
        return "zstd"
    with open_parquet(uri, storage) as reader:
        metadata = reader.metadata
        if not metadata.num_row_groups or not metadata.num_columns:
            return "zstd"
        name = str(metadata.row_group(0).column(0).compression).lower()
    return {"uncompressed": "none"}.get(name, name)
