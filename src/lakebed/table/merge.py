"""One merge from beginning to end: validate, look keys up, plan, write, commit; on any engine, into any target."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from lakebed.checkpoints import pass_checkpoint
from lakebed.config import Settings, load_settings
from lakebed.engines.protocols.engine import EngineName, EngineOptions
from lakebed.engines.protocols.merge import CheckedSource, FileLayout, MergeEngine, MergeInput, MergeJob, MergeSource
from lakebed.engines.registry import choose_merge_engine
from lakebed.errors import (
    ConcurrentModification,
    DatasetMergeError,
    InvalidMergeArgument,
    LakebedError,
    SchemaError,
    UnsupportedType,
)
from lakebed.merge_core import refusals
from lakebed.merge_core.follow import find_arrivals, follow, same_schema_change
from lakebed.merge_core.plan import MergePlan, plan_merge
from lakebed.merge_core.prune import prune
from lakebed.merge_core.result import (
    MergedFile,
    MergeResult,
    check_balance,
    merge_properties,
    planned_result,
    waiting_columns,
)
from lakebed.merge_core.spec import MergeSpec, MergeStrategy, Missing, require_flag
from lakebed.merge_core.validate import Unified, unify
from lakebed.model import Staging, WrittenFile
from lakebed.retry import count_retries, retry
from lakebed.schema.arrow import from_arrow_schema, to_arrow_field
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.types import Schema, fold
from lakebed.state.unrecorded import change_properties
from lakebed.storage import Storage
from lakebed.table.events import Task, task
from lakebed.table.lent_keys import borrow_keys
from lakebed.table.merge_input import input_paths, readable
from lakebed.table.recount import Recount
from lakebed.table.schema_history import SchemaHistory
from lakebed.targets.address import Address, open_target
from lakebed.targets.base import Change, Commit, MergesRows, RowMerge, Settles, TableState, Target
from lakebed.targets.shared.footers import with_bounds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


log = logging.getLogger(__name__)


def merge(
    source: MergeInput,
    target: str | os.PathLike[str] | Target,
    *,
    keys: Sequence[str] | str,
    strategy: MergeStrategy = "upsert",
    engine: EngineName | MergeEngine | None = None,
    use_merge: bool | None = None,
    schema_evolution: bool = True,
    missing: Missing = "keep",
    dedup_order_by: Sequence[str] | str | None = None,
    partition_by: Sequence[str] | str | None = None,
    partition_columns: Sequence[str] | str | None = None,
    on_conflict: Literal["refuse", "variant"] = "refuse",
    properties: Mapping[str, str] | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
    storage: Storage | None = None,
) -> MergeResult:
    """Merges a source into a table and says what it did; a refusal raises DatasetMergeError and changes nothing.

    The source is a pyarrow Table or RecordBatchReader, anything with an Arrow stream, a Polars LazyFrame, a Spark
    DataFrame, rows as dictionaries, a dictionary of columns, a list or generator of tables, or paths, patterns too, to
    Parquet, Arrow IPC, CSV or JSON files; the last two are typed by the table's columns. The target is an address or a
    path. Without an engine it is Spark for a DataFrame, or where `spark`, `master` or `remote` say where Spark runs,
    and DuckDB otherwise. `partition_columns` is another name of `partition_by`. A type that does not fit the
    table's is refused, or with `on_conflict="variant"` gets a column of its own. `properties` are kept with the commit.

    >>> done = lakebed.merge(pa.table({"id": [1, 2], "cost": [3, 4]}), "parquet:costs", keys="id")
    >>> done.inserted, done.updated, done.total
    (2, 0, 2)
    """
    spec = MergeSpec.of(
        keys=keys,
        strategy=strategy,
        missing=missing,
        schema_evolution=schema_evolution,
        dedup_order_by=dedup_order_by,
        partition_by=_one_of(partition_by, partition_columns),
        on_conflict=on_conflict,
    )
    flags = {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    settings = load_settings(flags)
    storage = storage or Storage(settings.storage)
    asks_for_session = spark is not None or master is not None or remote is not None
    options = EngineOptions(spark, asks_for_session, require_flag(use_merge))
    chosen = _engine(engine, source, options)
    table = _open(target, settings, storage, read_only=dry_run)
    storage = borrow_keys(storage, table)
    with (
        task("merge", table.address, dry_run=dry_run) as told,
        readable(source, table, storage) as given,
        chosen.open(given, storage.settings.resolved(), settings) as rows,
    ):
        told.reads(input_paths(source))
        done = merge_rows(
            spec,
            rows,
            table,
            storage,
            told,
            dry_run=dry_run,
            use_merge=options.use_merge,
            ledger_place=None if table is target else settings.ledger_place,
            properties=properties,
        )
        told.counted(rows=done.inserted + done.updated, files=len(done.files))
        return done


def merge_rows(
    spec: MergeSpec,
    rows: MergeSource,
    table: Target,
    storage: Storage,
    told: Task,
    *,
    dry_run: bool = False,
    use_merge: bool | None = None,
    ledger_place: str | Path | None = None,
    properties: Mapping[str, str] | None = None,
) -> MergeResult:
    """Merges what an engine holds, and as often as another writer commits first tries again."""
    run = _Run(spec, rows, table, storage, told, dry_run, use_merge, ledger_place, properties or {})
    try:
        with count_retries() as count:
            done = retry(run.attempt, what=f"the merge into {table.address}")
        return replace(done, retries=count.retries)
    except ConcurrentModification as error:
        raise refusals.concurrent(spec, target=table.address) from error


def _engine(engine: str | MergeEngine | None, source: MergeInput, options: EngineOptions) -> MergeEngine:
    """The engine itself, where the caller brings one, or that of the name."""
    if engine is not None and not isinstance(engine, str):
        return engine
    return choose_merge_engine(engine, source, options)


def _one_of(
    partition_by: Sequence[str] | str | None, partition_columns: Sequence[str] | str | None
) -> Sequence[str] | str | None:
    if partition_by is not None and partition_columns is not None:
        raise InvalidMergeArgument(
            "partition_by and partition_columns are two names of one argument",
            kind="INVALID_STRATEGY",
            remedy="Give partition_by alone.",
        )
    return partition_columns if partition_by is None else partition_by


class _MayFollow(ConcurrentModification):
    """Another commit came first, and the files that are written can be committed on top of it."""


@dataclass
class _Run:
    """The state of one merge between its attempts: a source is checked again only where the schema moved."""

    spec: MergeSpec
    rows: MergeSource
    target: Target
    storage: Storage
    told: Task
    dry_run: bool
    use_merge: bool | None = None
    ledger_place: str | Path | None = None  # None where the caller opened the target itself
    properties: Mapping[str, str] = field(default_factory=dict)  # what the caller wants the commit to say
    checked: tuple[Unified, CheckedSource] | None = None

    def attempt(self) -> MergeResult:
        state = self._state()
        try:
            if not self.dry_run:
                SchemaHistory(self.target, self.ledger_place).complete(state)
            return self._merge(state)
        except ConcurrentModification:
            raise
        except Exception as error:
            # Files that another commit replaces while an engine reads them make it fail, or miscount, in any way: a
            # footer of the one and data of the other are "invalid data", a missing column, a wrong number of rows.
            if self._has_moved(state):
                said = error.message if isinstance(error, LakebedError) else str(error)
                raise ConcurrentModification(
                    f"{self.target.address} was changed while its files were read: {said}"
                ) from error
            refusal = self._refusal(error)
            if refusal is None:
                raise
            raise refusal from error

    def _has_moved(self, state: TableState) -> bool:
        try:
            return self.target.state().version != state.version
        except LakebedError as error:
            log.debug("%s cannot be read: %s", self.target.address, error)
            return False

    def _refusal(self, error: Exception) -> DatasetMergeError | None:
        """What the merge says of an error that is not in its words yet."""
        if isinstance(error, SchemaError):
            # Columns that the target cannot hold are refused like any other that do not fit.
            column = getattr(error, "column", None)
            return refusals.incompatible(self.spec, error.message, column=column, remedy=error.remedy)
        if isinstance(error, LakebedError) or not isinstance(error, OSError | pa.ArrowException):
            return None
        return refusals.engine_failed(
            self.spec,
            f"{self.target.address} could not be written: {error}",
            remedy="See that the disk has room and can be written, and run the merge again.",
        )

    def _merge(self, state: TableState) -> MergeResult:
        unified = self._unified(state)
        source = self._check(unified)
        pass_checkpoint("source checked")
        if not self.target.capabilities.made_of_files:
            return self._merge_rows(unified, state, source)
        recount = Recount.of(source, self.storage.settings.resolved())
        plan = self._plan(unified, state, source, recount)
        if plan.changes_nothing or self.dry_run:
            return planned_result(plan, dry_run=self.dry_run)
        return self._commit(state, plan, recount)

    def _state(self) -> TableState:
        if isinstance(self.target, Settles):
            self._settle(self.target)
        try:
            return self.target.state()
        except SchemaError as error:
            raise refusals.incompatible(self.spec, error.message, column=None, remedy=error.remedy) from error

    def _settle(self, target: Settles) -> None:
        if not self.dry_run and target.settle():
            log.info("files of %s that other writers had covered were rewritten first", self.target.address)
        elif self.dry_run and (covered := target.unsettled()):
            log.warning(
                "%s: other writers covered %d files with deletes or with other names; the merge rewrites them first, "
                "and this dry run counts them as they are",
                self.target.address,
                covered,
            )

    def _unified(self, state: TableState) -> Unified:
        try:
            incoming = from_arrow_schema(self.rows.schema)
        except UnsupportedType as error:
            raise refusals.incompatible(self.spec, error.message, column=error.column, remedy=error.remedy) from error
        wanted, given = state.partition_by, self.spec.partition_by
        if state.exists and given and [fold(name) for name in given] != [fold(name) for name in wanted]:
            raise InvalidMergeArgument(
                f"{self.target.address} is partitioned by {', '.join(wanted) or 'nothing'}, not by {', '.join(given)}",
                kind="SCHEMA_INCOMPATIBLE",
                remedy="Leave partition_by out: a table keeps the partitions it was created with.",
                column=given[0],
                strategy=self.spec.strategy,
                key_columns=self.spec.keys,
            )
        in_path = self.target.capabilities.partition_in_path
        paths = (wanted if state.exists else given) if in_path else ()
        current = state.schema if state.exists else None
        partitions = wanted if state.exists else ()
        rules = self.target.capabilities.rules
        return unify(self.spec, current, incoming, rules=rules, paths=paths, partition_by=partitions)

    def _check(self, unified: Unified) -> CheckedSource:
        if self.checked is None or self.checked[0] != unified:
            self.checked = (unified, self.rows.check(unified))
        return self.checked[1]

    def _plan(self, unified: Unified, state: TableState, source: CheckedSource, recount: Recount | None) -> MergePlan:
        files = with_bounds(state.files, self.storage, unified.spec.keys, ids=state.field_ids)
        pruned = prune(files, source.keys, only_extremes=source.only_extremes)
        _refuse_nulls(unified, pruned.nulls)
        # Without candidates too: what an earlier attempt found in files that are gone must not count.
        layout = FileLayout(self._in_path(state.partition_by), state.field_ids)
        matches = self.rows.match(unified, pruned.candidates, layout=layout)
        _refuse_nulls(unified, matches.nulls)
        if pruned.candidates:
            if recount is not None:
                recount.check_matched(unified.spec, pruned.candidates, matches, layout=layout)
            pass_checkpoint("keys matched")
        narrow = {file.uri for file in self.target.files_to_widen(state, unified.evolution)}
        return plan_merge(
            unified,
            files=files,
            source_rows=source.rows,
            matches=matches,
            scanned=len(pruned.candidates),
            narrow=narrow,
        )

    def _commit(self, state: TableState, plan: MergePlan, recount: Recount | None) -> MergeResult:
        partition_by = [plan.evolution.final[name].name for name in self.spec.partition_by]
        with self._staging(state, plan, partition_by) as staging:
            job = MergeJob(plan, staging, self._in_path(staging.partition_by))
            merged = self.rows.write(job)
            pass_checkpoint("files written")
            kept = sum(file.rows for file in plan.keep)
            counts = merged.counts
            check_balance(
                before=plan.before,
                after=kept + sum(file.rows for file in merged.files),
                inserted=counts.inserted,
                deleted=counts.deleted,
                strategy=plan.spec.strategy,
            )
            if counts != plan.expected:
                raise refusals.engine_failed(
                    plan.spec,
                    f"the merge was planned as {plan.expected} and counted as {counts}",
                    remedy=refusals.NOTHING_COMMITTED,
                )
            if recount is not None:
                recount.check_written(job, merged)
            plan, commit = self._commit_files(state, staging, plan, merged.files)
        pass_checkpoint("merge committed")
        self._remember(plan.evolution, commit.version)
        files = tuple(
            MergedFile(commit.places.get(file.path, file.path), file.rows, file.size_bytes) for file in merged.files
        )
        return replace(planned_result(plan, dry_run=False), files=files)

    def _commit_files(
        self, state: TableState, staging: Staging, plan: MergePlan, files: tuple[WrittenFile, ...]
    ) -> tuple[MergePlan, Commit]:
        """Makes the new files visible, on top of commits that came in between where these hold none of the keys.

        Returns the plan as it was carried out. Raises ConcurrentModification where the merge must be planned again.
        """

        def attempt() -> tuple[MergePlan, Commit]:
            nonlocal state, plan
            told = {**self.properties, **merge_properties(plan), **change_properties(plan.evolution, self.ledger_place)}
            change = Change(plan.evolution, files, (*plan.rewrite, *plan.drop), properties=told)
            try:
                return plan, self.target.commit(state, staging, change)
            except ConcurrentModification as refused:
                now = self.target.state()
                followed = None if now.version == state.version else self._follow(plan, state, now)
                if followed is None:
                    raise
                state, plan = now, followed
                raise _MayFollow(f"{self.target.address}: another writer committed other rows") from refused

        return retry(attempt, what=f"the merge on top of another commit to {self.target.address}", on=_MayFollow)

    def _follow(self, plan: MergePlan, state: TableState, now: TableState) -> MergePlan | None:
        """The plan on the table as it is now; None where keys, columns or files that it depends on have changed."""
        if not state.exists or now.partition_by != state.partition_by:
            return None
        unified = self._unified(now)
        arrivals = find_arrivals(plan, now.files) if same_schema_change(plan, unified) else None
        # Rows that another writer deleted beside its files are still inside them: those are settled first.
        if arrivals is None or now.rows != sum(file.rows for file in now.files):
            return None
        files = with_bounds(arrivals.new, self.storage, unified.spec.keys, ids=now.field_ids)
        source = self._check(unified)
        pruned = prune(files, source.keys, only_extremes=source.only_extremes)
        if pruned.nulls:
            return None
        if pruned.candidates:
            layout = FileLayout(self._in_path(now.partition_by), now.field_ids)
            matches = self.rows.match(unified, pruned.candidates, layout=layout)
            if matches.rows or matches.nulls:
                return None
        return follow(plan, unified, arrivals)

    def _merge_rows(self, unified: Unified, state: TableState, source: CheckedSource) -> MergeResult:
        if not isinstance(self.target, MergesRows):
            raise refusals.engine_failed(
                self.spec, f"{self.target.address} can neither be rewritten file by file nor merge rows itself"
            )
        delivered = Schema.of(unified.evolution.final[name] for name in unified.delivered)
        with self._staging(state, unified, ()) as staging:
            files = self.rows.write_source(staging)
            pass_checkpoint("files written")
            does = unified.spec.effects
            request = RowMerge(
                unified.evolution,
                unified.spec.keys,
                files,
                tuple(to_arrow_field(column).name for column in delivered),
                update_matched=does.update_matched,
                insert_unmatched=does.insert_unmatched,
                delete_matched=does.delete_matched,
                delete_unmatched=does.delete_unmatched,
                keeps_missing=unified.spec.keeps_missing,
                emptied=unified.emptied,
                dry_run=self.dry_run,
                properties={**self.properties, **change_properties(unified.evolution, self.ledger_place)},
                use_merge=self.use_merge,
            )
            done = self.target.merge_rows(state, staging, request)
        pass_checkpoint("merge committed")
        if done.null_keys:
            _refuse_nulls(unified, done.null_keys)
        counts = done.counts
        if done.version is not None:
            self._remember(unified.evolution, done.version)
        return MergeResult(
            inserted=counts.inserted,
            updated=counts.updated,
            deleted=counts.deleted,
            total=done.rows,
            before=state.rows,
            added_columns=unified.evolution.added_columns if counts else (),
            waiting_columns=waiting_columns(unified.evolution),
            dry_run=self.dry_run,
            strategy=unified.spec.strategy,
            source_rows=source.rows,
        )

    def _remember(self, evolution: EvolutionPlan, version: str) -> None:
        SchemaHistory(self.target, self.ledger_place).record(evolution, version)
        self.told.wrote(evolution)

    @contextmanager
    def _staging(self, state: TableState, plan: MergePlan | Unified, partition_by: Sequence[str]) -> Iterator[Staging]:
        staging = self.target.stage(state, plan.evolution, partition_by=partition_by)
        try:
            yield staging
        except BaseException:
            self.target.abandon(staging)
            raise

    def _in_path(self, partition_by: Sequence[str]) -> tuple[str, ...]:
        return tuple(partition_by) if self.target.capabilities.partition_in_path else ()


def _refuse_nulls(unified: Unified, nulls: Mapping[str, int]) -> None:
    for column, count in nulls.items():
        raise refusals.null_key(unified.spec, side="target", column=column, count=count)


def _open(target: str | os.PathLike[str] | Target, settings: Settings, storage: Storage, *, read_only: bool) -> Target:
    if not isinstance(target, str | os.PathLike):
        return target
    address = Address.parse(os.fspath(target), bare_path=True)
    return open_target(
        address,
        workdir=settings.workdir_path,
        storage=storage,
        catalogs=settings.catalog,
        read_only=read_only,
    )
