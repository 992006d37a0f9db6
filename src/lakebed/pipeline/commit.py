"""Converts a delivery's files and commits them in place of its slice's old rows: whole or not at all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from lakebed.engines.protocols.load import ConvertJob, Engine
from lakebed.errors import Changed, SourceError, UnplannedColumns
from lakebed.kernels.convert import quarantine_schema
from lakebed.model import (
    DELIVERY,
    PERIOD,
    RESERVED_COLUMNS,
    Converted,
    DataFile,
    Delivery,
    Slice,
    Staging,
)
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.decide import doubt_after_other_writers
from lakebed.pipeline.discover import KnownDeliveries
from lakebed.pipeline.plan import LoadPlan, plan_delivery, required_originals
from lakebed.pipeline.shrink import refuse_shrunken_month
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.source.later_columns import with_unplanned
from lakebed.source.stage import is_unchanged
from lakebed.state.claims import Claim
from lakebed.state.unrecorded import change_properties
from lakebed.storage import join
from lakebed.table.replace import Replacement, replace_slice
from lakebed.targets.address import Address
from lakebed.targets.base import Commit, TableState, Target

T = TypeVar("T")

# A delivery whose files keep bringing columns that no earlier file had is planned no more often than this.
MOST_PLANS = 8


@dataclass(frozen=True)
class CommittedLoad:
    """A delivery that is in its table: by which plan, with which numbers, in which commit."""

    plan: LoadPlan
    converted: Converted
    commit: Commit


def commit_delivery(
    context: RunContext, claim: Claim, address: Address, delivery: Delivery, known: KnownDeliveries
) -> CommittedLoad:
    """Plans, converts and commits a delivery. Raises ConcurrentModification where another writer was faster."""
    return with_later_columns(delivery, lambda planned: _plan_and_commit(context, claim, address, planned, known))


def with_later_columns(delivery: Delivery, attempt: Callable[[Delivery], T]) -> T:
    """What the attempt returns for the delivery with all columns of its files, whichever of them brings a column."""
    for _ in range(MOST_PLANS):
        try:
            return attempt(delivery)
        except UnplannedColumns as surprise:
            # A later file has columns that the first one lacks. They are columns of the delivery all the same.
            delivery = with_unplanned(delivery, surprise)
    raise SourceError(
        f"{delivery.slice}: its files still brought unknown columns after {MOST_PLANS} plans",
        remedy="Check that the files of this delivery belong together.",
    )


def _plan_and_commit(
    context: RunContext, claim: Claim, address: Address, delivery: Delivery, known: KnownDeliveries
) -> CommittedLoad:
    steps, target = context.steps, context.target(address)
    with steps.step("plan"):
        state = target.state()
        doubt_after_other_writers(target, state, context.ledger)
        schema = state.schema if state.exists else None
        others = known.of_report(delivery.slice.report) if schema is None else ()
        plan = plan_delivery(delivery, target, schema, known=others, ledger=context.ledger, settings=context.settings)
    with _staging_folder(context, claim, target, state, plan.evolution) as staging:
        with steps.step("convert"):
            job = _convert_job(context, delivery, plan, staging)
            converted = context.engine.convert(job, context.observer.converted)
        _require_loadable(context, delivery, converted)
        if not context.consent.accept_shrink:
            refuse_shrunken_month(
                delivery,
                converted,
                target,
                state,
                ledger=context.ledger,
                settings=context.settings,
                now=context.now,
            )
        context.observer.committing(delivery)
        properties = _commit_properties(context, delivery, plan)
        # Rejected rows go first: a crash in between leaves them in quarantine, and the next run replaces them.
        rejected = tuple(
            DataFile(join(staging.folder, file.path), file.rows, file.size_bytes) for file in converted.rejected_files
        )
        with steps.step("commit"):
            quarantine = context.target(address.beside("_rejected"))
            _replace_rejected_rows(quarantine, context.engine, delivery.slice, plan.columns.names, rejected, properties)
            told = {**properties, **change_properties(plan.evolution, context.settings.ledger_place)}
            replacement = Replacement(plan.evolution, delivery.slice, converted.files, told)
            replaced = replace_slice(target, context.engine, state, staging, replacement)
    return CommittedLoad(plan, converted, replaced.commit)


@contextmanager
def _staging_folder(
    context: RunContext, claim: Claim, target: Target, state: TableState, evolution: EvolutionPlan
) -> Iterator[Staging]:
    """A folder for the engine's files. The ledger knows of it before it is written to; without a commit it goes."""
    staging = target.stage(state, evolution, partition_by=(PERIOD,))
    context.ledger.open_staging(claim, staging.folder, table=target.address)
    try:
        context.require_shared(staging.folder)
        yield staging
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            # Tasks that are still being cancelled would write into the folder while it is removed.
            context.stop_session()
        target.abandon(staging)
        context.ledger.close_staging(staging.folder)
        raise
    context.ledger.close_staging(staging.folder)


def _convert_job(context: RunContext, delivery: Delivery, plan: LoadPlan, staging: Staging) -> ConvertJob:
    return ConvertJob(
        files=delivery.files,
        columns=plan.columns,
        constants={**delivery.slice.values, DELIVERY: delivery.id},
        staging=staging,
        partition=_partition(delivery.slice, staging),
        on_bad_value=context.settings.on_bad_value,
        currency_column=plan.currency_column,
        required=required_originals(delivery, plan.columns, context.settings.allow_missing),
        limits=context.settings.limits,
    )


def _partition(slice_: Slice, staging: Staging) -> dict[str, str]:
    return {PERIOD: slice_.period} if PERIOD in staging.partition_by else {}


def _require_loadable(context: RunContext, delivery: Delivery, converted: Converted) -> None:
    """Refuses warnings if strict, and files that were read in place and are no longer what was discovered."""
    if context.settings.strict and converted.warnings:
        raise SourceError(
            f"--strict refuses {delivery.slice}: {converted.warnings[0]}"
            + (f" (and {len(converted.warnings) - 1} more)" if len(converted.warnings) > 1 else ""),
            remedy="Without --strict this is a warning, and the rest is loaded.",
        )
    in_place = context.settings.no_stage and delivery.overwritten_in_place
    if in_place and not is_unchanged(delivery, context.storage):
        raise Changed(f"{delivery.slice} was written over while it was read", uri=delivery.manifest or "")


def _commit_properties(context: RunContext, delivery: Delivery, plan: LoadPlan) -> dict[str, str]:
    """What the commit says about itself."""
    return {
        "lakebed.run": context.id,
        "lakebed.plan": plan.evolution.hash,
        "lakebed.payer": delivery.slice.payer,
        "lakebed.report": delivery.slice.report,
        "lakebed.period": delivery.slice.period,
        "lakebed.delivery": delivery.id,
    }


def _replace_rejected_rows(
    quarantine: Target,
    engine: Engine,
    slice_: Slice,
    columns: Sequence[str],
    rejected: Sequence[DataFile],
    properties: Mapping[str, str],
) -> None:
    """Makes the quarantine hold just these rows for the slice. A quarantine that is not needed is not created."""
    state = quarantine.state()
    if not rejected and not state.exists:
        return
    current = state.schema if state.exists else None
    incoming = from_arrow_schema(quarantine_schema((*RESERVED_COLUMNS, *columns))) if rejected else state.schema
    evolution = plan_evolution(current, incoming, Policy(rules=quarantine.capabilities.rules))
    staging = quarantine.stage(state, evolution, partition_by=(PERIOD,))
    try:
        placed = [replace(file, partition=_partition(slice_, staging)) for file in rejected]
        files = engine.rewrite(placed, staging) if placed else ()
        replace_slice(quarantine, engine, state, staging, Replacement(evolution, slice_, files, properties))
    except BaseException:
        quarantine.abandon(staging)
        raise
