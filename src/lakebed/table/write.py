"""`lakebed.write`: rows of any kind into a table: planned, written by the engine that holds them, committed once."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from lakebed.checkpoints import pass_checkpoint
from lakebed.config import Settings, load_settings
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.merge import MergeInput
from lakebed.engines.protocols.rows import RowsJob, RowSource
from lakebed.engines.registry import choose_row_engine
from lakebed.errors import ConcurrentModification, ConfigError, EngineError, LakebedError, SourceError
from lakebed.kernels.rows import RowsWritten
from lakebed.merge_core.validate import with_text_paths
from lakebed.model import ColumnSlice, Staging, WriteMode
from lakebed.retry import retry
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.types import fold
from lakebed.storage import Storage
from lakebed.table.events import Task, task
from lakebed.table.lent_keys import borrow_keys
from lakebed.table.merge_input import input_paths
from lakebed.table.read import TableLike
from lakebed.table.replace import Replacement, replace_slice
from lakebed.table.schema_history import SchemaHistory
from lakebed.table.write_spec import WriteResult, WriteSpec
from lakebed.targets.address import Address, open_target
from lakebed.targets.base import Settles, TableState, Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


def write(
    data: MergeInput,
    target: TableLike,
    *,
    mode: WriteMode = "append",
    slice: Mapping[str, object] | None = None,
    partition_by: Sequence[str] | str | None = None,
    on_conflict: Literal["refuse", "variant"] = "refuse",
    txn: tuple[str, int] | None = None,
    properties: Mapping[str, str] | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
    storage: Storage | None = None,
) -> WriteResult:
    """Writes rows into a table in one commit with the schema change that they need; no column is ever dropped.

    The data is a Spark DataFrame, whose executors then write the files, a pandas or Polars one, a pyarrow Table,
    Dataset or RecordBatchReader, anything with an Arrow stream, or a path to Parquet. Columns are matched without
    regard to case; new ones are added, types only grow, and one that does not fit is refused, or with
    `on_conflict="variant"` gets a column of its own.

    `mode="append"` adds the rows, `"overwrite"` puts them in place of all others, and `"replace_slice"` in place of
    those that have the values of `slice`, to which all of the data must belong. `txn=(app, version)` numbers the write:
    a version that the table holds already, or an older one, changes nothing. `properties` are kept with the commit.

    >>> lakebed.write(pa.table({"id": [1, 2], "day": ["mon", "tue"]}), "parquet:events").total
    2
    >>> tuesday = pa.table({"ID": [3, 4], "day": ["tue", "tue"], "tag": ["a", "b"]})
    >>> done = lakebed.write(tuesday, "parquet:events", mode="replace_slice", slice={"day": "tue"})
    >>> done.removed, done.total, done.added_columns
    (1, 3, ('tag',))
    """
    spec = WriteSpec.of(mode=mode, slice_=slice, partition_by=partition_by, on_conflict=on_conflict, txn=txn)
    flags = {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    settings = load_settings(flags)
    storage = storage or Storage(settings.storage)
    if not isinstance(target, str | os.PathLike):
        storage = borrow_keys(storage, target)
    asks_for_session = spark is not None or master is not None or remote is not None
    engine = choose_row_engine(data, EngineOptions(spark, asks_for_session))
    paths = input_paths(data)
    with engine.open(data, storage.settings.resolved(), settings) as rows:
        return write_rows(
            spec, rows, target, settings, storage, dry_run=dry_run, paths=paths, properties=properties or {}
        )


def write_rows(
    spec: WriteSpec,
    rows: RowSource,
    target: TableLike,
    settings: Settings,
    storage: Storage,
    *,
    dry_run: bool = False,
    paths: Sequence[str] = (),
    properties: Mapping[str, str] = MappingProxyType({}),
    keeps_history: bool = False,
) -> WriteResult:
    """Writes what an engine holds, and as often as another writer commits first tries again.

    `paths` are where it came from, as far as that is known. The history of a table that the caller opened itself is
    kept in the ledger only where that is asked for.
    """
    table = _open(target, settings, storage, staging=rows.commit_staging, read_only=dry_run)
    history = SchemaHistory(table, settings.ledger_place if keeps_history or table is not target else None)
    with task("write", table.address, dry_run=dry_run) as told:
        told.reads(paths)
        run = _Run(spec, rows, table, dry_run, history, told, properties)
        try:
            return retry(run.attempt, what=f"the write into {table.address}")
        finally:
            run.abandon()


def plan_rows(spec: WriteSpec, incoming: pa.Schema, target: Target) -> tuple[EvolutionPlan, Staging]:
    """What a write of such rows would do to the table now, and what its files must look like; nothing is kept open."""

    def attempt() -> tuple[EvolutionPlan, Staging]:
        state = target.state()
        evolution = plan_write(spec, incoming, target, state)
        return evolution, target.stage(state, evolution, partition_by=_partition_columns(spec, evolution))

    evolution, staging = retry(attempt, what=f"planning the write into {target.address}")
    target.abandon(staging)
    return evolution, staging


@dataclass(frozen=True)
class _Staged:
    """Rows that are written and not committed, and the plan that they were written by."""

    evolution: EvolutionPlan
    slice: ColumnSlice | None
    staging: Staging
    written: RowsWritten


@dataclass
class _Run:
    """One write between its attempts: rows are written again only where the schema moved."""

    spec: WriteSpec
    rows: RowSource
    target: Target
    dry_run: bool
    history: SchemaHistory
    told: Task
    properties: Mapping[str, str]  # what the caller wants the commit to say
    staged: _Staged | None = None

    def attempt(self) -> WriteResult:
        state = self.target.state()
        if not self.dry_run:
            self.history.complete(state)
        if (known := self._already_there(state)) is not None:
            return known
        try:
            return self._write(state)
        except ConcurrentModification:
            raise
        except LakebedError as error:
            # Files that another commit replaces while they are rewritten make an engine fail in any way.
            if not state.exists or self.target.state().version == state.version:
                raise
            raise ConcurrentModification(
                f"{self.target.address} was changed while its files were read: {error.message}"
            ) from error

    def abandon(self) -> None:
        """Removes what was written and will not be committed."""
        if self.staged is not None:
            self.target.abandon(self.staged.staging)
            self.staged = None

    def _already_there(self, state: TableState) -> WriteResult | None:
        """The answer to a version that the table has taken: nothing is done again, and an older one is said aloud."""
        txn = self.spec.txn
        held = None if txn is None else state.txns.get(txn.app)
        if txn is None or held is None or held < txn.version:
            return None
        warnings: tuple[str, ...] = ()
        if txn.version < held:
            warnings = (
                f"{self.target.address} holds version {held} of {txn.app}: the older version {txn.version} was not "
                "written. If these rows are new, for example after a checkpoint was removed, give the writer another "
                "name.",
            )
            log.warning("%s", warnings[0])
        return WriteResult(
            self.target.address,
            self.spec.mode,
            before=state.rows,
            total=state.rows,
            version=state.version,
            skipped=True,
            dry_run=self.dry_run,
            warnings=warnings,
        )

    def _write(self, state: TableState) -> WriteResult:
        evolution = plan_write(self.spec, self.rows.schema, self.target, state)
        slice_ = self.spec.typed_slice(evolution)
        if self.dry_run:
            return self._foretell(state, evolution, slice_)
        staged = self._stage(state, evolution, slice_)
        written = staged.written
        changes = bool(written.rows or slice_ is not None or evolution.changes_schema or self.spec.txn)
        if not changes:
            return self._result(state, evolution, written, version=state.version)
        replacement = Replacement(
            evolution,
            slice_,
            written.files,
            {**self._properties(written, slice_), **self.history.properties(evolution)},
            txn=self.spec.txn,
        )
        done = replace_slice(self.target, self.rows.engine, state, staged.staging, replacement)
        self.staged = None
        pass_checkpoint("write committed")
        self.history.record(evolution, done.commit.version)
        self.told.wrote(evolution)
        self.told.counted(rows=written.rows, files=len(written.files))
        return self._result(
            state,
            evolution,
            written,
            version=done.commit.version,
            removed=done.rows_removed,
            total=done.commit.rows,
            files_rewritten=done.files_rewritten,
        )

    def _stage(self, state: TableState, evolution: EvolutionPlan, slice_: ColumnSlice | None) -> _Staged:
        """The rows in new files: those of an earlier attempt, where the plan is still the same."""
        known = self.staged
        if known is not None and (known.evolution, known.slice) == (evolution, slice_) and not self._is_covered():
            return known
        self.abandon()
        staging = self.target.stage(state, evolution, partition_by=_partition_columns(self.spec, evolution))
        try:
            self.rows.require_reachable(staging.folder)
            written = self.rows.write(RowsJob(evolution, staging, slice_))
            _require_whole(written, slice_)
            if written.rows != (found := sum(file.rows for file in written.files)):
                raise EngineError(
                    f"{written.rows} rows came in, and the new files hold {found}",
                    remedy="Nothing was committed. Please report this with the data that caused it.",
                )
        except BaseException:
            self.target.abandon(staging)
            raise
        pass_checkpoint("files written")
        self.staged = _Staged(evolution, slice_, staging, written)
        return self.staged

    def _is_covered(self) -> bool:
        """Other writers have deleted rows beside files of the table, which `stage` sees to."""
        return isinstance(self.target, Settles) and self.target.unsettled() > 0

    def _foretell(self, state: TableState, evolution: EvolutionPlan, slice_: ColumnSlice | None) -> WriteResult:
        counted = self.rows.write(RowsJob(evolution, None, slice_))
        _require_whole(counted, slice_)
        removed = 0
        if state.exists and slice_ is not None:
            known = {name: value for name, value in slice_.values.items() if name in state.schema}
            # A column that the table does not have yet is NULL in all its rows.
            if all(value is None for name, value in slice_.values.items() if name not in known):
                removed = self.target.totals(ColumnSlice(known), ()).rows
        total = state.rows + counted.rows - removed
        return self._result(state, evolution, counted, version=None, removed=removed, total=total)

    def _properties(self, written: RowsWritten, slice_: ColumnSlice | None) -> dict[str, str]:
        """What the commit says about itself."""
        said = {**self.properties, "lakebed.write.mode": self.spec.mode, "lakebed.write.rows": str(written.rows)}
        return said if not (slice_ and slice_.values) else said | {"lakebed.write.slice": str(slice_)}

    def _result(
        self,
        state: TableState,
        evolution: EvolutionPlan,
        written: RowsWritten,
        *,
        version: str | None,
        removed: int = 0,
        total: int | None = None,
        files_rewritten: int = 0,
    ) -> WriteResult:
        after = state.rows if total is None else total
        return WriteResult(
            table=self.target.address,
            mode=self.spec.mode,
            rows=written.rows,
            removed=removed,
            # What other writers committed just before is in the total, and so it was there before.
            before=after - written.rows + removed,
            total=after,
            sums=written.sums,
            added_columns=evolution.added_columns,
            widened_columns=tuple(".".join(step.path) for step in evolution.widenings),
            files=len(written.files),
            files_rewritten=files_rewritten,
            version=version,
            dry_run=self.dry_run,
            plan=evolution if self.dry_run else None,
        )


def plan_write(spec: WriteSpec, rows: pa.Schema, target: Target, state: TableState) -> EvolutionPlan:
    """What the table's schema becomes. Raises SchemaError or ConfigError where the rows do not fit."""
    incoming = from_arrow_schema(rows)
    if not incoming.names:
        raise SourceError("the data has no columns", remedy="Give data that has at least one.")
    current = state.schema if state.exists else None
    given = spec.partition_by
    if state.exists and given and [fold(name) for name in given] != [fold(name) for name in state.partition_by]:
        raise ConfigError(
            f"{target.address} is partitioned by {', '.join(state.partition_by) or 'nothing'}, not by "
            f"{', '.join(given)}",
            remedy="Leave partition_by out: a table keeps the partitions it was created with.",
        )
    in_path = state.partition_by if state.exists else given
    if target.capabilities.partition_in_path:
        incoming = with_text_paths(current, incoming, in_path)
    policy = Policy(on_conflict=spec.on_conflict, rules=target.capabilities.rules)
    evolution = plan_evolution(current, incoming, policy)
    for name in given:
        if name not in evolution.final:
            raise ConfigError(
                f"there is no column {name} to partition by",
                remedy=f"Columns of the data: {', '.join(incoming.names[:20])}.",
            )
    return evolution


def _partition_columns(spec: WriteSpec, evolution: EvolutionPlan) -> list[str]:
    """The partitions of a table that is created, as it spells them."""
    return [evolution.final[name].name for name in spec.partition_by]


def _require_whole(written: RowsWritten, slice_: ColumnSlice | None) -> None:
    """Refuses data that has rows of other slices: they would be added to rows that nobody replaces."""
    if not written.outside or slice_ is None:
        return
    example = ColumnSlice(written.example or {})
    raise SourceError(
        f"{written.outside} of {written.rows} rows do not belong to the slice {slice_}; the first has {example}",
        remedy="Nothing was written. Filter the data, or write each slice on its own.",
    )


def _open(target: TableLike, settings: Settings, storage: Storage, *, staging: str | None, read_only: bool) -> Target:
    if not isinstance(target, str | os.PathLike):
        return target
    return open_target(
        Address.parse(os.fspath(target), bare_path=True),
        workdir=settings.workdir_path,
        storage=storage,
        catalogs=settings.catalog,
        staging=staging,
        read_only=read_only,
    )
