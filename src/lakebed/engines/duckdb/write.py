"""Writes the plan of a merge with DuckDB: MERGE pairs rows, COPY streams each affected file into a new one."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.engines.duckdb import sql
from lakebed.engines.duckdb.session import Scratch
from lakebed.engines.protocols.merge import MergeJob
from lakebed.engines.shared.rules import codec_for
from lakebed.engines.shared.write_behind import WriteBehind
from lakebed.kernels.files import filesystem
from lakebed.kernels.merge import read_rows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, MergeCounts, Merged, Staging, WrittenFile
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.duckdb import quote_identifier as q
from lakebed.schema.duckdb import quote_literal
from lakebed.schema.special_names import means_something_to_duckdb_reader
from lakebed.schema.types import DataType, Float, List, Map, Schema, Struct, fold
from lakebed.storage import is_local, join, local_path

# Source rows that are picked by their numbers in memory; more of them are joined, which can spill to disk.
PICKED_ROWS = 1_048_576


@dataclass(frozen=True)
class Ready:
    """A checked source: its rows and its keys in DuckDB, and the column that numbers both."""

    unified: Unified
    rows: pa.Table
    table: str
    keys: str
    number: str
    native: bool
    key_schema: pa.Schema

    @property
    def reads_with_arrow(self) -> bool:
        """Whether Arrow must read the files: DuckDB would take a key for something of its own, and overlook rows."""
        return any(means_something_to_duckdb_reader(key) for key in self.spec.keys)

    @property
    def schema(self) -> pa.Schema:
        """The source's own columns, without their number."""
        return self.rows.drop_columns([self.number]).schema

    @property
    def spec(self) -> MergeSpec:
        return self.unified.spec

    @property
    def final(self) -> Schema:
        return self.unified.evolution.final

    @property
    def emptied(self) -> tuple[str, ...]:
        return self.unified.emptied


@dataclass(frozen=True)
class Writer:
    """Writes one plan."""

    job: MergeJob
    ready: Ready
    matched: str
    scratch: Scratch
    storage: StorageSettings

    def write(self, disk: WriteBehind) -> Merged:
        plan, ready = self.job.plan, self.ready
        actions = self._pair()
        codec = codec_for(plan, self.storage)
        written: list[WrittenFile] = []
        deleted = sum(file.rows for file in plan.drop)
        moved: list[str] = []
        for number, pack in enumerate(plan.packs):
            with self.scratch.temporary_views():
                done, leaving = self._rewrite(pack, f"merged-{number:05d}.parquet", codec)
            left = 0
            if done is not None:
                disk.add(done)
                written.append(done)
                left = done.rows
            if leaving is not None:
                moved.append(leaving)
                left += self.scratch.number(f"SELECT count(*) FROM {q(leaving)}")
            deleted += sum(file.rows for file in pack) - left
        for table in moved:
            written += self._partitioned(f"SELECT * FROM {q(table)}", f"moved-{len(written):05d}", codec)
        inserted = 0
        if plan.expected.inserted:
            arrived = self._partitioned(self._inserts(), "inserted", codec)
            inserted = sum(file.rows for file in arrived)
            written += arrived
        if ready.native and inserted != actions["INSERT"] and not ready.spec.effects.delete_matched:
            raise refusals.engine_failed(
                ready.spec, f"MERGE operation failed: it inserted {actions['INSERT']} rows and {inserted} were written"
            )
        return Merged(tuple(written), MergeCounts(inserted, actions["UPDATE"], deleted))

    def _rewrite(self, pack: Sequence[DataFile], name: str, codec: str) -> tuple[WrittenFile | None, str | None]:
        """A pack's new file, and the table of the rows that leave its partition; None where there are none."""
        if not self.ready.reads_with_arrow:
            return self._rewritten(self._rows_of(pack), pack, name, codec)
        table = self._spooled(pack)
        try:
            schema = to_arrow_schema(self.ready.final)
            rows = sql.in_table_schema(q(table), schema, self.ready.final, schema, {})
            return self._rewritten(rows, pack, name, codec)
        finally:
            self.scratch.drop(table)

    def _rewritten(
        self, rows: str, pack: Sequence[DataFile], name: str, codec: str
    ) -> tuple[WrittenFile | None, str | None]:
        query = self._after(rows, pack)
        leaving = self._leaving(query, pack)
        if leaving is not None:
            query = f"SELECT * FROM ({query}) WHERE {self._belongs(pack[0])}"
        return self._copy(query, name, codec, pack[0].partition, zeros=rows), leaving

    def _copy(
        self, query: str, name: str, codec: str, partition: Mapping[str, str | None], *, zeros: str | None = None
    ) -> WrittenFile | None:
        """Streams a query into a new file of the staging; `zeros` are rows of the table that it passes on."""
        job = self.job
        dictionaries = not (self._source_has_negative_zeros or (zeros is not None and self._has_negative_zeros(zeros)))
        return copy(
            self.scratch,
            query,
            job.staging,
            name,
            job.physical,
            codec,
            partition,
            self.storage,
            dictionaries=dictionaries,
        )

    @cached_property
    def _source_has_negative_zeros(self) -> bool:
        delivered = self.ready.unified.delivered
        # Inside of structs, lists and maps they are not looked for.
        nested = any(not isinstance(column.type, Float) and _holds_floats(column.type) for column in self.ready.final)
        return nested or self._has_negative_zeros(f"SELECT * FROM {q(self.ready.table)}", only=delivered)

    def _has_negative_zeros(self, rows: str, *, only: Collection[str] | None = None) -> bool:
        """Whether a column of floats holds one. They are rare, and rows are read no further than the first."""
        floats = [
            column.name
            for column in self.ready.final
            if isinstance(column.type, Float) and (only is None or column.name in only)
        ]
        if not floats:
            return False
        return bool(self.scratch.rows(f"SELECT 1 FROM ({rows}) WHERE {sql.negative_zero(floats)} LIMIT 1"))

    def _pair(self) -> Counter[str]:
        """Pairs matched rows with source rows, and counts what becomes of each."""
        ready, does = self.ready, self.ready.spec.effects
        if not ready.native:
            updated = self.scratch.number(f"SELECT count(*) FROM {q(self.matched)}") if does.update_matched else 0
            return Counter({"UPDATE": updated})
        into, source = self.matched, q(ready.keys)
        if does.delete_matched:
            # What is deleted from the scratch table must still be found when files are rewritten.
            into = self.scratch.table("deleted", f"SELECT * FROM {q(self.matched)}")
            source = f"(SELECT DISTINCT {', '.join(q(key) for key in sql.scratch_keys(ready.spec.keys))} FROM {source})"
        ordered = sql.in_order_of(into, source, ready.spec.keys)
        statement = sql.merge_statement(into, ordered, ready.spec.keys, does)
        counted = self.scratch.arrow(statement).column("merge_action").value_counts()
        return Counter({str(one["values"]): int(one["counts"].as_py()) for one in counted})

    def _rows_of(self, pack: Sequence[DataFile]) -> str:
        """The rows of the pack's files in the table's schema; files of equal columns are read together."""
        alike: dict[bytes, tuple[pa.Schema, list[str]]] = {}
        for file in pack:
            files, path = filesystem(file.uri, self.storage)
            inside = pq.read_schema(path, filesystem=files).remove_metadata()
            alike.setdefault(inside.serialize().to_pybytes(), (inside, []))[1].append(file.uri)
        constants = {name: folded(pack[0].partition).get(fold(name)) for name in self.job.in_path}
        return " UNION ALL ".join(
            sql.in_table_schema(sql.read_files(uris), inside, self.ready.final, self.job.physical, constants)
            for inside, uris in alike.values()
        )

    def _spooled(self, pack: Sequence[DataFile]) -> str:
        """A table of the pack's rows, read by Arrow."""
        schema = pa.schema([field.with_nullable(True) for field in to_arrow_schema(self.ready.final)])
        batches = read_rows(pack, schema, self.storage, physical=self.job.physical, in_path=self.job.in_path)
        return self.scratch.spooled("pack", pa.RecordBatchReader.from_batches(schema, batches))

    def _after(self, rows: str, pack: Sequence[DataFile]) -> str:
        """What the pack's rows become."""
        ready, does, keys = self.ready, self.ready.spec.effects, self.ready.spec.keys
        own = sql.scratch_keys(keys)
        if not any(self.job.plan.matched.get(file.uri) for file in pack):
            return rows
        here = f"{q(self.matched)} WHERE {q(sql.FILE)} IN ({', '.join(text(f.uri) for f in pack)})"
        if does.delete_matched:
            return (
                f"SELECT {sql.TARGET}.* FROM ({rows}) AS {sql.TARGET} ANTI JOIN (SELECT * FROM {here}) AS {sql.SOURCE} "
                f"ON {sql.equal_keys(keys, sql.TARGET, sql.SOURCE, own)}"
            )
        if not does.update_matched:
            return rows
        changes = f"SELECT * FROM {self._chosen(f'SELECT {q(ready.number)} FROM {here}')}"
        join = "JOIN" if does.delete_unmatched or not ready.native else "LEFT JOIN"
        changed = sql.updated_rows(
            ready.final,
            ready.unified.delivered,
            ready.emptied,
            ready.unified.evolution.padded_fields if ready.spec.keeps_missing else {},
            rows=rows,
            changes=changes,
            keys=keys,
            marker=ready.number,
            joined=join,
        )
        if ready.native or does.delete_unmatched:
            return changed
        return (
            f"SELECT {sql.TARGET}.* FROM ({rows}) AS {sql.TARGET} WHERE NOT EXISTS "
            f"(SELECT 1 FROM ({changes}) AS {sql.SOURCE} WHERE {sql.equal_keys(keys, sql.TARGET, sql.SOURCE)}) "
            f"UNION ALL {changed}"
        )

    def _leaving(self, query: str, pack: Sequence[DataFile]) -> str | None:
        """A table of the rows that an update moves out of their partition, or None where there are none."""
        by = self.job.staging.partition_by
        ready = self.ready
        changed = {*ready.unified.delivered, *ready.emptied}
        if not ready.spec.effects.update_matched or not any(name in changed for name in by):
            return None
        if not any(self.job.plan.matched.get(file.uri) for file in pack):
            return None
        table = self.scratch.table("moved", f"SELECT * FROM ({query}) WHERE NOT ({self._belongs(pack[0])})")
        if self.scratch.number(f"SELECT count(*) FROM {q(table)}"):
            return table
        self.scratch.drop(table)
        return None

    def _belongs(self, file: DataFile) -> str:
        values = folded(file.partition)
        return " AND ".join(
            f"CAST({q(name)} AS VARCHAR) IS NOT DISTINCT FROM {text(values.get(fold(name)))}"
            for name in self.job.staging.partition_by
        )

    def _inserts(self) -> str:
        ready, number = self.ready, q(self.ready.number)
        if ready.spec.effects.delete_matched:
            chosen = q(ready.table)
        elif ready.native:
            chosen = self._chosen(f"SELECT {number} FROM {q(self.matched)} WHERE {q(sql.FILE)} IS NULL")
        else:
            chosen = self._chosen(f"SELECT {number} FROM {q(ready.keys)} EXCEPT SELECT {number} FROM {q(self.matched)}")
        return sql.source_rows(ready.final, ready.unified.delivered, chosen)

    def _chosen(self, numbers: str) -> str:
        """The source rows of these numbers as something to select from, each once and in the source's order."""
        ready, number = self.ready, q(self.ready.number)
        wanted = self.scratch.arrow(f"SELECT {number} FROM ({numbers}) LIMIT {PICKED_ROWS + 1}").column(0)
        if len(wanted) <= PICKED_ROWS:
            # several rows of the target may match one of the source
            each = pc.unique(wanted)
            picked = ready.rows.take(each.take(pc.sort_indices(each)))
            return q(self.scratch.register("picked", picked))
        # Joined by number: a join by key would push its bounds into the Arrow scan, which compares NaN otherwise.
        return (
            f"(SELECT {sql.SOURCE}.* FROM {q(ready.table)} AS {sql.SOURCE} SEMI JOIN ({numbers}) AS {sql.WANTED} "
            f"ON {sql.SOURCE}.{number} = {sql.WANTED}.{number})"
        )

    def _partitioned(self, query: str, name: str, codec: str) -> list[WrittenFile]:
        """Writes rows as new files, one for each partition."""
        by = self.job.staging.partition_by
        if not by:
            done = self._copy(query, f"{name}.parquet", codec, {})
            return [done] if done is not None else []
        table = self.scratch.table("arriving", query)
        columns = ", ".join(f"CAST({q(column)} AS VARCHAR)" for column in by)
        written = []
        for number, values in enumerate(self.scratch.rows(f"SELECT DISTINCT {columns} FROM {q(table)} ORDER BY ALL")):
            partition = {
                column: None if value is None else str(value) for column, value in zip(by, values, strict=True)
            }
            where = " AND ".join(
                f"CAST({q(column)} AS VARCHAR) IS NOT DISTINCT FROM {text(value)}"
                for column, value in partition.items()
            )
            chosen = f"SELECT * FROM {q(table)} WHERE {where}"
            done = self._copy(chosen, f"{name}-{number:05d}.parquet", codec, partition, zeros=chosen)
            written += [done] if done is not None else []
        self.scratch.drop(table)
        return written


def copy(
    scratch: Scratch,
    query: str,
    staging: Staging,
    name: str,
    physical: pa.Schema,
    codec: str,
    partition: Mapping[str, str | None],
    storage: StorageSettings,
    *,
    dictionaries: bool = True,
) -> WrittenFile | None:
    """Streams a query into a new file; None, and no file, where it has no rows."""
    uri = join(staging.folder, name)
    if is_local(uri):
        uri = str(local_path(uri))
        local_path(staging.folder).mkdir(parents=True, exist_ok=True)
    rows = scratch.number(sql.copy_to(query, uri, physical, codec, dictionaries=dictionaries))
    if not rows and is_local(uri):
        local_path(uri).unlink()
    if not rows:
        return None
    files, path = filesystem(uri, storage)
    return WrittenFile(name, rows, files.get_file_info(path).size, dict(partition))


def _holds_floats(kind: DataType) -> bool:
    match kind:
        case Float():
            return True
        case List(element):
            return _holds_floats(element)
        case Map(key, value):
            return _holds_floats(key) or _holds_floats(value)
        case Struct(fields):
            return any(_holds_floats(field.type) for field in fields)
        case _:
            return False


def folded(partition: Mapping[str, str | None]) -> dict[str, str | None]:
    return {fold(name): value for name, value in partition.items()}


def text(value: str | None) -> str:
    return "NULL" if value is None else quote_literal(value)
