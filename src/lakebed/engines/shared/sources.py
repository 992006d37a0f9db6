"""Opens what a user gives to a merge, so that it can be read more than once without being held in memory."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs

from lakebed.engines.protocols.merge import ArrowStream, MergeInput
from lakebed.errors import ConfigError, InvalidMergeArgument, NotFound, SourceError
from lakebed.kernels.files import filesystem
from lakebed.kernels.mapped import map_table, rechunked, write_batches
from lakebed.kernels.merge_files import at_once
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import ScanFile
from lakebed.storage import absolute, system_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH_ROWS = 131_072


def is_dataframe(source: object) -> "TypeGuard[DataFrame]":
    """A DataFrame of classic Spark or of Spark Connect; asking does not import pyspark."""
    return type(source).__module__.startswith("pyspark.sql") and type(source).__name__ == "DataFrame"


@contextmanager
def opened(source: MergeInput, storage: StorageSettings) -> Iterator[pa.Table]:
    """The source as a table: the caller's own, or one that lies in a temporary file and is mapped, not loaded."""
    if isinstance(source, pa.Table):
        yield source
    elif isinstance(source, pa.RecordBatch):
        yield pa.Table.from_batches([source])
    elif isinstance(source, str | PathLike):
        place = fspath(source)
        reader = path_dataset(place, storage).scanner(batch_size=BATCH_ROWS).to_reader()
        with _spooled(pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, place))) as table:
            yield table
    elif isinstance(source, pads.Dataset):
        with _spooled(source.scanner(batch_size=BATCH_ROWS).to_reader()) as table:
            yield table
    elif _is_stream(source):
        with _spooled(pa.RecordBatchReader.from_stream(source)) as table:
            yield table
    else:
        raise InvalidMergeArgument(
            f"a merge cannot read a {type(source).__name__}",
            kind="SCHEMA_INCOMPATIBLE",
            remedy="Give a pyarrow Table or RecordBatchReader, a path to Parquet, or a Spark DataFrame.",
        )


@contextmanager
def rescannable(source: MergeInput, storage: StorageSettings) -> Iterator[pa.Table | pads.Dataset]:
    """The source as something that can be read again: files where they lie, and a stream from a temporary file."""
    if isinstance(source, pa.Table):
        yield source
    elif isinstance(source, pa.RecordBatch):
        yield pa.Table.from_batches([source])
    elif isinstance(source, str | PathLike):
        yield readable_path(fspath(source), storage)
    elif isinstance(source, pads.FileSystemDataset):
        yield source
    elif isinstance(source, pads.Dataset):
        with _spooled(source.scanner(batch_size=BATCH_ROWS).to_reader()) as table:
            yield table
    elif _is_pandas(source):
        yield _from_pandas(source)
    elif _is_stream(source):
        with _spooled(pa.RecordBatchReader.from_stream(source)) as table:
            yield table
    else:
        raise ConfigError(
            f"a {type(source).__name__} holds no rows that can be read",
            remedy="Give a Spark, pandas or Polars DataFrame, a pyarrow Table, Dataset or RecordBatchReader, or a path "
            "to Parquet.",
        )


def path_files(path: str, storage: StorageSettings) -> tuple[pa.Schema, tuple[ScanFile, ...]]:
    """The same files one by one, with the values of their partitions, for those who read each on its own."""
    uri = absolute(path.removeprefix("parquet:"))
    _, inner = filesystem(uri, storage)
    dataset = readable_path(path, storage)
    before = uri.removesuffix(inner)
    files = tuple(
        ScanFile(f"{before}{one.path}", pads.get_partition_keys(one.partition_expression))
        for one in dataset.get_fragments()
    )
    return dataset.schema, files


def readable_path(path: str, storage: StorageSettings) -> pads.Dataset:
    """The same for whoever does not merge."""
    try:
        return path_dataset(path, storage)
    except InvalidMergeArgument as error:
        raise SourceError(error.message, remedy=error.remedy) from error


def path_dataset(path: str, storage: StorageSettings) -> pads.Dataset:
    """The Parquet file or folder at a path. Columns of all files count; Hive partitions are text."""
    with system_errors(path):
        return _path_dataset(path, absolute(path.removeprefix("parquet:")), storage)


def _path_dataset(path: str, uri: str, storage: StorageSettings) -> pads.Dataset:
    files, inner = filesystem(uri, storage)
    found = files.get_file_info(inner)
    if found.type == pafs.FileType.NotFound:
        raise NotFound(f"{path}: there is no source here", uri=uri)
    chosen = inner
    parts = None
    if found.type == pafs.FileType.Directory:
        names = _hive_names(files, inner)
        parts = pads.partitioning(pa.schema([(name, pa.string()) for name in names]), flavor="hive") if names else None
    try:
        first = pads.dataset(
            chosen, format="parquet", filesystem=files, partitioning=parts, exclude_invalid_files=False
        )
        schemas = [fragment.physical_schema for fragment in first.get_fragments()]
        paths = [] if parts is None else [pa.schema([field]) for field in parts.schema]
        schema = pa.unify_schemas([*schemas, *paths], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _unreadable(path, error) from error
    return first.replace_schema(schema)


def _batches(reader: pa.RecordBatchReader, place: str) -> Iterator[pa.RecordBatch]:
    """What the files hold. One that is damaged, or out of reach halfway, is named."""
    while True:
        try:
            with system_errors(place):
                batch = next(reader, None)
        except pa.ArrowInvalid as error:
            raise _unreadable(place, error) from error
        if batch is None:
            return
        yield batch


def _unreadable(place: str, error: Exception) -> InvalidMergeArgument:
    return InvalidMergeArgument(
        f"{place} cannot be read as Parquet: {error}", kind="SCHEMA_INCOMPATIBLE", remedy="Give Parquet files."
    )


def _hive_names(files: pafs.FileSystem, folder: str) -> list[str]:
    names: dict[str, None] = {}
    for entry in files.get_file_info(pafs.FileSelector(folder, recursive=True)):
        relative = entry.path.removeprefix(folder).strip("/")
        for segment in relative.split("/")[:-1]:
            name, equals, _ = segment.partition("=")
            if equals:
                names[name] = None
    return list(names)


def _spooled(reader: pa.RecordBatchReader) -> AbstractContextManager[pa.Table]:
    return spooled(reader.schema, _read(reader))


def _read(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    rows = 0
    try:
        for batch in reader:
            rows += batch.num_rows
            yield batch
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"the source cannot be read after {rows} rows: {error}", remedy="Nothing was merged. See what gives it."
        ) from error


@contextmanager
def spooled(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of a stream in a temporary file, mapped and not loaded."""
    with tempfile.TemporaryDirectory(prefix="lakebed-merge-") as folder:
        path = str(Path(folder, "source.arrow"))
        with system_errors(folder):
            write_batches(path, schema, rechunked(batches, at_once(schema)))
        yield map_table(path)


def _is_pandas(source: object) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and type(source).__name__ == "DataFrame"


def _from_pandas(source: Any) -> pa.Table:
    """A pandas DataFrame. An index without a name is the number of a row, not a column."""
    return pa.Table.from_pandas(source, preserve_index=all(name is not None for name in source.index.names))


def _is_stream(source: object) -> TypeGuard[ArrowStream]:
    return hasattr(source, "__arrow_c_stream__")
