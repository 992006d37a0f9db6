"""What Parquet footers say: rows, schema and bounds of each file, and what bounds prove."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from lakebed.errors import NotFound, TargetError
from lakebed.kernels.columns import find_columns, with_ids
from lakebed.kernels.files import filesystem
from lakebed.model import Bounds, DataFile
from lakebed.schema.types import fold
from lakebed.storage import Entry, Storage, is_local

# Footers of an object store wait for the network. Those of a local disk come as fast as they parse, and parsing holds
# Python's lock: ten thousand of them take 0.8 s one after the other and 2.2 s in eight threads.
REMOTE_THREADS = 32
# Some writers shorten long text in statistics without saying so; 64 bytes is the shortest limit among them.
UNSHORTENED_BYTES = 63

Match: TypeAlias = Literal["all", "some", "none"]


@dataclass(frozen=True, slots=True)
class Footer:
    """A file with its physical schema. Files of equal schema share one object."""

    file: DataFile
    schema: pa.Schema


def read_footers(
    files: Iterable[DataFile],
    storage: Storage,
    *,
    columns: Collection[str] | None = None,
    ids: Mapping[str, int] | None = None,
) -> tuple[Footer, ...]:
    """The footers of these files, with bounds of these columns, or of all top-level ones.

    Of each file only the address, partition and fingerprint are taken as given. Columns that have an id are found by it
    in files that have ids.
    """
    files = tuple(files)
    if not files:
        return ()
    wanted = None if columns is None else with_ids(pa.schema([(name, pa.null()) for name in columns]), ids or {})
    reader = _Reader(storage, wanted)
    if is_local(files[0].uri):
        return tuple(map(reader.read, files))
    with ThreadPoolExecutor(min(REMOTE_THREADS, len(files))) as pool:
        return tuple(pool.map(reader.read, files))


def with_bounds(
    files: Iterable[DataFile], storage: Storage, columns: Collection[str], *, ids: Mapping[str, int] | None = None
) -> tuple[DataFile, ...]:
    """The files with bounds of these columns; only footers that are not known yet are read."""
    files = tuple(files)
    lacking = [file for file in files if any(column not in file.bounds for column in columns)]
    read = {footer.file.uri: footer.file.bounds for footer in read_footers(lacking, storage, columns=columns, ids=ids)}
    return tuple(
        replace(file, bounds={**file.bounds, **read[file.uri]}) if file.uri in read else file for file in files
    )


def data_file(entry: Entry, *, partition: Mapping[str, str | None], fingerprint: str) -> DataFile:
    """A listed file whose footer has not been read."""
    return DataFile(entry.uri, -1, entry.size_bytes, partition, {}, fingerprint)


def match(file: DataFile, values: Mapping[str, object]) -> Match:
    """Whether all, some or none of a file's rows have these values, as far as partition and bounds prove it.

    "some" is also what no proof means.
    """
    verdict: Match = "all"
    partition = {fold(name): value for name, value in file.partition.items()}
    for column, value in values.items():
        found = _match_column(file, partition, column, value)
        if found == "none":
            return "none"
        if found == "some":
            verdict = "some"
    return verdict


def _match_column(file: DataFile, partition: Mapping[str, str | None], column: str, value: object) -> Match:
    any_of = value if isinstance(value, frozenset) else frozenset((value,))
    if fold(column) in partition and all(isinstance(one, str | None) for one in any_of):
        return "all" if partition[fold(column)] in any_of else "none"
    bounds = file.bounds.get(column)
    if not isinstance(value, frozenset):
        return _match_bounds(bounds, value, file.rows)
    # Only the values nearest to the bounds can prove anything.
    if bounds is None or bounds.nulls == file.rows or not isinstance(bounds.minimum, str):
        return "none" if bounds is not None and bounds.nulls == file.rows else "some"
    if bounds.minimum == bounds.maximum and bounds.minimum in value:
        return _match_bounds(bounds, bounds.minimum, file.rows)
    return "some" if any(_match_bounds(bounds, one, file.rows) != "none" for one in value) else "none"


def _match_bounds(bounds: Bounds | None, value: object, rows: int) -> Match:
    if bounds is None:
        return "some"
    if value is None:
        return "none" if bounds.nulls == 0 else "all" if bounds.nulls == rows else "some"
    if bounds.nulls == rows:
        return "none"
    low, high = bounds.minimum, bounds.maximum
    # Values of another type prove nothing; neither does a float, whose bounds leave NaN out.
    if not (type(low) is type(high) is type(value)) or isinstance(value, float):
        return "some"
    try:
        outside = value < low or value > high  # type: ignore[operator]
    except TypeError:
        return "some"  # a time with a zone and one without
    if outside:
        return "none"
    return "all" if low == high == value and bounds.nulls == 0 and bounds.exact else "some"


class _Reader:
    """Reads footers, for several threads too; remembers the schemas, of which a dataset has few."""

    def __init__(self, storage: Storage, wanted: pa.Schema | None) -> None:
        self._settings = storage.settings.resolved()
        self._wanted = wanted
        self._schemas: dict[bytes, list[tuple[pq.ParquetSchema, pa.Schema, dict[str, int]]]] = {}

    def read(self, file: DataFile) -> Footer:
        files, path = filesystem(file.uri, self._settings)
        try:
            metadata = pq.read_metadata(path, filesystem=files)
            schema, leaves = self._schema(metadata)
        except FileNotFoundError:
            raise NotFound(f"{file.uri} is gone", uri=file.uri) from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise TargetError(
                f"{file.uri} is not a Parquet file: {error}",
                remedy="Move it out of the dataset, or write it again.",
            ) from error
        # What a column is called in the file; None where the file does not have it.
        called: dict[str, str | None] = {name: name for name in leaves}
        if self._wanted is not None:
            places = find_columns(self._wanted, schema)
            called = {
                name: None if place is None else schema.names[place]
                for name, place in zip(self._wanted.names, places, strict=True)
            }
        bounds = _bounds(metadata, {name: leaves[inside] for name, inside in called.items() if inside in leaves})
        # A column that the file does not have is NULL in all its rows.
        nothing = Bounds(None, None, metadata.num_rows)
        bounds |= {name: nothing for name, inside in called.items() if inside is None}
        return Footer(replace(file, rows=metadata.num_rows, bounds=bounds), schema)

    def _schema(self, metadata: pq.FileMetaData) -> tuple[pa.Schema, dict[str, int]]:
        # Turning a wide Parquet schema into Arrow's costs more than reading the footer.
        hint = (metadata.metadata or {}).get(b"ARROW:schema", b"")
        for known, schema, leaves in self._schemas.get(hint, ()):
            if metadata.schema.equals(known):
                return schema, leaves
        schema = metadata.schema.to_arrow_schema()
        leaves = _leaves(metadata.schema, schema)
        self._schemas.setdefault(hint, []).append((metadata.schema, schema, leaves))
        return schema, leaves


def _bounds(metadata: pq.FileMetaData, leaves: Mapping[str, int]) -> dict[str, Bounds]:
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    found = {name: _column_bounds([group.column(leaf) for group in groups]) for name, leaf in leaves.items()}
    return {name: bounds for name, bounds in found.items() if bounds is not None}


def _leaves(physical: pq.ParquetSchema, schema: pa.Schema) -> dict[str, int]:
    """Which leaf of the Parquet schema holds each top-level column of a type whose statistics can be relied on."""
    flat = {field.name for field in schema if _comparable(field.type)}
    paths = [physical.column(index).path for index in range(len(physical.names))]
    return {path: index for index, path in enumerate(paths) if path in flat and paths.count(path) == 1}


def _comparable(type_: pa.DataType) -> bool:
    # Floats: NaN is in no bounds, and -0.0 equals 0.0. Nanoseconds: Python's own types cannot hold them.
    if pat.is_nested(type_) or pat.is_floating(type_) or pat.is_null(type_):
        return False
    return not (pat.is_timestamp(type_) or pat.is_time(type_)) or type_.unit != "ns"


def _column_bounds(chunks: Sequence[pq.ColumnChunkMetaData]) -> Bounds | None:
    low: object | None = None
    high: object | None = None
    nulls, exact = 0, True
    for chunk in chunks:
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        nulls += statistics.null_count
        if not statistics.has_min_max:
            if statistics.null_count != chunk.num_values:
                return None
            continue
        minimum, maximum = statistics.min, statistics.max
        exact = exact and not (_long(minimum) or _long(maximum))
        low = minimum if low is None or minimum < low else low
        high = maximum if high is None or maximum > high else high
    return Bounds(low, high, nulls, exact)


def _long(value: object) -> bool:
    if isinstance(value, str):
        return len(value.encode()) > UNSHORTENED_BYTES
    return isinstance(value, bytes) and len(value) > UNSHORTENED_BYTES
