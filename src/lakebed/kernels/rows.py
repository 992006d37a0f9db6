"""Rows of any source in, Parquet files of a table's schema out: what a write runs, in threads or in Spark's tasks."""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EngineError, LakebedError, SourceError
from lakebed.kernels.conform import as_type
from lakebed.kernels.facts import ExactTally
from lakebed.kernels.keys import counting
from lakebed.kernels.parquet import ParquetOutput
from lakebed.kernels.partitions import positions_by_partition
from lakebed.kernels.scan import Scan
from lakebed.kernels.slices import in_slice
from lakebed.kernels.source_rows import SourceRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.values import EXACT
from lakebed.model import Staging, WrittenFile

# What a task holds of rows that are not written yet, over all partitions that it writes.
PENDING_BYTES = 256 << 20
RESULT = "result binary"


@dataclass(frozen=True)
class RowsWritten:
    """What one task, or all of them, wrote: rows and exact sums as they arrived in the table.

    `outside` counts rows that are not of the slice; `example` is the first of them, in the columns of the slice. Where
    there is one, nothing is to be committed.
    """

    files: tuple[WrittenFile, ...] = ()
    rows: int = 0
    sums: Mapping[str, Decimal] = field(default_factory=dict)
    outside: int = 0
    example: Mapping[str, object] | None = None


@dataclass(frozen=True)
class RowsTask:
    """How rows become those of the table.

    `columns` pairs each column of the table that the source has with its place in the source; the table's others are
    NULL. `schema` has every column of the table, the staging those that lie inside files. Without a staging rows are
    checked and counted, and nothing is written.
    """

    schema: pa.Schema
    columns: tuple[tuple[str, int], ...]
    staging: Staging | None
    storage: StorageSettings
    slice: Mapping[str, object] | None = None

    def write(self, batches: Iterable[pa.RecordBatch], name: str) -> RowsWritten:
        """Writes rows as they come. Raises SourceError where a value does not fit its column."""
        delivered = dict(self.columns)
        decimals = [one.name for one in self.schema if one.name in delivered and pa.types.is_decimal(one.type)]
        tally = ExactTally(decimals, None)
        output = None if self.staging is None else PartitionedOutput(self.staging, self.storage, name)
        outside, example = 0, None
        try:
            for batch in batches:
                if not batch.num_rows:
                    continue
                rows = self._shaped(batch)
                tally.add(rows)
                if self.slice is not None:
                    strangers = rows.filter(pc.invert(in_slice(rows, self.slice)))
                    outside += strangers.num_rows
                    if example is None and strangers.num_rows:
                        example = strangers.slice(0, 1).select(list(self.slice)).to_pylist()[0]
                if output is not None and not outside:
                    output.write(rows)
            files = () if output is None else output.close()
        except BaseException:
            if output is not None:
                output.discard()
            raise
        return RowsWritten(files, tally.rows, tally.sums, outside, example)

    def _shaped(self, batch: pa.RecordBatch) -> pa.Table:
        places = dict(self.columns)
        arrays = []
        for one in self.schema:
            if one.name not in places:
                arrays.append(pa.nulls(batch.num_rows, one.type))
                continue
            try:
                arrays.append(as_type(batch.column(places[one.name]), one.type))
            except pa.ArrowException as error:
                raise SourceError(
                    f"column {one.name}: a value does not fit {one.type}: {error}",
                    remedy="Cast the column in the data, or take the value out. Nothing was written.",
                ) from error
        return pa.table(arrays, schema=self.schema)


class PartitionedOutput:
    """Rows of any partitions: those of each go into files of their own."""

    def __init__(self, staging: Staging, storage: StorageSettings, name: str) -> None:
        self._staging = staging
        self._storage = storage
        self._name = name
        self._open: dict[tuple[str | None, ...], ParquetOutput] = {}
        self._files: list[WrittenFile] = []
        self._begun = 0

    def write(self, rows: pa.Table) -> None:
        for partition, here in _by_partition(rows, self._staging.partition_by):
            key = tuple(partition.values())
            if key not in self._open:
                self._begun += 1
                self._open[key] = ParquetOutput(
                    self._staging,
                    self._storage,
                    name=f"{self._name}-{self._begun:05d}",
                    partition=partition,
                    in_folders=False,
                )
            self._open[key].write(here.select(self._staging.schema.names).cast(self._staging.schema))
        while len(self._open) > 1 and sum(one.pending_bytes for one in self._open.values()) > PENDING_BYTES:
            largest = max(self._open, key=lambda one: self._open[one].pending_bytes)
            self._files += self._open.pop(largest).close()

    def close(self) -> tuple[WrittenFile, ...]:
        for output in self._open.values():
            self._files += output.close()
        return tuple(self._files)

    def discard(self) -> None:
        for output in self._open.values():
            output.discard()


def _by_partition(rows: pa.Table, partition_by: Sequence[str]) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """The rows of each partition, with its values as text."""
    for partition, mine in positions_by_partition(SourceRows(rows), counting(rows.num_rows), partition_by):
        yield partition, rows if len(mine) == rows.num_rows else rows.take(mine)


@dataclass(frozen=True)
class FrameRows:
    """One partition of a Spark DataFrame; called by `mapInArrow`. What it wrote comes back, never a row."""

    task: RowsTask
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Attempts of one task write to different paths: `ParquetOutput` sees to it.
        result = pickle.dumps(attempt(self.task, batches, self.name))
        yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], names=["result"])


@dataclass(frozen=True)
class FileRows:
    """Every file of a source; a task writes the rows of one."""

    task: RowsTask
    scan: Scan

    def __call__(self, number: int) -> RowsWritten | LakebedError:
        return attempt(self.task, self.scan.read(self.scan.files[number]), f"{number:05d}")


def attempt(task: RowsTask, batches: Iterable[pa.RecordBatch], name: str) -> RowsWritten | LakebedError:
    """What was written, or the error as a value: an exception would be retried by Spark, and end in Java."""
    try:
        return task.write(batches, name)
    except LakebedError as error:
        return error
    except (pa.ArrowException, OSError) as error:
        return EngineError(f"the rows could not be written: {error}")


def together(parts: Sequence[RowsWritten]) -> RowsWritten:
    """What all tasks wrote."""
    sums: dict[str, Decimal] = {}
    for part in parts:
        for name, value in part.sums.items():
            sums[name] = EXACT.add(sums.get(name, Decimal(0)), value)
    return RowsWritten(
        files=tuple(file for part in parts for file in part.files),
        rows=sum(part.rows for part in parts),
        sums=sums,
        outside=sum(part.outside for part in parts),
        example=next((part.example for part in parts if part.example is not None), None),
    )
