"""What people have in their hands, as what engines read: rows, columns, tables, generators, files of any kind."""

import gzip
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.engines.protocols.merge import MergeInput
from lakebed.engines.shared.sources import BATCH_ROWS, spooled
from lakebed.errors import InvalidMergeArgument, NotFound, SourceError
from lakebed.kernels.conform import conform
from lakebed.kernels.files import filesystem
from lakebed.kernels.mapped import map_table
from lakebed.model import SourceFile
from lakebed.schema.arrow import to_arrow_schema
from lakebed.storage import Storage, absolute, is_local, local_path, unknown_scheme
from lakebed.table.text_rows import CsvRows, JsonRows, TextRows, unified
from lakebed.targets.base import Target

Kind: TypeAlias = Literal["parquet", "arrow", "csv", "json"]
SUFFIXES: dict[str, Kind] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
GLOB = frozenset("*?[")
ROWS_AT_ONCE = 10_000


@contextmanager
def readable(source: Any, target: Target, storage: Storage) -> Iterator[MergeInput]:
    """The source as a pyarrow Table, something with an Arrow stream, a path to Parquet or a Spark DataFrame."""
    if isinstance(source, str | PathLike):
        with _held(_from_paths([fspath(source)], target, storage)) as given:
            yield given
    elif isinstance(source, Mapping):
        yield _from_columns(source)
    elif type(source).__module__.startswith("polars") and type(source).__name__ == "LazyFrame":
        with tempfile.TemporaryDirectory(prefix="lakebed-merge-") as folder:
            # Polars streams the query to a file: collecting it would hold all rows in memory.
            path = Path(folder, "source.arrow")
            source.sink_ipc(path, compression="uncompressed")
            yield map_table(str(path))
    elif isinstance(source, list | tuple):
        with _held(_from_list(source, target, storage)) as given:
            yield given
    elif isinstance(source, Iterator) and not hasattr(source, "__arrow_c_stream__"):
        with _held(_from_iterator(source)) as given:
            yield given
    else:
        yield source


def input_paths(source: object) -> list[str]:
    """Where the source lies, as far as it says so: the paths that it is or lists."""
    listed = source if isinstance(source, list | tuple) else [source]
    return [fspath(one) for one in listed if isinstance(one, str | PathLike)]


@dataclass(frozen=True)
class _Stream:
    """Batches that come one after the other. A reader of pyarrow would wrap what they raise into errors of its own."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


@contextmanager
def _held(given: "MergeInput | _Stream") -> Iterator[MergeInput]:
    if isinstance(given, _Stream):
        with spooled(given.schema, given.batches) as table:
            yield table
    else:
        yield given


def _from_list(source: Sequence[Any], target: Target, storage: Storage) -> "MergeInput | _Stream":
    if not source:
        raise _unreadable("an empty list has no columns", "Give at least one row, or an empty pyarrow Table.")
    if all(isinstance(one, str | PathLike) for one in source):
        return _from_paths([fspath(one) for one in source], target, storage)
    if all(isinstance(one, Mapping) for one in source):
        return _from_rows(source)
    tables = [_as_table(one, place) for place, one in enumerate(source)]
    return _concatenated(tables, "the tables of the list")


def _from_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of which each may lack columns that others have."""
    names = dict.fromkeys(name for row in rows for name in row)
    return _from_columns({name: [row.get(name) for row in rows] for name in names})


def _from_columns(columns: Mapping[str, Any]) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise _unreadable(f"{name!r} is no name of a column", "Columns are named by text.")
        try:
            arrays[name] = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            raise _unreadable(
                f"column {name}: its values are no column: {error}", "Give values of one type, or a pyarrow Array."
            ) from error
    try:
        return pa.table(arrays)
    except pa.ArrowInvalid as error:
        raise _unreadable(f"the columns are of different lengths: {error}", "Give each as many values.") from error


def _from_iterator(source: Iterator[Any]) -> _Stream:
    """Tables, batches or rows as they come; only some of them are in memory at a time."""
    first = next(source, None)
    if first is None:
        raise _unreadable("the generator gave nothing", "Give at least one batch, or an empty pyarrow Table.")
    everything = chain([first], source)
    tables: Iterator[pa.Table] = (
        (_from_rows(rows) for rows in _chunks(everything))
        if isinstance(first, Mapping)
        else (_as_table(one, place) for place, one in enumerate(everything))
    )
    head = next(tables)

    def batches() -> Iterator[pa.RecordBatch]:
        for place, table in enumerate(chain([head], tables)):
            yield from _like(table, head.schema, f"batch {place + 1}").to_batches(max_chunksize=BATCH_ROWS)

    return _Stream(head.schema, batches())


def _chunks(rows: Iterator[Any]) -> Iterator[list[Mapping[str, Any]]]:
    while chunk := list(islice(rows, ROWS_AT_ONCE)):
        yield chunk


def _like(table: pa.Table, schema: pa.Schema, what: str) -> pa.Table:
    """The table in another's columns; what it has besides would be lost, and is refused."""
    if table.schema.equals(schema):
        return table
    known = {name.casefold() for name in schema.names}
    if more := [name for name in table.column_names if name.casefold() not in known]:
        raise _unreadable(
            f"{what} has the column {more[0]}, which the first one lacks",
            "Give every column from the first batch on; values may be NULL.",
        )
    try:
        return pa.table(conform(table.schema, table.columns, schema, table.num_rows, by_id=False), schema=schema)
    except pa.ArrowInvalid as error:
        raise _unreadable(
            f"{what} does not fit the types of the first one: {error}", "Give all batches in the same types."
        ) from error


def _as_table(one: Any, place: int) -> pa.Table:
    if isinstance(one, pa.Table):
        return one
    if isinstance(one, pa.RecordBatch):
        return pa.Table.from_batches([one])
    if hasattr(one, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(one).read_all()
    raise _unreadable(
        f"item {place + 1} is a {type(one).__name__}", "Give rows as dictionaries, pyarrow Tables or batches, or paths."
    )


def _concatenated(tables: Sequence[pa.Table], what: str) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _unreadable(
            f"{what} cannot be brought together: {error}", "Give all of them in the same types."
        ) from error


def _from_paths(paths: Sequence[str], target: Target, storage: Storage) -> "MergeInput | _Stream":
    """Files, folders and patterns. One path to Parquet is left to the engine, which knows its partitions."""
    files = [file for path in paths for file in _files(path, storage)]
    kinds = {kind for kind, _ in files}
    if len(kinds) > 1:
        raise _unreadable(f"{', '.join(paths)}: files of several kinds: {', '.join(sorted(kinds))}", "Give one kind.")
    kind = kinds.pop()
    if kind == "parquet" and len(paths) == 1 and not GLOB.intersection(paths[0]):
        return paths[0]
    types = _types(target, paths[0]) if kind in ("csv", "json") else {}
    opened = [_open(kind, file, types, storage) for _, file in files]
    schema = unified(one.schema() for one in opened)

    def batches() -> Iterator[pa.RecordBatch]:
        for one in opened:
            for table in one.batches():
                arrays = conform(table.schema, table.columns, schema, table.num_rows, by_id=False)
                yield from pa.table(arrays, schema=schema).to_batches(max_chunksize=BATCH_ROWS)

    return _Stream(schema, batches())


def _types(target: Target, path: str) -> dict[str, pa.DataType]:
    state = target.state()
    if not state.exists:
        raise _unreadable(
            f"{path} has no types of its own, and there is no table {target.address} to take them from",
            "Create the table first: `lakebed ingest` makes one from CSV or JSON files.",
        )
    return {field.name.casefold(): field.type for field in to_arrow_schema(state.schema)}


def _files(path: str, storage: Storage) -> list[tuple[Kind, SourceFile]]:
    """The files that a path, a folder or a pattern means, by their kinds."""
    if unknown_scheme(path.removeprefix("parquet:")) is not None:
        raise _unreadable(f"{path}: there is no such storage", "Give a local path, s3://, gs:// or az://.")
    uri = absolute(path.removeprefix("parquet:"))
    exists = is_local(uri) and local_path(uri).exists()
    if GLOB.intersection(uri) and not exists:
        found = list(_matching(uri, storage))
        if not found:
            raise NotFound(f"{path}: no file matches", uri=uri)
        return found
    if is_local(uri) and local_path(uri).is_file():
        entry = storage.head(uri)
        return [(_kind(uri) or "parquet", _file(uri, entry.size_bytes))]
    inside = [
        (kind, _file(entry.uri, entry.size_bytes))
        for entry in sorted(storage.list(uri), key=lambda entry: entry.uri)
        if (kind := _kind(entry.uri)) is not None and not _hidden(entry.uri.removeprefix(uri))
    ]
    if inside:
        return inside
    if not is_local(uri) and storage.exists(uri):
        return [(_kind(uri) or "parquet", _file(uri, storage.head(uri).size_bytes))]
    if exists:
        raise NotFound(f"{path}: there is no file of a kind that a merge reads", uri=uri)
    raise NotFound(f"{path}: there is no source here", uri=uri)


def _matching(uri: str, storage: Storage) -> Iterator[tuple[Kind, SourceFile]]:
    fixed = uri[: min(uri.index(letter) for letter in GLOB if letter in uri)]
    folder = fixed.rpartition("/")[0]
    pattern = re.compile(_pattern(uri))
    for entry in sorted(storage.list(folder), key=lambda entry: entry.uri):
        if pattern.fullmatch(entry.uri) and not _hidden(entry.uri.removeprefix(folder)):
            yield _kind(entry.uri) or "parquet", _file(entry.uri, entry.size_bytes)


def _pattern(glob: str) -> str:
    """A star does not reach into folders, `**/` does."""
    words = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*|\?|\[[^\]/]+\])", glob)
    return "".join(
        words.get(part) or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part)) for part in parts
    )


def _hidden(path: str) -> bool:
    return any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.strip("/").split("/")
    )


def _kind(uri: str) -> Kind | None:
    name = uri.rpartition("/")[2].casefold().removesuffix(".gz")
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def _file(uri: str, size_bytes: int) -> SourceFile:
    packed = uri.casefold().endswith(".gz")
    return SourceFile(uri, uri, "csv", "gzip" if packed else "none", size_bytes)


def _open(kind: Kind, file: SourceFile, types: Mapping[str, pa.DataType], storage: Storage) -> TextRows:
    settings = storage.settings.resolved()
    if kind == "csv":
        return CsvRows(file, types, settings)
    if kind == "json":
        return JsonRows(file, types, settings)
    return _ColumnarRows(file, kind, storage)


class _ColumnarRows:
    """A Parquet or Arrow IPC file, which has types of its own."""

    def __init__(self, file: SourceFile, kind: Kind, storage: Storage) -> None:
        self._file = file
        self._kind = kind
        self._storage = storage

    def schema(self) -> pa.Schema:
        with self._opened() as (schema, _):
            return schema

    def batches(self) -> Iterator[pa.Table]:
        with self._opened() as (_, batches):
            for batch in batches:
                yield pa.Table.from_batches([batch])

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterable[pa.RecordBatch]]]:
        files, path = filesystem(self._file.uri, self._storage.settings.resolved())
        try:
            with files.open_input_file(path) as raw:
                if self._kind == "parquet":
                    parquet = pq.ParquetFile(raw)
                    yield parquet.schema_arrow, parquet.iter_batches(BATCH_ROWS)
                elif self._file.compression == "gzip":
                    with gzip.open(raw) as unpacked:
                        stream = pa.ipc.open_stream(unpacked)
                        yield stream.schema, stream
                else:
                    reader = _ipc(raw)
                    yield reader.schema, _ipc_batches(reader)
        except (pa.ArrowInvalid, OSError, EOFError) as error:
            raise SourceError(
                f"{self._file.key}: not readable as {self._kind}: {error}",
                remedy="Copy the file again: it is damaged, cut short, or of another kind than its name says.",
            ) from error


def _ipc(raw: pa.NativeFile) -> "pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader":
    try:
        return pa.ipc.open_file(raw)
    except pa.ArrowInvalid:
        raw.seek(0)
        return pa.ipc.open_stream(raw)


def _ipc_batches(reader: "pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader") -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def _unreadable(message: str, remedy: str) -> InvalidMergeArgument:
    return InvalidMergeArgument(message, kind="SCHEMA_INCOMPATIBLE", remedy=remedy)
