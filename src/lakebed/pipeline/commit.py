"""Converts a delivery's files and commits them in place of its slice's old rows: whole or not at all."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from lakebed.engines.protocols.load import ConvertJob
from lakebed.errors import Changed, SourceError, UnplannedColumns
from lakebed.kernels.convert import quarantine_schema
from lakebed.model import (
    DELIVERY,
    PERIOD,
    RESERVED_COLUMNS,
    AnySlice,
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
from lakebed.pipeline.retain import load_step
from lakebed.pipeline.shrink import refuse_shrunken_month
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.types import Schema
from lakebed.source.later_columns import with_unplanned
from lakebed.source.stage import is_unchanged
from lakebed.state.claims import Claim
from lakebed.state.unrecorded import change_properties
from lakebed.storage import join
from lakebed.table.replace import Replaced, Replacement, replace_slice
from lakebed.table.retention import copy_replaced, remove_copies
from lakebed.targets.address import Address
from lakebed.targets.base import Commit, TableState, Target
from lakebed.targets.load_log import HISTORY

T = TypeVar("T")

# A delivery whose files keep bringing columns that no earlier file had is planned no more often than this.
MOST_PLANS = 8


@dataclass(frozen=True)
class Arrival:
    """New rows for a table: by which plan, from which files, in place of which rows.

    `columns` are the table's columns that the files bring, by original; `partition_by` counts where the table is
    created. `rejected_slice` are the rows of earlier attempts in the quarantine, and `rejected_names` its columns.
    """

    evolution: EvolutionPlan
    columns: Schema
    slice: AnySlice | None
    rejected_slice: AnySlice
    rejected_names: tuple[str, ...]
    job: Callable[[Staging], ConvertJob]
    properties: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    rejected_partition_by: tuple[str, ...] = ()
    follows_nobody: bool = False


@dataclass(frozen=True)
class PlannedArrival:
    """A delivery's arrival, the plan that it came from, and the state of the table that it was planned on."""

    state: TableState
    plan: LoadPlan
    arrival: Arrival


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


def plan_arrival(context: RunContext, address: Address, delivery: Delivery, known: KnownDeliveries) -> PlannedArrival:
    """What a delivery does to its table as it is now."""
    target = context.target(address)
    state = target.state()
    doubt_after_other_writers(target, state, context.ledger)
    schema = state.schema if state.exists else None
    others = known.of_report(delivery.slice.report) if schema is None else ()
    plan = plan_delivery(delivery, target, schema, known=others, ledger=context.ledger, settings=context.settings)
    arrival = Arrival(
        plan.evolution,
        plan.columns,
        delivery.slice,
        rejected_slice=delivery.slice,
        rejected_names=(*RESERVED_COLUMNS, *plan.columns.names),
        job=lambda staging: _convert_job(context, delivery, plan, staging),
        properties=_commit_properties(context, delivery, plan),
        partition_by=(PERIOD,),
        rejected_partition_by=(PERIOD,),
    )
    return PlannedArrival(state, plan, arrival)


def _plan_and_commit(
    context: RunContext, claim: Claim, address: Address, delivery: Delivery, known: KnownDeliveries
) -> CommittedLoad:
    target = context.target(address)
    with context.steps.step("plan"):
        planned = plan_arrival(context, address, delivery, known)
    state, plan, arrival = planned.state, planned.plan, planned.arrival

    def check(converted: Converted) -> None:
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

    converted, replaced = commit_arrival(context, claim, address, state, arrival, check, delivery)
    return CommittedLoad(plan, converted, replaced.commit)


def commit_arrival(
    context: RunContext,
    claim: Claim,
    address: Address,
    state: TableState,
    arrival: Arrival,
    check: Callable[[Converted], None],
    delivery: Delivery | None = None,
) -> tuple[Converted, Replaced]:
    """Converts the files and commits them; `check` refuses what was converted and may not be committed.

    A `delivery` gets its line in the log of loads, and what it replaces is kept where that is asked for.
    """
    target = context.target(address)
    ahead = context.ahead.take(arrival) if context.ahead is not None else None
    with (
        staging_folder(context, claim, target, state, arrival.evolution, arrival.partition_by)
        if ahead is None
        else held_folder(context, target, ahead[0])
    ) as staging:
        if ahead is not None:
            converted = ahead[1]
        else:
            with context.steps.step("convert"):
                converted = context.engine.convert(arrival.job(staging), context.observer.converted)
        check(converted)
        with context.steps.step("commit"):
            # Rejected rows go first: a crash in between leaves them in quarantine, and the next run replaces them.
            replace_rejected_rows(context, address, staging, arrival, converted)
            told = {**arrival.properties, **change_properties(arrival.evolution, context.settings.ledger_place)}
            loads = None if delivery is None else load_step(context, target, state, delivery, converted, staging.id)
            if loads is not None and loads.keep and not target.capabilities.keeps_replaced:
                copy_replaced(target, context.target(address.beside(HISTORY)), context.engine, state, loads)
            replacement = Replacement(
                arrival.evolution,
                arrival.slice,
                converted.files,
                told,
                follows_nobody=arrival.follows_nobody,
                loads=loads,
            )
            replaced = replace_slice(target, context.engine, state, staging, replacement)
            if loads is not None and loads.forget and not target.capabilities.keeps_replaced:
                remove_copies(context.target(address.beside(HISTORY)), context.engine, state.log.after(loads))
    return converted, replaced


@contextmanager
def staging_folder(
    context: RunContext,
    claim: Claim,
    target: Target,
    state: TableState,
    evolution: EvolutionPlan,
    partition_by: tuple[str, ...],
) -> Iterator[Staging]:
    """A folder for the engine's files. The ledger knows of it before it is written to; without a commit it goes."""
    staging = target.stage(state, evolution, partition_by=partition_by)
    context.ledger.open_staging(claim, staging.folder, table=target.address)
    with held_folder(context, target, staging):
        context.require_shared(staging.folder)
        yield staging


@contextmanager
def held_folder(context: RunContext, target: Target, staging: Staging) -> Iterator[Staging]:
    """A folder that is open already, and goes without a commit."""
    try:
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


def replace_rejected_rows(
    context: RunContext, address: Address, staging: Staging, arrival: Arrival, converted: Converted
) -> None:
    """Makes the quarantine hold just the rejected rows for the slice. One that is not needed is not created."""
    rejected = [
        DataFile(join(staging.folder, file.path), file.rows, file.size_bytes) for file in converted.rejected_files
    ]
    quarantine, engine = context.target(address.beside("_rejected")), context.engine
    state = quarantine.state()
    if not rejected and not state.exists:
        return
    current = state.schema if state.exists else None
    incoming = from_arrow_schema(quarantine_schema(arrival.rejected_names)) if rejected else state.schema
    evolution = plan_evolution(current, incoming, Policy(rules=quarantine.capabilities.rules))
    beside = quarantine.stage(state, evolution, partition_by=arrival.rejected_partition_by)
    try:
        values = arrival.rejected_slice.values
        partition = {name: str(values[name]) for name in beside.partition_by}
        placed = [replace(file, partition=partition) for file in rejected]
        files = engine.rewrite(placed, beside) if placed else ()
        replacement = Replacement(evolution, arrival.rejected_slice, files, arrival.properties)
        replace_slice(quarantine, engine, state, beside, replacement)
    except BaseException:
        quarantine.abandon(beside)
        raise
