"""`lakebed run`: discover, decide, stage, load and reconcile. Each step takes the previous one's value."""

import dataclasses
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Unpack

from lakebed.checkpoints import pass_checkpoint
from lakebed.engines.registry import require_engine
from lakebed.errors import Changed, ClaimHeld, LakebedError, MissingFile, SourceError, TargetError
from lakebed.model import Delivery
from lakebed.pipeline.ahead import Ahead
from lakebed.pipeline.commit import commit_delivery, plan_arrival
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.decide import Consent, Decision, current_delivery, decide, doubt_after_other_writers
from lakebed.pipeline.discover import KnownDeliveries, discover_to_load, rediscover
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reconcile import load_outcome, reconcile_load, recount_load
from lakebed.pipeline.reports import DeliveryReport, RunReport, TableReport
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.stage import prepare_files, remove_unneeded_copies
from lakebed.pipeline.steps import Steps
from lakebed.pipeline.tables import ReportKey, choose_tables, parse_target
from lakebed.retry import count_retries, retry
from lakebed.source.filters import DiscoverFilters
from lakebed.state.claims import Claim
from lakebed.state.rebuild import describe_table
from lakebed.state.records import LoadRecord
from lakebed.storage import system_errors
from lakebed.table.events import Task, task
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.registry import require_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A delivery that is written over while it is read is read again.
READINGS = 3
INTERRUPTED = "the run was interrupted before this delivery was loaded; run again to load it"


def run(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    table: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    until: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    reload: bool = False,
    replace: bool = False,
    accept_shrink: bool = False,
    **settings: Unpack[RunSettings],
) -> RunReport:
    """Loads every delivery of a source that is not loaded yet, the newest period first, and reconciles each.

    A delivery that fails leaves its slice as it was and is reported; the others go on. Running again loads what failed
    and nothing else. What is loaded already is counted again where another writer has changed the table.

    `reload` loads again whatever is loaded, `replace` takes files without a manifest in place of others of the same
    report and period, and `accept_shrink` takes a closed month that has lost much of its rows or of its cost.

    >>> report = lakebed.run("s3://bucket/prefix", "duckdb:costs.duckdb", since="2026-01")  # doctest: +SKIP
    >>> report.rows, report.failed  # doctest: +SKIP
    (80000, ())
    """
    started = time.monotonic()
    workspace = open_workspace(workdir, settings)
    wanted = parse_target(target)
    # Before anything is discovered or copied in vain.
    require_engine("spark", "a load")
    require_target(wanted.kind, str(wanted))
    place, watch, steps = os.fspath(source), observer or Observer(), Steps()
    filters = DiscoverFilters(report, payer, period, since, until)
    with steps.step("discover"):
        found = discover_to_load(workspace, place, filters, watch)
    known = KnownDeliveries(workspace, place, filters, found)
    tables = choose_tables(wanted, (delivery.slice for delivery in found.deliveries), table=table)
    consent = Consent(reload, replace, accept_shrink)
    with (
        workspace.ledger() as ledger,
        RunContext(workspace, ledger, place, watch, spark, steps=steps, consent=consent) as context,
    ):
        ledger.record_discovered(found.deliveries, superseded=found.superseded, source=place)
        context.ahead = _look_ahead(context, known)
        waiting = [(delivery, tables[ReportKey.of(delivery.slice)]) for delivery in found.deliveries]
        reports: list[DeliveryReport] = []
        for place_in_line, (delivery, address) in enumerate(waiting):
            context.ahead.look(waiting[place_in_line:])
            with steps.of_delivery(delivery.slice):
                reports.append(_run_delivery(context, delivery, address, known=known))
            context.ahead.drop(delivery)
        return RunReport(
            tables=tuple(_table_reports(context, dict.fromkeys(tables.values()), reports)),
            deliveries=tuple(reports),
            warnings=found.all_warnings,
            seconds=_seconds_since(started),
        )


def _ahead(context: RunContext) -> Ahead:
    assert context.ahead is not None, "a run sets it before its first delivery"
    return context.ahead


def _look_ahead(context: RunContext, known: KnownDeliveries) -> Ahead:
    def prepare(delivery: Delivery, address: Address) -> Delivery | None:
        if _decide(context, context.target(address), delivery).action not in ("load", "replace"):
            return None
        return prepare_files(context, delivery, address)

    return Ahead(context, prepare, lambda delivery, address: plan_arrival(context, address, delivery, known))


def _run_delivery(
    context: RunContext, delivery: Delivery, address: Address, *, known: KnownDeliveries
) -> DeliveryReport:
    """Loads a delivery, or reports why not: a failure leaves its slice as it was, and the run goes on."""
    started = time.monotonic()
    try:
        with system_errors(str(address)):
            report = _load_if_needed(context, delivery, address, known)
    except ClaimHeld as busy:
        # Another run is at it: its state is not ours to write.
        base = DeliveryReport.of(delivery, str(address), "loading")
        report = dataclasses.replace(base, skipped=True, warnings=(str(busy),))
    except LakebedError as error:
        context.ledger.set_state(delivery.slice, delivery.id, "failed", error=str(error))
        base = DeliveryReport.of(delivery, str(address), "failed")
        report = dataclasses.replace(base, error=str(error), seconds=_seconds_since(started))
    except KeyboardInterrupt:
        context.ledger.set_state(delivery.slice, delivery.id, "failed", error=INTERRUPTED)
        raise
    report = dataclasses.replace(report, steps=dict(context.steps.seconds))
    context.observer.finished(report)
    return report


def _load_if_needed(
    context: RunContext, delivery: Delivery, address: Address, known: KnownDeliveries
) -> DeliveryReport:
    target = context.target(address)
    with _ahead(context).claim(target, delivery) as claim:
        with context.steps.step("decide"):
            decision = _decide(context, target, delivery)
        if decision.action == "refuse":
            raise _refusal(delivery, decision)
        if decision.action == "skip":
            return _skip(context, target, delivery, decision)
        for _ in range(READINGS - 1):
            try:
                return _load_delivery(context, claim, delivery, address, known)
            except Changed:
                delivery = rediscover(context.workspace, context.ledger, context.source, delivery)
        return _load_delivery(context, claim, delivery, address, known)


def _refusal(delivery: Delivery, decision: Decision) -> SourceError:
    if delivery.complete:
        return SourceError(f"{delivery.slice}: {decision.reason}", remedy=decision.remedy)
    manifest = delivery.manifest or str(delivery.slice)
    return MissingFile(manifest=manifest, files=delivery.missing_names, remedy=decision.reason)


def _decide(context: RunContext, target: Target, delivery: Delivery) -> Decision:
    state = target.state()
    if state.exists and not context.ledger.loads(target.address):
        context.ledger.rebuild([describe_table(target, state)])
    doubt_after_other_writers(target, state, context.ledger)
    current = current_delivery(target, state, delivery.slice, context.ledger)
    return decide(delivery, current, strict=context.settings.strict, consent=context.consent)


def _skip(context: RunContext, target: Target, delivery: Delivery, decision: Decision) -> DeliveryReport:
    loaded = context.ledger.current_load(target.address, delivery.slice)
    if loaded is not None and loaded.delivery == delivery.id:
        context.ledger.set_state(delivery.slice, delivery.id, "loaded")
        base = DeliveryReport.of(delivery, target.address, "loaded")
        checked = loaded if loaded.reconciled is not None else recount_load(target, loaded, context.ledger)
        found = dataclasses.replace(
            base,
            skipped=True,
            complete=loaded.complete,
            rows=checked.rows,
            reconciled=None if checked.reconciled is None else checked.reconciled and loaded.complete,
        )
        return found if checked.reconciled is not False else dataclasses.replace(found, warnings=(_says_no(loaded),))
    context.ledger.set_state(delivery.slice, delivery.id, "superseded")
    base = DeliveryReport.of(delivery, target.address, "superseded")
    return dataclasses.replace(base, skipped=True, warnings=(decision.reason,))


def _says_no(load: LoadRecord) -> str:
    return (
        f"{load.slice} does not add up to its source files. `lakebed reconcile` shows by what; "
        f"`lakebed run --reload --period {load.slice.period}` loads it again."
    )


def _load_delivery(
    context: RunContext, claim: Claim, delivery: Delivery, address: Address, known: KnownDeliveries
) -> DeliveryReport:
    """The steps of one delivery. The ledger records its begin, and its end or its failure."""
    with task("load", context.target(address).address) as told:
        told.reads(sorted({file.uri.rpartition("/")[0] for file in delivery.files}))
        return _load_and_reconcile(context, claim, delivery, address, known, told)


def _load_and_reconcile(
    context: RunContext, claim: Claim, delivery: Delivery, address: Address, known: KnownDeliveries, told: Task
) -> DeliveryReport:
    ready = _ahead(context).staged(delivery)
    if ready is None:
        with context.steps.step("stage"):
            ready = prepare_files(context, delivery, address)
    target, ledger, started = context.target(address), context.ledger, time.monotonic()
    context.observer.loading(ready)
    ledger.begin_load(claim, target.address, ready.slice, ready.id)
    try:
        with count_retries() as count, system_errors(target.address):
            committed = retry(
                lambda: commit_delivery(context, claim, address, ready, known),
                what=f"the load of {ready.slice} into {target.address}",
            )
            with context.steps.step("reconcile"):
                reconciliation = reconcile_load(target, ready, committed, context.engine)
                pass_checkpoint("reconciled")
    except (LakebedError, KeyboardInterrupt) as error:
        seconds = _seconds_since(started)
        why = str(error) if isinstance(error, LakebedError) else INTERRUPTED
        ledger.fail_load(claim, target.address, ready.slice, ready.id, why, seconds=seconds)
        raise
    seconds = round(_seconds_since(started) + _ahead(context).spent(ready), 3)
    outcome = load_outcome(ready, committed, reconciliation, seconds)
    ledger.finish_load(claim, target.address, ready.slice, ready.id, outcome)
    remove_unneeded_copies(context.workspace, ledger, ready)
    originals = {column.name: column.original or column.name for column in committed.plan.columns}
    told.wrote(committed.plan.evolution, originals)
    told.counted(rows=reconciliation.table.rows, files=len(committed.converted.files))
    return dataclasses.replace(
        DeliveryReport.of(ready, target.address, "loaded"),
        rows=reconciliation.table.rows,
        added_columns=committed.plan.evolution.added_columns,
        reconciled=reconciliation.holds and ready.complete,
        seconds=seconds,
        rejected_rows=reconciliation.rejected_rows,
        warnings=committed.converted.warnings,
        rounded=dict(reconciliation.rounded_values),
        retries=count.retries,
    )


def _table_reports(
    context: RunContext, addresses: Iterable[Address], reports: Sequence[DeliveryReport]
) -> Iterator[TableReport]:
    """The tables as the run leaves them. One that cannot be read is left out if its deliveries say so already."""
    for address in addresses:
        name = address.table or address.place.rstrip("/").rsplit("/", 1)[-1]
        try:
            target = context.target(address)
            yield TableReport(name, target.address, target.state().rows)
        except TargetError:
            if not any(report.error for report in reports):
                raise


def _seconds_since(started: float) -> float:
    return round(time.monotonic() - started, 3)
