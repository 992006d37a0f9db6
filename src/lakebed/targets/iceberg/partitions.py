"""Files and the partitions of a table: every file belongs to one, whichever transforms the table is partitioned by.

Engines write a file for each value of a column that is a partition by itself. Of other transforms (months, buckets,
shortened text), and of a spec that another engine changed since, they know nothing: a file of theirs that spans several
partitions is split here, before it is committed.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import UnknownTransform, VoidTransform
from pyiceberg.typedef import Record

from lakebed.errors import TargetError
from lakebed.kernels.columns import FIELD_ID
from lakebed.model import WrittenFile
from lakebed.storage import join
from lakebed.targets.iceberg.files import describe

# Each open file holds a row group in memory.
OPEN_FILES = 64


def describe_by_partition(
    files: Sequence[WrittenFile], *, folder: str, schema: pa.Schema, metadata: TableMetadata, io: FileIO
) -> list[IcebergFile]:
    """Iceberg's account of new files, of which those that span several partitions are split first.

    The parts have the same names each time; what was split lies beside them until `remove_split` is told to go.
    """
    described = describe(files, folder=folder, schema=schema, metadata=metadata, io=io)
    done: list[IcebergFile] = []
    for file, found in zip(files, described, strict=True):
        if found is not None:
            done.append(found)
            continue
        parts = split_file(file, folder=folder, spec=metadata.spec(), schema=metadata.schema(), io=io)
        whole = describe(
            [part for part, _ in parts],
            folder=folder,
            schema=schema,
            metadata=metadata,
            io=io,
            partitions={part.path: partition for part, partition in parts},
        )
        done += [part for part in whole if part is not None]
    return done


def remove_split(files: Sequence[WrittenFile], committed: Sequence[IcebergFile], *, folder: str, io: FileIO) -> None:
    """Removes the files that were committed in parts."""
    used = {file.file_path for file in committed}
    for file in files:
        if (uri := join(folder, file.path)) not in used:
            io.delete(uri)


def split_file(
    file: WrittenFile, *, folder: str, spec: PartitionSpec, schema: IcebergSchema, io: FileIO
) -> list[tuple[WrittenFile, Record]]:
    """The rows of a file in files of their own, one for each partition, and more where these are too many at once."""
    stem = file.path.removesuffix(".parquet")
    parts: list[tuple[WrittenFile, Record]] = []
    with io.new_input(join(folder, file.path)).open() as stream:
        source = pq.ParquetFile(stream)
        batches = source.iter_batches()
        waiting = next(batches, None)
        while waiting is not None:
            with _Parts(folder, stem, len(parts), source.schema_arrow, io) as open_parts:
                while waiting is not None and open_parts.have_room:
                    for partition, rows in partitions_of(waiting, spec, schema):
                        open_parts.write(partition, rows)
                    waiting = next(batches, None)
            parts += open_parts.written()
    return parts


class _Parts(ExitStack):
    """Files that are being written, one for each partition."""

    def __init__(self, folder: str, stem: str, first: int, schema: pa.Schema, io: FileIO) -> None:
        super().__init__()
        self._folder, self._stem, self._first, self._schema, self._io = folder, stem, first, schema, io
        self._open: dict[Record, tuple[str, pq.ParquetWriter]] = {}
        self._rows: dict[Record, int] = {}

    @property
    def have_room(self) -> bool:
        return len(self._open) < OPEN_FILES

    def write(self, partition: Record, rows: pa.Table) -> None:
        if partition not in self._open:
            path = f"{self._stem}-part-{self._first + len(self._open):05d}.parquet"
            stream = self.enter_context(self._io.new_output(join(self._folder, path)).create(overwrite=True))
            writer = self.enter_context(pq.ParquetWriter(stream, self._schema, compression="zstd"))
            self._open[partition] = (path, writer)
        self._open[partition][1].write_table(rows)
        self._rows[partition] = self._rows.get(partition, 0) + rows.num_rows

    def written(self) -> list[tuple[WrittenFile, Record]]:
        return [
            (
                WrittenFile(path, self._rows[partition], len(self._io.new_input(join(self._folder, path)))),
                partition,
            )
            for partition, (path, _) in self._open.items()
        ]


def partitions_of(
    batch: pa.RecordBatch, spec: PartitionSpec, schema: IcebergSchema
) -> Iterator[tuple[Record, pa.Table]]:
    """The rows of a batch by the partition that they belong to."""
    rows = pa.Table.from_batches([batch])
    keys = [_transformed(rows, field, schema) for field in spec.fields]
    names = [str(position) for position in range(len(keys))]
    numbered = pa.table([*(codes for codes, _ in keys), pa.array(range(rows.num_rows), pa.int64())], [*names, "row"])
    for group in numbered.group_by(names).aggregate([("row", "list")]).to_pylist():
        values = [known[group[name]] for name, (_, known) in zip(names, keys, strict=True)]
        yield Record(*values), rows.take(pa.array(group["row_list"], pa.int64()))


def _transformed(rows: pa.Table, field: PartitionField, schema: IcebergSchema) -> tuple[pa.Array, list[Any]]:
    """Of every row the number of its value under the field's transform, and the values by number."""
    if isinstance(field.transform, VoidTransform):
        return pa.array([0] * rows.num_rows, pa.int32()), [None]
    if isinstance(field.transform, UnknownTransform):
        raise TargetError(
            f"the table is partitioned by {field.name} with the transform {field.transform}, which is not known here",
            remedy="Write to it with the engine that partitioned it.",
        )
    encoded = _as_stored(_column(rows, field.source_id)).dictionary_encode()
    apply = field.transform.transform(schema.find_field(field.source_id).field_type)
    numbers: dict[Any, int] = {}
    # The last of these is where NULL goes.
    by_value = [numbers.setdefault(apply(value), len(numbers)) for value in [*encoded.dictionary.to_pylist(), None]]
    places = encoded.indices.fill_null(len(by_value) - 1)
    return pa.array(by_value, pa.int32()).take(places), list(numbers)


def _column(rows: pa.Table, field_id: int) -> pa.Array:
    """A column, or a field inside a struct, by its field id."""
    for position, field in enumerate(rows.schema):
        if (path := _path_to(field, field_id)) is not None:
            found = rows.column(position).combine_chunks()
            return pc.struct_field(found, path) if path else found
    return pa.nulls(rows.num_rows)


def _path_to(field: pa.Field, field_id: int) -> list[int] | None:
    """The positions by which a field is reached from here; none where it is this one, None where it is not inside."""
    if int((field.metadata or {}).get(FIELD_ID, -1)) == field_id:
        return []
    if pa.types.is_struct(field.type):
        for position in range(field.type.num_fields):
            if (path := _path_to(field.type.field(position), field_id)) is not None:
                return [position, *path]
    return None


def _as_stored(values: pa.Array) -> pa.Array:
    """Moments as the numbers that Iceberg's transforms take."""
    kind = values.type
    if pa.types.is_date(kind):
        return values.cast(pa.date32()).cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return values.cast(pa.timestamp(kind.unit)).cast(pa.int64())
    if pa.types.is_time(kind):
        return values.cast(pa.int64())
    return values
