"""What Spark workers do where a source is too large for each to hold its keys: rows come to the files they change.

Keys of the target travel as (file, row number, key); never its rows, which stay in their files until rewritten.
"""

import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EngineError
from lakebed.kernels.conform import as_type
from lakebed.kernels.files import failed
from lakebed.kernels.keys import canonical, counting
from lakebed.kernels.merge import Matched, Rules, read_keys, rewrite
from lakebed.kernels.merge_files import BATCH_ROWS
from lakebed.kernels.merge_inserts import write_rows
from lakebed.kernels.merge_tasks import StagedSource
from lakebed.kernels.source_rows import SourceRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DataFile, MergeCounts, Merged, WrittenFile

FILE, ROW, GROUP = "file", "row", "pack"
RESULT = "result binary"


@dataclass(frozen=True)
class ReadSource:
    """The staged parts as rows again; a task reads one part. `wire` is what Spark's own Arrow types are."""

    source: StagedSource
    columns: tuple[str, ...]
    wire: pa.Schema

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                part = StagedSource(
                    (self.source.parts[number],), self.source.schema, self.source.keys, self.source.storage
                )
                yield from _on_the_wire(part.read(self.columns), self.wire)


@dataclass(frozen=True)
class ReadTargetKeys:
    """The keys of files, each with its file's number and its row's; a task reads one file."""

    files: tuple[DataFile, ...]
    keys: pa.Schema
    wire: pa.Schema
    storage: StorageSettings
    in_path: tuple[str, ...] = ()

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                columns = read_keys(self.files[number], self.keys, self.storage, in_path=self.in_path)
                rows = len(columns[0])
                places = [pa.repeat(pa.scalar(number, pa.int32()), rows), counting(rows)]
                yield from _on_the_wire(pa.table([*places, *columns], names=self.wire.names), self.wire)


@dataclass(frozen=True)
class ApplyPack:
    """Rewrites the files of one pack with the source rows that were shuffled to it, or writes rows that are new.

    `packs` names the files by their number. Groups below zero are rows to insert.
    """

    packs: tuple[tuple[int, ...], ...]
    files: tuple[DataFile, ...]
    delivered: pa.Schema
    rules: Rules
    folder: str
    codec: str
    storage: StorageSettings

    def apply(self, group: pa.Table) -> pa.Table:
        number = group.column(GROUP)[0].as_py()
        try:
            done = self._insert(group, number) if number < 0 else self._rewrite(group, number)
        except (pa.ArrowException, OSError) as error:
            return _result(failed(error, "the merge"))
        return _result(done)

    def _rows(self, group: pa.Table) -> pa.Table:
        first = group.num_columns - len(self.delivered)
        columns = [as_type(group.column(first + place), field.type) for place, field in enumerate(self.delivered)]
        return pa.table(columns, schema=self.delivered).combine_chunks()

    def _rewrite(self, group: pa.Table, number: int) -> Merged:
        rows = SourceRows(self._rows(group))
        files, places = group.column(FILE).combine_chunks(), group.column(ROW).combine_chunks()
        matched = []
        for file in self.packs[number]:
            mine = pc.indices_nonzero(pc.equal(files, file))
            order = mine.take(pc.sort_indices(places.take(mine)))
            matched.append(
                (self.files[file], Matched(places.take(order), order.cast(pa.int64()), self.files[file].rows, ()))
            )
        storage = self.storage
        name = f"merged-{number:05d}-{uuid.uuid4().hex}"
        done = rewrite(matched, rows, self.rules, folder=self.folder, name=f"{name}.parquet", storage=storage)
        written = [done.written] if done.written is not None else []
        if done.moved is not None:
            written += self._write(SourceRows(done.moved), f"{name}-moved")
        return Merged(tuple(written), done.counts)

    def _insert(self, group: pa.Table, number: int) -> Merged:
        rows = SourceRows(self._rows(group))
        written = self._write(rows, f"inserted-{-number:05d}-{uuid.uuid4().hex}")
        return Merged(tuple(written), MergeCounts(inserted=rows.num_rows))

    def _write(self, rows: SourceRows, name: str) -> list[WrittenFile]:
        return write_rows(rows, None, self.rules, folder=self.folder, name=name, storage=self.storage, codec=self.codec)


def _on_the_wire(table: pa.Table, wire: pa.Schema) -> Iterator[pa.RecordBatch]:
    columns = [as_type(canonical(column), field.type) for column, field in zip(table.columns, wire, strict=True)]
    yield from pa.table(columns, schema=wire).to_batches(max_chunksize=BATCH_ROWS)


def _result(value: Merged | EngineError) -> pa.Table:
    return pa.table({"result": pa.array([pickle.dumps(value)], pa.binary())})
