"""Data files in, rows in the table's present schema out: columns by field id or name, deleted rows left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import ScanFile

_FIELD_ID = b"PARQUET:field_id"
_BATCH_ROWS = 1 << 15


@dataclass(frozen=True)
class Scan:
    """Every file of a read; a task reads one. Called by `mapInArrow`."""

    files: tuple[ScanFile, ...]
    schema: pa.Schema
    by_field_id: bool
    storage: StorageSettings

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.read(self.files[number])

    def read(self, file: ScanFile) -> Iterator[pa.RecordBatch]:
        """The rows of one file."""
        deleted = self._deleted(file)
        opened, path = filesystem(file.uri, self.storage)
        with opened.open_input_file(path) as raw:
            parquet = pq.ParquetFile(raw)
            found = {field.name: _match(field, list(parquet.schema_arrow), self.by_field_id) for field in self.schema}
            names = [field.name for field in found.values() if field is not None]
            offset = 0
            # Where no column of the file is asked for, one is read all the same: rows without columns have no count.
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=names or parquet.schema_arrow.names[:1]):
                rows, offset = _without(batch, offset, deleted), offset + batch.num_rows
                if rows.num_rows:
                    yield self._shaped(rows, found, file.partition)

    def _shaped(
        self, rows: pa.RecordBatch, found: Mapping[str, pa.Field | None], constants: Mapping[str, str | None]
    ) -> pa.RecordBatch:
        columns = []
        for field in self.schema:
            source = found[field.name]
            if source is not None:
                columns.append(_adapt(rows.column(source.name), source, field, self.by_field_id))
            elif constants.get(field.name) is not None:
                columns.append(pa.repeat(constants[field.name], rows.num_rows).cast(field.type))
            else:
                columns.append(pa.nulls(rows.num_rows, field.type))
        return pa.RecordBatch.from_arrays(columns, names=self.schema.names)

    def _deleted(self, file: ScanFile) -> pa.Array | None:
        positions = []
        for uri in file.deletes:
            opened, path = filesystem(uri, self.storage)
            with opened.open_input_file(path) as raw:
                marks = pq.read_table(raw, columns=["file_path", "pos"])
            positions.append(marks.filter(pc.equal(marks["file_path"], file.uri))["pos"])
        chunks = [chunk for column in positions for chunk in column.chunks]
        return pa.concat_arrays(chunks) if chunks else None


def _without(batch: pa.RecordBatch, offset: int, deleted: pa.Array | None) -> pa.RecordBatch:
    if deleted is None:
        return batch
    positions = pa.array(range(offset, offset + batch.num_rows), pa.int64())
    return batch.filter(pc.invert(pc.is_in(positions, deleted)))


def _match(field: pa.Field, candidates: list[pa.Field], by_field_id: bool) -> pa.Field | None:
    for candidate in candidates:
        if by_field_id and _id(candidate) is not None:
            if _id(candidate) == _id(field):
                return candidate
        elif candidate.name.casefold() == field.name.casefold():
            return candidate
    return None


def _id(field: pa.Field) -> bytes | None:
    return (field.metadata or {}).get(_FIELD_ID)


def _adapt(values: pa.Array, source: pa.Field, target: pa.Field, by_field_id: bool) -> pa.Array:
    """Values in the target's type: wider, and with NULL for fields of structs that the file does not have."""
    if values.type == target.type:
        return values
    if pa.types.is_struct(target.type):
        inner = [source.type.field(index) for index in range(source.type.num_fields)]
        fields = [target.type.field(index) for index in range(target.type.num_fields)]
        children = []
        for field in fields:
            match = _match(field, inner, by_field_id)
            if match is None:
                children.append(pa.nulls(len(values), field.type))
            else:
                child = pc.struct_field(values, inner.index(match))
                children.append(_adapt(child, match, field, by_field_id))
        return pa.StructArray.from_arrays(children, fields=fields, mask=values.is_null())
    if pa.types.is_list(target.type):
        items = _adapt(values.values, source.type.value_field, target.type.value_field, by_field_id)
        return pa.ListArray.from_arrays(values.offsets, items, type=target.type, mask=values.is_null())
    return values.cast(target.type)
