"""A table in a DuckDB file: schema, removal and arrival in one transaction."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from lakebed.checkpoints import Checkpoint, pass_checkpoint
from lakebed.errors import TargetError
from lakebed.kernels.sums import no_totals
from lakebed.model import LOAD, AnySlice, ColumnSlice, DataFile, Staging, Totals
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.duckdb import RULES
from lakebed.schema.evolve import EvolutionPlan
from lakebed.storage import Storage, absolute, is_local, local_path
from lakebed.targets.base import (
    Affected,
    Capabilities,
    Change,
    Commit,
    KeptRows,
    PastCommit,
    RowMerge,
    RowsMerged,
    TableState,
)
from lakebed.targets.duckdb.commit import delete_slice, forget_rows, insert_staged, keep_rows
from lakebed.targets.duckdb.file import DEFAULT_SCHEMA, WAIT_SECONDS, Connection, DuckDBFile, OpenDatabase
from lakebed.targets.duckdb.merge import merge_rows, null_keys, rows_of_new_table
from lakebed.targets.duckdb.read import read, totals
from lakebed.targets.duckdb.schema import evolve
from lakebed.targets.duckdb.state import ABSENT, last_commit, record_commit, table_state
from lakebed.targets.duckdb.views import create_views, map_keys, outdated_views
from lakebed.targets.load_log import HISTORY, LoggedLoad
from lakebed.targets.shared.refusals import changed_since_read, no_such_table, require_no_column_lost
from lakebed.targets.shared.staging import StagingArea

CAPABILITIES = Capabilities(
    made_of_files=False,
    rules=RULES,
    partition_in_path=False,
)


class DuckDBTarget:
    """One table. The file is open only while something is done with it, so that others can use it in between."""

    def __init__(
        self,
        file: str,
        table: str,
        *,
        storage: Storage | None = None,
        staging: str | None = None,
        checkpoint: Checkpoint = pass_checkpoint,
        wait_seconds: float = WAIT_SECONDS,
        database: OpenDatabase | None = None,
    ) -> None:
        """`database` is the file as this process has it open already; a table in it may lie in any of its schemas."""
        path = local_path(absolute(file))
        if "?" in str(path):
            raise TargetError(
                f"{path} cannot be a DuckDB file: DuckDB takes a ? in a path for the beginning of settings",
                remedy="Choose a path without it.",
            )
        self._file = database or DuckDBFile(path, wait_seconds=wait_seconds)
        self._table = table
        self._storage = storage or Storage()
        self._checkpoint = checkpoint
        if staging is not None and is_local(staging):
            # The user's own folder may be a link; the one beside the file may not.
            staging = os.path.realpath(local_path(staging))
        self._area = StagingArea(staging or str(path.with_name(f".{path.name}.txn")), self._storage)

    @property
    def address(self) -> str:
        schema = "" if self._file.schema == DEFAULT_SCHEMA else f"{self._file.schema}."
        return f"duckdb:{self._file.path}#{schema}{self._table}"

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def state(self) -> TableState:
        if not self._file.exists:
            return ABSENT
        with self._file.reading() as connection:
            # While it is open nobody writes, so that the rows and the fingerprint belong together.
            return replace(table_state(connection, self._table), fingerprint=self._file.fingerprint())

    def affected(self, state: TableState, slice_: AnySlice) -> Affected:
        return Affected()

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        return ()

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        id_ = self._area.begin()
        return Staging(id_, self._area.folder(id_), to_arrow_schema(evolution.final))

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        final = change.evolution.final
        require_no_column_lost(self.address, state.schema, final)
        self._checkpoint("staged")
        with self._changing(state) as (connection, now):
            alone = state.fingerprint in ("", self._file.fingerprint())
            self._checkpoint("opened")
            evolve(connection, self._table, now.schema if now.exists else None, change.evolution)
            self._checkpoint("evolved")
            log = None if change.loads is None else now.log.after(change.loads)
            if change.loads is not None and now.exists:
                for load in now.log.replaced_by(change.loads):
                    keep_rows(connection, self._table, final, load)
                forget_rows(connection, self._table, change.loads.forget)
            if change.remove_slice is not None and now.exists:
                delete_slice(connection, self._table, final, change.remove_slice)
            self._checkpoint("deleted")
            insert_staged(connection, self._table, staging, change.add, self._storage)
            self._checkpoint("inserted")
            after = record_commit(
                connection, self._table, staging.id, change.properties, txn=change.txn, created=not now.exists, log=log
            )
            self._checkpoint("recorded")
        self._checkpoint("committed")
        self._area.remove(staging.id)
        # What another wrote between the plan and this commit was never counted, and must not be covered up.
        left = replace(after, fingerprint=self._file.left if alone else "another wrote").seen
        return Commit(after.version, after.rows, len(change.add), 0, left=left)

    def merge_rows(self, state: TableState, staging: Staging, merge: RowMerge) -> RowsMerged:
        """Merges staged rows in one transaction; one that changes no row, or only asks, is rolled back."""
        if not state.exists and (merge.dry_run or not rows_of_new_table(merge).rows):
            self._area.remove(staging.id)
            return rows_of_new_table(merge)
        self._checkpoint("staged")
        try:
            with self._changing(state) as (connection, now):
                self._checkpoint("opened")
                if now.exists and (nulls := null_keys(connection, self._table, merge.keys)):
                    raise _Unchanged(RowsMerged(rows=now.rows, null_keys=nulls))
                evolve(connection, self._table, now.schema if now.exists else None, merge.evolution)
                self._checkpoint("evolved")
                done = merge_rows(connection, self._table, staging, merge)
                self._checkpoint("merged")
                if merge.dry_run or not done.counts:
                    raise _Unchanged(done)
                after = record_commit(connection, self._table, staging.id, merge.properties, created=not now.exists)
                done = replace(done, version=after.version)
                self._checkpoint("recorded")
        except _Unchanged as unchanged:
            done = unchanged.rows
        self._checkpoint("committed")
        self._area.remove(staging.id)
        return done

    def last_commit(self) -> PastCommit | None:
        if not self._file.exists:
            return None
        with self._file.reading() as connection:
            return last_commit(connection, self._table)

    def abandon(self, staging: Staging) -> None:
        self._area.remove(staging.id)

    def orphans(self, before: datetime) -> tuple[str, ...]:
        """Files that crashed writers left beside the database."""
        return self._area.left_behind(before=before)

    def remove_orphans(self, files: Sequence[str]) -> None:
        """Removes what `orphans` found. Of local stagings those go whose process is gone, and they go whole."""
        self._storage.delete(uri for uri in files if not is_local(uri))
        self._area.sweep()

    def write_places(self) -> tuple[str, ...]:
        """None: this process takes the rows out of wherever workers put them."""
        return ()

    def owns_staging(self, folder: str) -> bool:
        return self._area.owns(folder)

    def totals(self, slice_: AnySlice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        if not self._file.exists:
            return no_totals(columns)
        with self._file.reading() as connection:
            state = table_state(connection, self._table)
            return totals(connection, self._table, state, slice_, columns, currency)

    def kept_rows(self, load: LoggedLoad) -> KeptRows:
        beside = DuckDBTarget(str(self._file.path), f"{self._table}{HISTORY}", storage=self._storage)
        return KeptRows(beside, ColumnSlice({LOAD: load.id}))

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        if not self._file.exists:
            raise no_such_table(self.address)
        with self._file.reading() as connection:
            state = table_state(connection, self._table)
            if not state.exists:
                raise no_such_table(self.address)
            return read(connection, self._table, state, columns)

    def replace_views(self, views: Mapping[str, str]) -> tuple[str, ...]:
        with self._file.reading() as connection:
            if not outdated_views(connection, self._file.path, views):
                # Whoever writes changes the file, and loads would be counted again.
                return ()
        with self._file.writing() as connection:
            outdated = outdated_views(connection, self._file.path, views)
            create_views(connection, {name: views[name] for name in outdated})
        return outdated

    def map_keys(self, column: str) -> tuple[str, ...]:
        with self._file.reading() as connection:
            return map_keys(connection, self._table, column)

    def query(self, select: str) -> pa.Table:
        with self._file.reading() as connection:
            return connection.sql(select).to_arrow_table()

    @contextmanager
    def _changing(self, seen: TableState) -> Iterator[tuple[Connection, TableState]]:
        """A transaction on the table as it was seen, or ConcurrentModification."""
        with self._file.writing() as connection:
            now = table_state(connection, self._table)
            if now.version != seen.version:
                raise changed_since_read(self.address)
            yield connection, now


class _Unchanged(Exception):
    """Rolls a transaction back and carries what it would have done."""

    def __init__(self, rows: RowsMerged) -> None:
        super().__init__()
        self.rows = rows
