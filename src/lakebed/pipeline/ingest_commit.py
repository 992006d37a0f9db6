"""Converts the files of an ingest and commits them: in place of what their paths had before, or merged by keys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.load import ConvertJob
from lakebed.engines.registry import choose_merge_engine
from lakebed.engines.shared.packs import large_files
from lakebed.errors import Changed, LakebedError, SourceError, UnplannedColumns
from lakebed.merge_core.result import MergeResult
from lakebed.merge_core.spec import MergeSpec
from lakebed.model import FILE, ColumnSlice, Converted, Delivery, Staging
from lakebed.pipeline.commit import Arrival, commit_arrival, replace_rejected_rows, staging_folder
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.ingest_plan import Decided, IngestPlan, plan_ingest
from lakebed.pipeline.ingest_spec import IngestSpec
from lakebed.pipeline.reports import Reconciliation
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.types import Schema
from lakebed.state.claims import Claim
from lakebed.state.records import SchemaChange, schema_changes
from lakebed.table.events import Task
from lakebed.table.merge import merge_rows
from lakebed.table.slice_totals import slice_totals
from lakebed.targets.address import Address
from lakebed.targets.base import TableState, Target


@dataclass(frozen=True)
class CommittedFiles:
    """Files that are in their table: by which plan, with which numbers, in which commit; or that would be."""

    plan: IngestPlan
    rows: int
    removed: int = 0
    rejected_rows: int = 0
    reconciled: bool | None = None
    version: str | None = None
    left: str | None = None
    changes: tuple[SchemaChange, ...] = ()
    inserted: int | None = None
    updated: int | None = None
    warnings: tuple[str, ...] = ()


def commit_files(
    context: RunContext,
    claim: Claim,
    address: Address,
    state: TableState,
    spec: IngestSpec,
    decided: Decided,
    delivery: Delivery,
    told: Task,
    *,
    warnings: Sequence[str] = (),
) -> CommittedFiles:
    """Plans, converts and commits. Raises ConcurrentModification where another writer was faster."""
    target = context.target(address)
    with context.steps.step("plan"):
        plan = _plan(context, target, state, spec, decided)
    _refuse_doubts(context, warnings)
    context.ledger.begin_files(claim, target.address, [one.record() for one in decided.loads])
    arrival = _arrival(context, spec, decided, plan, delivery)

    def check(converted: Converted) -> None:
        _refuse_doubts(context, converted.warnings)
        _require_same(context, decided)
        context.observer.committing(delivery)

    try:
        if spec.keys:
            return _merge(context, claim, address, state, spec, arrival, plan, check, told)
        converted, replaced = commit_arrival(context, claim, address, state, arrival, check)
    except UnplannedColumns as error:
        # The plan has the columns of the files as they were inspected.
        raise Changed(f"{error.file} was written over since it was inspected", uri=error.file) from error
    except SourceError as error:
        _require_unchanged(context, decided, error)
        raise
    commit = replaced.commit
    with context.steps.step("reconcile"):
        holds = _reconcile(context, target, decided, plan, converted).holds
    told.counted(rows=converted.source.rows, files=len(converted.files))
    return CommittedFiles(
        plan,
        rows=converted.source.rows,
        removed=replaced.rows_removed,
        rejected_rows=converted.rejected_rows,
        reconciled=holds,
        version=commit.version,
        left=commit.left or commit.version,
        changes=schema_changes(plan.evolution) if plan.evolution.changes_schema else (),
        warnings=converted.warnings,
    )


def foretell_files(
    context: RunContext, target: Target, state: TableState, spec: IngestSpec, decided: Decided
) -> CommittedFiles:
    """What a commit would do, as far as it is known without converting."""
    plan = _plan(context, target, state, spec, decided)
    removed = 0
    if decided.removed:
        removed = target.totals(ColumnSlice({FILE: decided.removed}), ()).rows
    return CommittedFiles(plan, rows=decided.rows, removed=removed)


def _plan(context: RunContext, target: Target, state: TableState, spec: IngestSpec, decided: Decided) -> IngestPlan:
    remembered = {one.original: one.name for one in context.ledger.identities(target.address)}
    return plan_ingest(decided.loads, target, state, spec, remembered=remembered, settings=context.settings)


def _refuse_doubts(context: RunContext, warnings: Sequence[str]) -> None:
    if context.settings.strict and warnings:
        raise SourceError(
            f"--strict refuses {warnings[0]}" + (f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""),
            remedy="Without --strict this is a warning, and the files are loaded.",
        )


def _require_same(context: RunContext, decided: Decided) -> None:
    """Raises Changed where a file that several tasks have read, none of them all of it, is no longer the same."""
    files = [one.file for one in decided.loads]
    for place in large_files(files):
        file = files[place]
        now = context.storage.head(file.uri)
        if (now.size_bytes, now.etag) != (file.size_bytes, file.etag):
            raise Changed(f"{file.uri} was written over while it was read", uri=file.uri)


def _require_unchanged(context: RunContext, decided: Decided, error: LakebedError) -> None:
    """Raises Changed where the file that could not be read is no longer the one that was inspected."""
    for known in decided.loads:
        file = known.file
        if file.uri in error.message:
            now = context.storage.head(file.uri)
            if (now.size_bytes, now.etag) != (file.size_bytes, file.etag):
                raise Changed(f"{file.uri} was written over while it was read", uri=file.uri) from error


def _arrival(context: RunContext, spec: IngestSpec, decided: Decided, plan: IngestPlan, delivery: Delivery) -> Arrival:
    paths = frozenset(one.file.uri for one in decided.loads)

    def job(staging: Staging) -> ConvertJob:
        return ConvertJob(
            files=delivery.files,
            columns=plan.columns,
            constants={},
            staging=staging,
            partition=None,
            on_bad_value=context.settings.on_bad_value,
            limits=context.settings.limits,
            # What a file lacks leaves a hole where rows are updated; where they are added it is just not there.
            expected=bool(spec.keys),
            rounds=False,
            inferred=plan.inferred,
            aliases=plan.aliases,
            waiting=plan.waiting,
        )

    return Arrival(
        plan.evolution,
        plan.columns,
        ColumnSlice({FILE: decided.removed}) if decided.removed else None,
        rejected_slice=ColumnSlice({FILE: paths}),
        rejected_names=plan.columns.names,
        job=job,
        properties={
            "lakebed.run": context.id,
            "lakebed.plan": plan.evolution.hash,
            "lakebed.ingest.source": delivery.slice.payer,
            "lakebed.ingest.files": str(len(delivery.files)),
        },
        partition_by=tuple(plan.name(one) for one in spec.partition_by),
        # Whoever committed meanwhile may have brought the same files.
        follows_nobody=True,
    )


def _reconcile(
    context: RunContext, target: Target, decided: Decided, plan: IngestPlan, converted: Converted
) -> Reconciliation:
    """What the files summed up to, against what the table sums up to now."""
    loaded = ColumnSlice({FILE: frozenset(one.identity for one in decided.loads)})
    table = converted.source
    if decided.loads:
        table = slice_totals(target, loaded, plan.sum_columns, currency=None, engine=context.engine)
    return Reconciliation(converted.source, table, rejected_rows=converted.rejected_rows)


def _merge(
    context: RunContext,
    claim: Claim,
    address: Address,
    state: TableState,
    spec: IngestSpec,
    arrival: Arrival,
    plan: IngestPlan,
    check: Callable[[Converted], None],
    told: Task,
) -> CommittedFiles:
    """Converts into a staging of its own, whose files are then the source of an ordinary merge."""
    target = context.target(address)
    names = [*plan.columns.names, FILE]
    delivered = Schema.of(plan.evolution.final[name] for name in names)
    with staging_folder(context, claim, target, state, plan.evolution, arrival.partition_by) as opened:
        staging = replace(opened, schema=_nullable(to_arrow_schema(delivered)), partition_by=())
        with context.steps.step("convert"):
            converted = context.engine.convert(arrival.job(staging), context.observer.converted)
        check(converted)
        with context.steps.step("commit"):
            replace_rejected_rows(context, address, opened, arrival, converted)
            done = _merge_staged(context, target, spec, plan, staging, told) if converted.files else None
        target.abandon(opened)
    now = target.state()
    told.counted(rows=converted.source.rows, files=0 if done is None else len(done.files))
    return CommittedFiles(
        plan,
        rows=converted.source.rows,
        rejected_rows=converted.rejected_rows,
        # A merge counts what it plans, what it writes and what it leaves, and refuses where they differ.
        reconciled=True,
        version=now.version,
        left=now.seen,
        inserted=0 if done is None else done.inserted,
        updated=0 if done is None else done.updated,
        warnings=converted.warnings,
    )


def _merge_staged(
    context: RunContext, target: Target, spec: IngestSpec, plan: IngestPlan, staging: Staging, told: Task
) -> MergeResult:
    asked = MergeSpec.of(
        keys=[plan.name(one) for one in spec.keys],
        strategy=spec.strategy,
        dedup_order_by=[plan.name(one) for one in spec.dedup_order_by] or None,
        partition_by=[plan.name(one) for one in spec.partition_by] or None,
        on_conflict=context.settings.on_conflict,
    )
    options = EngineOptions(context.session.spark, asks_for_session=context.session.spark is not None)
    engine = choose_merge_engine(context.engine.name, staging.folder, options)
    storage = context.storage
    with engine.open(staging.folder, storage.settings.resolved(), context.settings) as rows:
        return merge_rows(asked, rows, target, storage, told, ledger_place=context.settings.ledger_place)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([one.with_nullable(True) for one in schema])
