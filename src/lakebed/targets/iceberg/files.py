"""Data files between Parquet footers, Iceberg manifests and our own values.

PyIceberg reads one footer in some twenty milliseconds; a delivery may have a thousand files of hundreds of columns, so
the facts are taken from the footers here, several at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)
from pyiceberg.utils.truncate import truncate_upper_bound_binary_string, truncate_upper_bound_text_string

from lakebed.errors import TargetError
from lakebed.kernels.columns import FIELD_ID
from lakebed.model import RESERVED_COLUMNS, Bounds, DataFile, WrittenFile
from lakebed.storage import is_local, join

# Iceberg's own default for text; our columns are kept whole, because they say what a file holds.
TEXT_BOUND_LENGTH = 16

# Footers wait for storage, not for the processor.
FOOTERS_AT_ONCE = 16


@dataclass(slots=True)
class _Leaf:
    """What the row groups of one file say of one column."""

    type: Any  # a primitive type of Iceberg
    whole: bool
    size: int = 0
    values: int = 0
    nulls: int | None = 0
    minimum: Any = None
    maximum: Any = None
    bounded: bool = True  # False as soon as one row group with values has no minimum and maximum


@dataclass(frozen=True)
class _Layout:
    """Which field of the table each leaf column of a file is; None inside lists and maps, which have no bounds.

    Files of one job have one layout, and working it out costs more than the rest of a footer.
    """

    parquet: pq.ParquetSchema
    columns: tuple[tuple[int, Any, bool] | None, ...]  # field id, type, and whether its bounds are kept whole

    @classmethod
    def of(cls, uri: str, parquet: pq.ParquetSchema, expected: Mapping[str, int], schema: IcebergSchema) -> "_Layout":
        _require_ids(uri, parquet.to_arrow_schema(), expected)
        columns: list[tuple[int, Any, bool] | None] = []
        for position in range(len(parquet)):
            column = parquet.column(position)
            if column.max_repetition_level > 0:
                columns.append(None)
                continue
            field = schema.find_field(column.path)
            columns.append((field.field_id, field.field_type, column.path in RESERVED_COLUMNS))
        return cls(parquet, tuple(columns))


def describe(
    files: Sequence[WrittenFile],
    *,
    folder: str,
    schema: pa.Schema,
    metadata: TableMetadata,
    io: FileIO,
    partitions: Mapping[str, Record] | None = None,
) -> list[IcebergFile | None]:
    """Iceberg's account of new files, or None for one that holds rows of several partitions.

    `partitions` has those of files, by path, whose bounds need not say it. Raises TargetError where a file is not what
    its engine said, or lacks field ids.
    """
    if not files:
        return []
    iceberg, spec = metadata.schema(), metadata.spec()
    expected = field_ids(schema)
    first = join(folder, files[0].path)
    usual = _Layout.of(first, _footer(first, io).schema, expected, iceberg)

    def one(file: WrittenFile) -> IcebergFile | None:
        uri = join(folder, file.path)
        footer = _footer(uri, io)
        if footer.num_rows != file.rows:
            raise TargetError(f"{uri} holds {footer.num_rows} rows, and its engine said {file.rows}")
        same = footer.schema.equals(usual.parquet)
        layout = usual if same else _Layout.of(uri, footer.schema, expected, iceberg)
        leaves, offsets = _leaves(footer, layout)
        known = (partitions or {}).get(file.path)
        partition = _partition(spec, leaves) if known is None else known
        if partition is None:
            return None
        return _describe(uri, file.size_bytes, footer.num_rows, leaves, offsets, partition, spec)

    # Footers of a local disk come as fast as they parse, and parsing holds Python's lock.
    if is_local(folder):
        return list(map(one, files))
    with ThreadPoolExecutor(FOOTERS_AT_ONCE, thread_name_prefix="footers") as pool:
        return list(pool.map(one, files))


def _footer(uri: str, io: FileIO) -> pq.FileMetaData:
    with io.new_input(uri).open() as stream:
        return pq.read_metadata(stream)


def field_ids(schema: pa.Schema) -> dict[str, int]:
    """Dotted path -> field id of every field, nested ones included; fields without an id have -1."""
    found: dict[str, int] = {}
    for field in schema:
        _collect_ids(field, "", found)
    return found


def _collect_ids(field: pa.Field, prefix: str, found: dict[str, int]) -> None:
    path = f"{prefix}{field.name}"
    found[path] = int((field.metadata or {}).get(FIELD_ID, -1))
    kind = field.type
    if pa.types.is_struct(kind):
        children = [kind.field(index) for index in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        children = [kind.key_field, kind.item_field]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        children = [kind.value_field]
    else:
        return
    for child in children:
        _collect_ids(child, f"{path}.", found)


def _describe(
    uri: str,
    size_bytes: int,
    rows: int,
    leaves: Mapping[int, _Leaf],
    offsets: list[int],
    partition: Record,
    spec: PartitionSpec,
) -> IcebergFile:
    data_file = IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=uri,
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=rows,
        file_size_in_bytes=size_bytes,
        column_sizes={field_id: leaf.size for field_id, leaf in leaves.items()},
        value_counts={field_id: leaf.values for field_id, leaf in leaves.items()},
        null_value_counts={field_id: leaf.nulls for field_id, leaf in leaves.items() if leaf.nulls is not None},
        nan_value_counts={},
        lower_bounds={key: bound for key, leaf in leaves.items() if (bound := _lower(leaf)) is not None},
        upper_bounds={key: bound for key, leaf in leaves.items() if (bound := _upper(leaf)) is not None},
        key_metadata=None,
        split_offsets=offsets,
        equality_ids=None,
        sort_order_id=None,
    )
    data_file.spec_id = spec.spec_id
    return data_file


def _require_ids(uri: str, schema: pa.Schema, expected: Mapping[str, int]) -> None:
    for path, field_id in field_ids(schema).items():
        if expected.get(path) != field_id:
            raise TargetError(
                f"{uri} has the column {path} with field id {field_id}, and the table has {expected.get(path)}",
                remedy="Files for Iceberg are written in the schema of their staging.",
            )


def _leaves(footer: pq.FileMetaData, layout: _Layout) -> tuple[dict[int, _Leaf], list[int]]:
    by_position = [None if column is None else _Leaf(column[1], column[2]) for column in layout.columns]
    offsets = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        first = group.column(0)
        offsets.append(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)
        for position, leaf in enumerate(by_position):
            if leaf is not None:
                _add(leaf, group.column(position))
    leaves = {
        column[0]: leaf
        for column, leaf in zip(layout.columns, by_position, strict=True)
        if column is not None and leaf is not None
    }
    return leaves, sorted(offsets)


def _add(leaf: _Leaf, chunk: pq.ColumnChunkMetaData) -> None:
    leaf.size += chunk.total_compressed_size
    leaf.values += chunk.num_values
    statistics = chunk.statistics
    if statistics is None or not statistics.has_null_count:
        leaf.nulls = None
        leaf.bounded = leaf.bounded and chunk.num_values == 0
    else:
        nulls = statistics.null_count
        leaf.nulls = None if leaf.nulls is None else leaf.nulls + nulls
        if nulls == chunk.num_values:
            return
    if statistics is None or not statistics.has_min_max:
        leaf.bounded = False
        return
    minimum, maximum = statistics.min, statistics.max
    if isinstance(leaf.type, DecimalType) and not isinstance(minimum, Decimal):
        minimum = Decimal(statistics.min_raw).scaleb(-leaf.type.scale)
        maximum = Decimal(statistics.max_raw).scaleb(-leaf.type.scale)
    leaf.minimum = minimum if leaf.minimum is None else min(leaf.minimum, minimum)
    leaf.maximum = maximum if leaf.maximum is None else max(leaf.maximum, maximum)


def _lower(leaf: _Leaf) -> bytes | None:
    if not leaf.bounded or leaf.minimum is None:
        return None
    value = leaf.minimum
    if not leaf.whole and isinstance(value, str | bytes):
        value = value[:TEXT_BOUND_LENGTH]
    return to_bytes(leaf.type, value)


def _upper(leaf: _Leaf) -> bytes | None:
    if not leaf.bounded or leaf.maximum is None:
        return None
    value = leaf.maximum
    if not leaf.whole and isinstance(value, str) and len(value) > TEXT_BOUND_LENGTH:
        value = truncate_upper_bound_text_string(value, TEXT_BOUND_LENGTH)
    elif isinstance(value, bytes) and len(value) > TEXT_BOUND_LENGTH:
        value = truncate_upper_bound_binary_string(value, TEXT_BOUND_LENGTH)
    return None if value is None else to_bytes(leaf.type, value)


def _partition(spec: PartitionSpec, leaves: Mapping[int, _Leaf]) -> Record | None:
    """The partition of a file by what its footer says; None where it may span several."""
    try:
        return Record(*(_partition_value(field, leaves.get(field.source_id)) for field in spec.fields))
    except _Spans:
        return None


class _Spans(Exception):
    """A file may hold rows of several partitions."""


def _partition_value(field: PartitionField, leaf: _Leaf | None) -> Any:
    if leaf is None or (leaf.nulls == leaf.values) or isinstance(field.transform, VoidTransform):
        return None
    apply = field.transform.transform(leaf.type)
    if leaf.bounded and leaf.nulls == 0 and (leaf.minimum == leaf.maximum or field.transform.preserves_order):
        lowest, highest = apply(_internal(leaf.type, leaf.minimum)), apply(_internal(leaf.type, leaf.maximum))
        if lowest == highest:
            return lowest
    raise _Spans


def _internal(kind: Any, value: Any) -> Any:
    """A value as Iceberg's transforms take it: times as numbers, the rest as it is."""
    if isinstance(kind, DateType | TimestampType | TimestamptzType | TimeType):
        return from_bytes(kind, to_bytes(kind, value))
    return value


class FileBounds(Mapping[str, Bounds]):
    """What a manifest says of a file's columns, decoded when asked for: hundreds of columns, few questions."""

    def __init__(self, file: IcebergFile, columns: Mapping[str, NestedField]) -> None:
        self._file = file
        self._columns = columns

    def __getitem__(self, name: str) -> Bounds:
        field = self._columns[name]
        file, key = self._file, field.field_id
        minimum = _value(field.field_type, (file.lower_bounds or {}).get(key))
        maximum = _value(field.field_type, (file.upper_bounds or {}).get(key))
        nulls = (file.null_value_counts or {}).get(key)
        if nulls is None and minimum is None and maximum is None:
            raise KeyError(name)
        # Writers may shorten text and do not say whether they did; equal ends cannot have been shortened.
        shortened = isinstance(field.field_type, StringType | BinaryType | FixedType) and minimum != maximum
        return Bounds(minimum, maximum, nulls, exact=not shortened)

    def __iter__(self) -> Iterator[str]:
        known = (self._file.null_value_counts or {}).keys() | (self._file.lower_bounds or {}).keys()
        return (name for name, field in self._columns.items() if field.field_id in known)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _value(kind: Any, encoded: bytes | None) -> object | None:
    if encoded is None:
        return None
    value: Any = from_bytes(kind, encoded)
    if isinstance(kind, DateType):
        return date(1970, 1, 1) + timedelta(days=value)
    if isinstance(kind, TimestampType):
        return datetime(1970, 1, 1) + timedelta(microseconds=value)
    if isinstance(kind, TimestamptzType):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    if isinstance(kind, TimeType):
        return (datetime(1970, 1, 1) + timedelta(microseconds=value)).time()
    result: object = value
    return result


def plain_path(location: str) -> str:
    """A place as the rest of Lakebed writes it: engines name local files by their path alone.

    Iceberg writes `file://` before a path and escapes nothing in it.
    """
    return location.removeprefix("file://")


def data_files_of(
    tasks: Sequence[FileScanTask], schema: IcebergSchema, specs: Mapping[int, PartitionSpec]
) -> tuple[DataFile, ...]:
    """Files of the table as our plans know them. A fingerprint changes when a writer deletes rows of its file."""
    columns = {field.name: field for field in schema.fields if field.field_type.is_primitive}
    # By spec: the columns that are partitions by their own value, and where in the partition they stand.
    identities = {
        number: [
            (name, position)
            for position, field in enumerate(spec.fields)
            if (name := schema.find_column_name(field.source_id)) is not None and str(field.transform) == "identity"
        ]
        for number, spec in specs.items()
    }
    return tuple(
        DataFile(
            uri=plain_path(task.file.file_path),
            rows=task.file.record_count,
            size_bytes=task.file.file_size_in_bytes,
            partition={
                name: None if task.file.partition[position] is None else str(task.file.partition[position])
                for name, position in identities[task.file.spec_id]
            },
            bounds=FileBounds(task.file, columns),
            fingerprint="|".join(sorted(delete.file_path for delete in task.delete_files)),
            partition_key=f"{task.file.spec_id} {task.file.partition}",
        )
        for task in tasks
    )
