"""Writes tables as immutable Parquet files: row groups of bounded size, new files when one grows large."""

import uuid
from collections.abc import Mapping
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Bounds, Staging, WrittenFile

# A row group is what a task holds in memory: up to a million narrow rows, or some ninety thousand of 250 columns.
ROW_GROUP_BYTES = 96 << 20
ROW_GROUP_ROWS = 1 << 20
FILE_BYTES = 256 << 20
# Measured on CUR files: a quarter smaller than snappy for a fifteenth more time.
COMPRESSION = "zstd"
# A column of which most of the first values are distinct gets no dictionary: it would be built and thrown away, which
# costs a quarter of the writing of a CUR.
_SAMPLE_ROWS = 4096
_DISTINCT_SHARE = 0.5
# How Hive, Spark and DuckDB write NULL into a path.
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


class ParquetOutput:
    """Collects tables and writes them below one partition of the staging. Nothing exists until `close` returns it."""

    def __init__(
        self,
        staging: Staging,
        storage: StorageSettings,
        *,
        name: str,
        partition: Mapping[str, str | None],
        in_folders: bool = True,
        compression: str = COMPRESSION,
        file_bytes: int | None = None,
    ) -> None:
        """`in_folders` False leaves the partition out of the paths, which are the target's to choose."""
        self._staging = staging
        self._compression = compression
        self._file_bytes = FILE_BYTES if file_bytes is None else file_bytes
        self._storage = storage
        self._name = name
        self._partition = partition
        self._subfolder = "".join(
            f"{quote(column)}={_NULL_PARTITION if value is None else quote(value, safe=' ')}/"
            for column, value in (partition if in_folders else {}).items()
        )
        # Attempts of one task, speculative ones too, must never write to one path.
        self._attempt = uuid.uuid4().hex[:12]
        self._pending: list[pa.Table] = []
        self.pending_bytes = 0
        self._pending_rows = 0
        self._open: _OpenFile | None = None
        self._files: list[WrittenFile] = []

    def write(self, rows: pa.Table) -> None:
        """Takes rows of the staging's schema."""
        if rows.num_rows == 0:
            return
        self._pending.append(rows)
        self.pending_bytes += rows.nbytes
        self._pending_rows += rows.num_rows
        if self.pending_bytes >= ROW_GROUP_BYTES or self._pending_rows >= ROW_GROUP_ROWS:
            self._write_row_group()

    def close(self) -> tuple[WrittenFile, ...]:
        """Writes what is left and returns every file; no rows, no file."""
        self._write_row_group()
        self._finish_file()
        return tuple(self._files)

    def discard(self) -> None:
        """Closes a half-written file; the sweep of the staging folder removes it."""
        self._pending.clear()
        if self._open is not None:
            self._open.sink.close()
            self._open = None

    def _write_row_group(self) -> None:
        if not self._pending:
            return
        table = pa.concat_tables(self._pending)
        self._pending.clear()
        self.pending_bytes = self._pending_rows = 0
        if self._open is None:
            path = f"{self._subfolder}part-{self._name}-{len(self._files):03d}-{self._attempt}.parquet"
            self._open = _OpenFile(self._staging, self._storage, path, table, self._compression)
        self._open.writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        if self._open.sink.tell() >= self._file_bytes:
            self._finish_file()

    def _finish_file(self) -> None:
        if self._open is not None:
            self._files.append(self._open.close(self._partition))
            self._open = None


class _OpenFile:
    def __init__(
        self, staging: Staging, storage: StorageSettings, path: str, first: pa.Table, compression: str
    ) -> None:
        self.path = path
        opened, full_path = filesystem(f"{staging.folder.rstrip('/')}/{path}", storage)
        if isinstance(opened, pafs.LocalFileSystem):
            opened.create_dir(full_path.rpartition("/")[0], recursive=True)
        self.sink = opened.open_output_stream(full_path)
        self.metadata: list[pq.FileMetaData] = []
        self.writer = pq.ParquetWriter(
            self.sink,
            staging.schema,
            compression=compression,
            use_dictionary=repeating_columns(first),
            store_decimal_as_integer=True,
            metadata_collector=self.metadata,
        )

    def close(self, partition: Mapping[str, str | None]) -> WrittenFile:
        self.writer.close()
        size_bytes = self.sink.tell()
        self.sink.close()
        (metadata,) = self.metadata
        return WrittenFile(self.path, metadata.num_rows, size_bytes, dict(partition), column_bounds(metadata))


def repeating_columns(first: pa.Table | pa.RecordBatch) -> list[str]:
    """The Parquet columns worth a dictionary: those whose values repeat in the first rows, and all inside of others."""
    sample = first.slice(0, _SAMPLE_ROWS)
    found: list[str] = []
    for field, column in zip(sample.schema, sample.columns, strict=True):
        if pa.types.is_nested(field.type):
            found += _leaves(field.name, field.type)
            continue
        valid = len(column) - column.null_count
        if pc.count_distinct(column, mode="only_valid").as_py() <= max(1, valid * _DISTINCT_SHARE):
            found.append(field.name)
    return found


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """What Parquet calls the columns inside of a nested one."""
    if pa.types.is_map(kind):
        inner = {"key_value.key": kind.key_type, "key_value.value": kind.item_type}
    elif pa.types.is_struct(kind):
        inner = {field.name: field.type for field in kind}
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = {"list.element": kind.value_type}
    else:
        return [path]
    return [leaf for name, type_ in inner.items() for leaf in _leaves(f"{path}.{name}", type_)]


def column_bounds(metadata: pq.FileMetaData) -> dict[str, Bounds]:
    """Minimum, maximum and NULLs of each flat column, from the statistics of its row groups."""
    found: dict[str, Bounds] = {}
    for position in range(metadata.num_columns):
        described = metadata.schema.column(position)
        if "." in described.path and described.path != described.name:
            continue
        statistics = [metadata.row_group(group).column(position).statistics for group in range(metadata.num_row_groups)]
        if not statistics or any(one is None for one in statistics):
            continue
        nulls = [one.null_count for one in statistics if one.has_null_count]
        total = sum(nulls) if len(nulls) == len(statistics) else None
        valued = [one for one in statistics if one.num_values]
        if all(one.has_min_max for one in valued):
            lows = [one.min for one in valued]
            highs = [one.max for one in valued]
            found[described.path] = Bounds(min(lows, default=None), max(highs, default=None), total)
        else:
            found[described.path] = Bounds(None, None, total)
    return found
