"""Merges with DuckDB: a native MERGE decides each row, and affected files are rewritten by streaming COPY.

DuckDB can MERGE only into tables of its own, so the matched rows of the affected files (their keys, and where they lie)
go into a scratch table; MERGE pairs them with source rows, and says for each whether it was updated or inserted. Then
each affected file streams through a join with the few changed rows. Before DuckDB 1.4, or with `use_merge=False`, the
same is done with UNION ALL and NOT EXISTS.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.config import Settings
from lakebed.engines.duckdb import sql
from lakebed.engines.duckdb.session import Scratch, private_connection
from lakebed.engines.duckdb.version import choose_merge, merge_unavailable
from lakebed.engines.duckdb.write import Ready, Writer, copy, folded
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.merge import CheckedSource, FileLayout, MergeInput, MergeJob, MergeSource
from lakebed.engines.shared.arrow_source import ArrowSource
from lakebed.engines.shared.checked import check as check_table
from lakebed.engines.shared.failures import engine_failures
from lakebed.engines.shared.large import LARGE_ROWS, Spill
from lakebed.engines.shared.sources import BATCH_ROWS, opened
from lakebed.engines.shared.write_behind import WriteBehind
from lakebed.errors import DatasetMergeError, UnsupportedType
from lakebed.kernels.columns import find_columns, with_ids
from lakebed.kernels.files import filesystem
from lakebed.kernels.keys import counting
from lakebed.kernels.merge import read_keys
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core import refusals
from lakebed.merge_core.plan import Matches
from lakebed.merge_core.spec import MergeSpec, require_flag
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, Merged, Staging, WrittenFile
from lakebed.schema.duckdb import quote_identifier as q
from lakebed.schema.duckdb import to_duckdb
from lakebed.schema.types import Binary, DataType, Float, List, Map, Null, Struct, Time, Timestamp, fold
from lakebed.storage import is_local

log = logging.getLogger(__name__)


class DuckDBMerge:
    """The DuckDB engine's merge, on a connection of the caller or on one of its own."""

    name = "duckdb"

    def __init__(
        self,
        *,
        use_merge: bool | None = None,
        connection: duckdb.DuckDBPyConnection | None = None,
        large_rows: int = LARGE_ROWS,
    ) -> None:
        """Sources of more rows than `large_rows` are left to Arrow, unless `use_merge` demands MERGE."""
        self._use_merge = require_flag(use_merge)
        self._connection = connection
        self._large_rows = large_rows

    @classmethod
    def of(cls, options: EngineOptions) -> "DuckDBMerge":
        return cls(use_merge=options.use_merge)

    @contextmanager
    def open(self, source: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[MergeSource]:
        with ExitStack() as stack:
            connection = self._connection or stack.enter_context(private_connection())
            table = stack.enter_context(opened(source, storage))
            scratch = stack.enter_context(Scratch(connection))
            spill = stack.enter_context(Spill(self._large_rows))
            yield DuckDBSource(table, scratch, storage, self._use_merge, spill)


class DuckDBSource:
    """A source that DuckDB merges."""

    def __init__(
        self, table: pa.Table, scratch: Scratch, storage: StorageSettings, use_merge: bool | None, spill: Spill
    ) -> None:
        self._table = table
        self._spill = spill
        self._scratch = scratch
        self._storage = storage
        self._use_merge = use_merge
        self._ready: Ready | None = None
        self._arrow: ArrowSource | None = None
        self._unfit: str | None = None  # why Arrow does it
        self._matched: str | None = None

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def check(self, unified: Unified) -> CheckedSource:
        native = choose_merge(self._scratch.connection, self._use_merge, unified.spec)
        self._unfit = _left_to_arrow(unified)
        if self._unfit is None and not self._use_merge and self._table.num_rows > self._spill.large_rows:
            self._unfit = f"{self._table.num_rows} source rows are more than DuckDB's scratch tables should hold"
        if self._unfit is not None:
            self._arrow = ArrowSource(self._table, self._storage, self._spill)
            return self._arrow.check(unified)
        self._arrow = None
        spec, scratch = unified.spec, self._scratch
        checked = check_table(self._table, unified)
        number = sql.NUMBER
        with duckdb_failures(spec):
            # The rows stay where they are, in Arrow; DuckDB gets a view of them, and a table of their keys.
            rows = checked.table.append_column(number, counting(checked.table.num_rows))
            table = scratch.register("source", rows)
            keys = scratch.table("keys", f"SELECT {sql.as_scratch_keys(spec.keys)}, {q(number)} FROM {q(table)}")
        self._ready = Ready(unified, rows, table, keys, number, native, checked.key_schema)
        return CheckedSource(checked.table.num_rows, checked.keys, index=checked.index)

    def match(self, unified: Unified, files: Sequence[DataFile], *, layout: FileLayout) -> Matches:
        if self._arrow is not None:
            self._leave_to_arrow(unified.spec)
            return self._arrow.match(unified, files, layout=layout)
        ready = self._known()
        if self._matched is not None:
            self._scratch.drop(self._matched)
            self._matched = None
        if not files:
            return Matches()
        self._reach(unified.spec, [file.uri for file in files])
        with duckdb_failures(unified.spec, files):
            keys = self._target_keys(ready, files, layout)
            nulls = self._null_keys(ready, keys, files)
            self._matched = self._scratch.table("matched", self._matched_rows(ready, keys))
            counted = self._scratch.rows(f"SELECT {q(sql.FILE)}, count(*) FROM {q(self._matched)} GROUP BY ALL")
            distinct = ", ".join(q(key) for key in sql.scratch_keys(ready.spec.keys))
            found = self._scratch.number(f"SELECT count(*) FROM (SELECT DISTINCT {distinct} FROM {q(self._matched)})")
        return Matches({str(uri): int(str(count)) for uri, count in counted}, nulls, found)

    def write(self, job: MergeJob) -> Merged:
        if self._arrow is not None:
            self._leave_to_arrow(job.plan.spec)
            return self._arrow.write(job)
        self._reach(job.plan.spec, [job.staging.folder])
        with duckdb_failures(job.plan.spec, job.plan.rewrite), WriteBehind(job.staging.folder) as disk:
            matched = self._matched or self._no_matches()
            return Writer(job, self._known(), matched, self._scratch, self._storage).write(disk)

    def write_source(self, staging: Staging) -> tuple[WrittenFile, ...]:
        if self._arrow is not None:
            return self._arrow.write_source(staging)
        ready = self._known()
        self._reach(ready.spec, [staging.folder])
        with duckdb_failures(ready.spec):
            written = copy(
                self._scratch,
                f"SELECT * EXCLUDE ({q(ready.number)}) FROM {q(ready.table)}",
                staging,
                "source.parquet",
                ready.schema,
                "zstd",
                {},
                self._storage,
            )
        return (written,) if written is not None else ()

    def _matched_rows(self, ready: Ready, keys: str) -> str:
        """The target rows whose keys the source has. MERGE will pair them with source rows; without it a join does."""
        target, source = sql.TARGET, sql.SOURCE
        on = sql.equal_keys(sql.scratch_keys(ready.spec.keys), target, source)
        if ready.native or ready.spec.keys_may_repeat:
            number = f"CAST(NULL AS BIGINT) AS {q(ready.number)}"
            return (
                f"SELECT {target}.*, {number} FROM ({keys}) AS {target} SEMI JOIN {q(ready.keys)} AS {source} ON {on}"
            )
        number = f"{source}.{q(ready.number)}"
        return f"SELECT {target}.*, {number} FROM ({keys}) AS {target} JOIN {q(ready.keys)} AS {source} ON {on}"

    def _no_matches(self) -> str:
        """An empty scratch table, for when no file can hold a key of the source."""
        ready = self._known()
        keys = ", ".join(
            f"CAST(NULL AS {to_duckdb(ready.final[key].type, column=key)}) AS {q(own)}"
            for key, own in zip(ready.spec.keys, sql.scratch_keys(ready.spec.keys), strict=True)
        )
        file, number = f"CAST(NULL AS VARCHAR) AS {q(sql.FILE)}", f"CAST(NULL AS BIGINT) AS {q(ready.number)}"
        return self._scratch.table("matched", f"SELECT {file}, {keys}, {number} LIMIT 0")

    def _target_keys(self, ready: Ready, files: Sequence[DataFile], layout: FileLayout) -> str:
        """The keys of the candidate files, in the table's types, each with its file."""
        if ready.reads_with_arrow:
            return f"SELECT * FROM {q(self._keys_from_arrow(ready, files, layout))}"
        return " UNION ALL ".join(
            self._keys_of(ready, some, called, layout.in_path) for called, some in self._by_names(ready, files, layout)
        )

    def _by_names(
        self, ready: Ready, files: Sequence[DataFile], layout: FileLayout
    ) -> Iterator[tuple[dict[str, str | None], Sequence[DataFile]]]:
        """The files by what they call the keys; only where names mislead do they have to be asked."""
        if not layout.field_ids:
            yield {key: key for key in ready.spec.keys}, files
            return
        keys = with_ids(ready.key_schema, layout.field_ids)
        alike: dict[bytes, tuple[dict[str, str | None], list[DataFile]]] = {}
        for file in files:
            opened_by, path = filesystem(file.uri, self._storage)
            present = pq.read_schema(path, filesystem=opened_by).remove_metadata()
            places = find_columns(keys, present)
            names = present.names
            called = [None if place is None else names[place] for place in places]
            # Files that give one name to different types must not be read together.
            group = alike.setdefault(
                present.serialize().to_pybytes(), (dict(zip(ready.spec.keys, called, strict=True)), [])
            )
            group[1].append(file)
        yield from alike.values()

    def _keys_of(
        self, ready: Ready, files: Sequence[DataFile], called: Mapping[str, str | None], in_path: Sequence[str]
    ) -> str:
        paths = {fold(name): name for name in in_path}
        columns = [f"{sql.TARGET}.{q(sql.FILE)}"]
        needs_paths = False
        for key, own in zip(ready.spec.keys, sql.scratch_keys(ready.spec.keys), strict=True):
            kind = to_duckdb(ready.final[key].type, column=key)
            name = called[key]
            value = "NULL" if name is None else f"{sql.TARGET}.{q(name)}"
            if fold(key) in paths:
                needs_paths, value = True, f"{sql.PATHS}.{q(key)}"
            columns.append(f"CAST({value} AS {kind}) AS {q(own)}")
        rows = sql.read_files([file.uri for file in files], filename=sql.FILE)
        if not needs_paths:
            return f"SELECT {', '.join(columns)} FROM {rows} AS {sql.TARGET}"
        known = {sql.FILE: pa.array([file.uri for file in files], pa.string())}
        for key in ready.spec.keys:
            if fold(key) in paths:
                known[key] = pa.array([folded(file.partition).get(fold(key)) for file in files], pa.string())
        view = self._scratch.register("paths", pa.table(known))
        join = f"{q(view)} AS {sql.PATHS} USING ({q(sql.FILE)})"
        return f"SELECT {', '.join(columns)} FROM {rows} AS {sql.TARGET} JOIN {join}"

    def _keys_from_arrow(self, ready: Ready, files: Sequence[DataFile], layout: FileLayout) -> str:
        """The same as a table, read by Arrow, which takes no column for something else."""
        own = [
            key.with_name(name).with_nullable(True)
            for key, name in zip(ready.key_schema, sql.scratch_keys(ready.spec.keys), strict=True)
        ]
        schema = pa.schema([pa.field(sql.FILE, pa.string()), *own])
        keys = with_ids(ready.key_schema, layout.field_ids)

        def batches() -> Iterator[pa.RecordBatch]:
            for file in files:
                columns = read_keys(file, keys, self._storage, in_path=layout.in_path)
                uris = pa.chunked_array([pa.repeat(pa.scalar(file.uri), len(columns[0]))])
                yield from pa.table([uris, *columns], schema=schema).to_batches(max_chunksize=BATCH_ROWS)

        return self._scratch.spooled("target_keys", pa.RecordBatchReader.from_batches(schema, batches()))

    def _null_keys(self, ready: Ready, keys: str, files: Sequence[DataFile]) -> dict[str, int]:
        """NULL keys among the candidates; footers that count them spare the scan."""
        unknown = [
            (key, own)
            for key, own in zip(ready.spec.keys, sql.scratch_keys(ready.spec.keys), strict=True)
            if any(
                fold(key) not in folded(file.partition)
                and ((bounds := file.bounds.get(key)) is None or bounds.nulls is None)
                for file in files
            )
        ]
        if not unknown:
            return {}
        counts = ", ".join(f"count(*) - count({q(own)})" for _, own in unknown)
        (row,) = self._scratch.rows(f"SELECT {counts} FROM ({keys})")
        return {key: int(str(count)) for (key, _), count in zip(unknown, row, strict=True) if count}

    def _leave_to_arrow(self, spec: MergeSpec) -> None:
        """Says why Arrow merges files, or refuses where the caller demands MERGE. DuckDB's own tables are no files."""
        if self._use_merge:
            raise merge_unavailable(spec, f"DuckDB MERGE requested but not exact here: {self._unfit}")
        log.info("%s: merging with Arrow", self._unfit)

    def _reach(self, spec: MergeSpec, uris: Sequence[str]) -> None:
        remote = [uri for uri in uris if not is_local(uri)]
        if asked := [uri for uri in remote if "?" in uri]:
            raise refusals.engine_failed(
                spec,
                f"DuckDB takes what follows a ? in {asked[0]} for parameters of the request",
                remedy="Merge with engine='arrow', which reads the name as it is. Nothing was written.",
            )
        if remote:
            self._scratch.reach_object_store(self._storage)

    def _known(self) -> Ready:
        assert self._ready is not None, "check comes before match and write"
        return self._ready


@contextmanager
def duckdb_failures(spec: MergeSpec, files: Sequence[DataFile] = ()) -> Iterator[None]:
    """DuckDB's own errors as ours, logged with what was being merged."""
    try:
        with engine_failures(spec, duckdb.Error, pa.ArrowException, OSError, what="MERGE operation failed"):
            yield
    except UnsupportedType as error:
        raise refusals.incompatible(
            spec, error.message, column=error.column, remedy="Use engine='arrow', which has this type."
        ) from error
    except DatasetMergeError as error:
        log.error(
            "%s (strategy %s, keys %s, files %s)",
            error.message,
            spec.strategy,
            ", ".join(spec.keys),
            ", ".join(file.uri for file in files[:5]),
        )
        raise


def _left_to_arrow(unified: Unified) -> str | None:
    """Why DuckDB cannot do this merge exactly, or None."""
    final = unified.evolution.final
    for key in unified.spec.keys:
        if isinstance(final[key].type, Float):
            # Footers leave NaN out of their bounds, and DuckDB skips row groups by them, in joins too (1.3 to 1.5).
            return f"the key column {key} is {final[key].type}, and DuckDB overlooks NaN in Parquet files"
    for column in final:
        if not _faithful(column.type):
            return f"column {column.name} is {column.type}, which DuckDB cannot write as it is"
    return None


def _faithful(kind: DataType) -> bool:
    """Whether DuckDB writes this type to Parquet as it is, neither finer nor coarser."""
    match kind:
        case Null():
            return False
        case Binary(width):
            return width is None
        case Time(unit):
            return unit == "us"
        case Timestamp(unit, zone):
            return unit == "us" or (zone is None and unit != "s")
        case List(element):
            return _faithful(element)
        case Map(key, value):
            return _faithful(key) and _faithful(value)
        case Struct(fields):
            return bool(fields) and all(_faithful(field.type) for field in fields)
        case _:
            return True
