"""Data files in, rows in the table's present schema out: columns by field id or name, deleted rows left out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.kernels.columns import find_columns
from lakebed.kernels.conform import conform
from lakebed.kernels.equality import read_marks, with_compared, without_marked
from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import ScanFile

_BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class Scan:
    """Every file of a read; a task reads one. Called by `mapInArrow`."""

    files: tuple[ScanFile, ...]
    schema: pa.Schema
    storage: StorageSettings

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.read(self.files[number])

    def read(self, file: ScanFile) -> Iterator[pa.RecordBatch]:
        """The rows of one file."""
        return read_rows(file, self.schema, self._open)

    def _open(self, uri: str) -> pa.NativeFile:
        opened, path = filesystem(uri, self.storage)
        return opened.open_input_file(path)


def read_rows(file: ScanFile, schema: pa.Schema, open_: Callable[[str], Any]) -> Iterator[pa.RecordBatch]:
    """The rows of one file in the schema; `open_` opens it and the files in which others deleted rows of it."""
    deleted = _deleted(file, open_)
    marks = read_marks(file.equality, open_)
    compared = with_compared(schema, marks)
    with open_(file.uri) as raw:
        parquet = pq.ParquetFile(raw)
        present = parquet.schema_arrow
        places = [place for place in find_columns(compared, present) if place is not None]
        known = present.names
        names = [known[place] for place in sorted(places)]
        offset = 0
        # Where no column of the file is asked for, one is read all the same: rows without columns have no count.
        for batch in parquet.iter_batches(_BATCH_ROWS, columns=names or known[:1]):
            rows, offset = _without(batch, offset, deleted), offset + batch.num_rows
            if not rows.num_rows:
                continue
            columns = without_marked(_shaped(rows, compared, file.partition), compared, marks)
            if not columns or len(columns[0]):
                yield pa.RecordBatch.from_arrays(columns[: len(schema)], names=schema.names)


def _shaped(rows: pa.RecordBatch, schema: pa.Schema, constants: Mapping[str, str | None]) -> list[pa.Array]:
    columns = conform(rows.schema, rows.columns, schema, rows.num_rows, by_id=True)
    places = find_columns(schema, rows.schema)
    for number, (field, place) in enumerate(zip(schema, places, strict=True)):
        if place is None and constants.get(field.name) is not None:
            columns[number] = pa.repeat(constants[field.name], rows.num_rows).cast(field.type)
    return columns


def _deleted(file: ScanFile, open_: Callable[[str], Any]) -> pa.Array | None:
    positions = []
    for uri in file.deletes:
        with open_(uri) as raw:
            marks = pq.read_table(raw, columns=["file_path", "pos"])
        positions.append(marks.filter(pc.equal(marks["file_path"], file.uri))["pos"])
    chunks = [chunk for column in positions for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else None


def _without(batch: pa.RecordBatch, offset: int, deleted: pa.Array | None) -> pa.RecordBatch:
    if deleted is None:
        return batch
    positions = pa.array(range(offset, offset + batch.num_rows), pa.int64())
    return batch.filter(pc.invert(pc.is_in(positions, deleted)))
