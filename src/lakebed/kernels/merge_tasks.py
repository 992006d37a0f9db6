"""What Spark workers do in a merge: stage the source, look its keys up in files, rewrite files.

The staged source lies in Parquet parts, already in the table's names and types, so that it is computed once and every
task sees the same rows; a worker reads it once however many tasks it runs.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import EngineError
from lakebed.kernels.conform import as_type
from lakebed.kernels.files import failed, filesystem
from lakebed.kernels.keys import KeyIndex
from lakebed.kernels.merge import Rules, match, rewrite
from lakebed.kernels.merge_files import BATCH_ROWS, Sink
from lakebed.kernels.merge_inserts import write_rows
from lakebed.kernels.source_rows import SourceRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DataFile, MergeCounts, Merged, WrittenFile

PART_FACTS = "path string, rows long, nulls array<long>"


@dataclass(frozen=True)
class StagedSource:
    """The parts of a source and its key columns."""

    parts: tuple[str, ...]
    schema: pa.Schema
    keys: tuple[str, ...]
    storage: StorageSettings

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows, or some of their columns, in the order of the parts."""
        names = list(columns if columns is not None else self.schema.names)
        tables = []
        for uri in self.parts:
            files, path = filesystem(uri, self.storage)
            with pq.ParquetFile(path, filesystem=files) as part:
                tables.append(part.read(columns=names).select(names))
        schema = pa.schema([self.schema.field(name) for name in names])
        return pa.concat_tables([table.cast(schema) for table in tables]) if tables else schema.empty_table()


@lru_cache(maxsize=1)
def _rows(source: StagedSource) -> SourceRows:
    return SourceRows(source.read())


@lru_cache(maxsize=1)
def _index(source: StagedSource) -> KeyIndex:
    table = source.read(source.keys)
    return KeyIndex([table.column(name) for name in source.keys])


@dataclass(frozen=True)
class StageRows:
    """Writes the rows of one Spark partition as a part, and says what it wrote."""

    folder: str
    schema: pa.Schema
    keys: tuple[str, ...]
    storage: StorageSettings

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sink = Sink(self.folder, f"source-{uuid.uuid4().hex}.parquet", self.schema, self.storage, codec="lz4")
        nulls = [0] * len(self.keys)
        for batch in batches:
            arrays = [as_type(batch.column(place), field.type) for place, field in enumerate(self.schema)]
            rows = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            nulls = [count + rows.column(key).null_count for count, key in zip(nulls, self.keys, strict=True)]
            for start in range(0, rows.num_rows, BATCH_ROWS):
                sink.write(rows.slice(start, BATCH_ROWS))
        if (written := sink.close({})) is not None:
            yield pa.RecordBatch.from_pydict(
                {
                    "path": pa.array([written.path]),
                    "rows": pa.array([written.rows], pa.int64()),
                    "nulls": pa.array([nulls], pa.list_(pa.int64())),
                }
            )


@dataclass(frozen=True)
class FileMatches:
    """Matched rows and NULL keys of one file."""

    uri: str
    rows: int
    nulls: tuple[int, ...]


@dataclass(frozen=True)
class GroupMatches:
    """What one task found: file by file, and which source rows had a match anywhere in them."""

    files: tuple[FileMatches, ...]
    positions: pa.Array


@dataclass(frozen=True)
class MatchTasks:
    """Groups of files; a task looks the keys up in one group."""

    source: StagedSource
    key_schema: pa.Schema
    groups: tuple[tuple[DataFile, ...], ...]
    in_path: tuple[str, ...] = ()

    def __call__(self, number: int) -> GroupMatches | EngineError:
        group = self.groups[number]
        try:
            found = list(match(group, self.key_schema, _index(self.source), self.source.storage, in_path=self.in_path))
        except (pa.ArrowException, OSError) as error:
            return failed(error, "the merge")
        files = tuple(FileMatches(file.uri, len(one.rows), one.nulls) for file, one in zip(group, found, strict=True))
        positions = [one.positions for one in found if len(one.positions)]
        return GroupMatches(files, pc.unique(pa.concat_arrays(positions)) if positions else pa.array([], pa.int32()))


@dataclass(frozen=True)
class WriteTasks:
    """Packs of files to rewrite, and after them slices of source rows to insert; a task does one."""

    source: StagedSource
    key_schema: pa.Schema
    packs: tuple[tuple[DataFile, ...], ...]
    inserts: tuple[pa.Array, ...]
    rules: Rules
    folder: str
    codec: str

    def __call__(self, number: int) -> Merged | EngineError:
        try:
            if number < len(self.packs):
                return self._rewrite(number, self.packs[number])
            return self._insert(number - len(self.packs))
        except (pa.ArrowException, OSError) as error:
            return failed(error, "the merge")

    def _rewrite(self, number: int, pack: tuple[DataFile, ...]) -> Merged:
        storage = self.source.storage
        found = match(pack, self.key_schema, _index(self.source), storage, in_path=self.rules.in_path)
        # A task that Spark runs twice must not write into the file of its twin.
        name = f"merged-{number:05d}-{uuid.uuid4().hex}"
        done = rewrite(
            list(zip(pack, found, strict=True)),
            _rows(self.source),
            self.rules,
            folder=self.folder,
            name=f"{name}.parquet",
            storage=storage,
        )
        written = [done.written] if done.written is not None else []
        if done.moved is not None:
            written += self._write(SourceRows(done.moved), None, f"{name}-moved")
        return Merged(tuple(written), done.counts)

    def _insert(self, number: int) -> Merged:
        positions = self.inserts[number]
        written = self._write(_rows(self.source), positions, f"inserted-{number:05d}-{uuid.uuid4().hex}")
        return Merged(tuple(written), MergeCounts(inserted=len(positions)))

    def _write(self, rows: SourceRows, positions: pa.Array | None, name: str) -> list[WrittenFile]:
        return write_rows(
            rows,
            positions,
            self.rules,
            folder=self.folder,
            name=name,
            storage=self.source.storage,
            codec=self.codec,
        )
