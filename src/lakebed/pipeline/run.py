"""`lakebed run`: discover, decide, stage, load and reconcile. Each step takes the previous one's value."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from lakebed.checkpoints import pass_checkpoint
from lakebed.errors import Changed, ClaimHeld, LakebedError, MissingFile, TargetError
from lakebed.model import Delivery
from lakebed.pipeline.commit import commit_delivery
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.decide import Decision, current_delivery, decide
from lakebed.pipeline.discover import discover_to_load, rediscover
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reconcile import load_outcome, reconcile_load
from lakebed.pipeline.reports import DeliveryReport, RunReport, TableReport
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.stage import prepare_files, remove_unneeded_copies
from lakebed.pipeline.tables import ReportKey, choose_tables, parse_target
from lakebed.retry import retry
from lakebed.source.filters import DiscoverFilters
from lakebed.state.claims import Claim
from lakebed.state.rebuild import describe_table
from lakebed.targets.address import Address
from lakebed.targets.base import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A delivery that is written over while it is read is read again.
READINGS = 3


def run(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    table: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    **settings: Unpack[RunSettings],
) -> RunReport:
    """Loads every delivery of a source that is not loaded yet, the newest period first, and reconciles each.

    A delivery that fails leaves its slice as it was and is reported; the others go on. Running again loads what failed
    and nothing else.

    >>> report = lakebed.run("s3://bucket/prefix", "duckdb:costs.duckdb", since="2026-01")  # doctest: +SKIP
    >>> report.rows, report.failed  # doctest: +SKIP
    (80000, ())
    """
    started = time.monotonic()
    workspace = open_workspace(workdir, settings)
    place, watch = os.fspath(source), observer or Observer()
    found = discover_to_load(workspace, place, DiscoverFilters(report, payer, period, since), watch)
    tables = choose_tables(parse_target(target), (delivery.slice for delivery in found.deliveries), table=table)
    with workspace.ledger() as ledger, RunContext(workspace, ledger, place, watch, spark) as context:
        ledger.record_discovered(found.deliveries, superseded=found.superseded, source=place)
        reports = tuple(
            _run_delivery(context, delivery, tables[ReportKey.of(delivery.slice)], known=found.deliveries)
            for delivery in found.deliveries
        )
        return RunReport(
            tables=tuple(_table_reports(context, dict.fromkeys(tables.values()), reports)),
            deliveries=reports,
            warnings=found.all_warnings,
            seconds=_seconds_since(started),
        )


def _run_delivery(
    context: RunContext, delivery: Delivery, address: Address, *, known: Sequence[Delivery]
) -> DeliveryReport:
    """Loads a delivery, or reports why not: a failure leaves its slice as it was, and the run goes on."""
    started = time.monotonic()
    try:
        report = _load_if_needed(context, delivery, address, known)
    except ClaimHeld as busy:
        # Another run is at it: its state is not ours to write.
        base = DeliveryReport.of(delivery, str(address), "loading")
        report = replace(base, skipped=True, warnings=(str(busy),))
    except LakebedError as error:
        context.ledger.set_state(delivery.slice, delivery.id, "failed", error=str(error))
        base = DeliveryReport.of(delivery, str(address), "failed")
        report = replace(base, error=str(error), seconds=_seconds_since(started))
    context.observer.finished(report)
    return report


def _load_if_needed(
    context: RunContext, delivery: Delivery, address: Address, known: Sequence[Delivery]
) -> DeliveryReport:
    target = context.target(address)
    with context.ledger.claim_load(target.address, delivery.slice) as claim:
        decision = _decide(context, target, delivery)
        if decision.action == "refuse":
            manifest = delivery.manifest or str(delivery.slice)
            raise MissingFile(manifest=manifest, files=delivery.missing, remedy=decision.reason)
        if decision.action == "skip":
            return _skip(context, target, delivery, decision)
        for _ in range(READINGS - 1):
            try:
                return _load_delivery(context, claim, delivery, address, known)
            except Changed:
                delivery = rediscover(context.workspace, context.ledger, context.source, delivery)
        return _load_delivery(context, claim, delivery, address, known)


def _decide(context: RunContext, target: Target, delivery: Delivery) -> Decision:
    state = target.state()
    if state.exists and not context.ledger.loads(target.address):
        context.ledger.rebuild([describe_table(target, state)])
    current = current_delivery(target, state, delivery.slice, context.ledger)
    return decide(delivery, current, strict=context.settings.strict)


def _skip(context: RunContext, target: Target, delivery: Delivery, decision: Decision) -> DeliveryReport:
    loaded = context.ledger.current_load(target.address, delivery.slice)
    if loaded is not None and loaded.delivery == delivery.id:
        context.ledger.set_state(delivery.slice, delivery.id, "loaded")
        base = DeliveryReport.of(delivery, target.address, "loaded")
        return replace(base, skipped=True, rows=loaded.rows, reconciled=loaded.reconciled)
    context.ledger.set_state(delivery.slice, delivery.id, "superseded")
    base = DeliveryReport.of(delivery, target.address, "superseded")
    return replace(base, skipped=True, warnings=(decision.reason,))


def _load_delivery(
    context: RunContext, claim: Claim, delivery: Delivery, address: Address, known: Sequence[Delivery]
) -> DeliveryReport:
    """The steps of one delivery. The ledger records its begin, and its end or its failure."""
    ready = prepare_files(context, delivery, address)
    target, ledger, started = context.target(address), context.ledger, time.monotonic()
    context.observer.loading(ready)
    ledger.begin_load(claim, target.address, ready.slice, ready.id)
    try:
        committed = retry(
            lambda: commit_delivery(context, claim, address, ready, known),
            what=f"the load of {ready.slice} into {target.address}",
        )
        reconciliation = reconcile_load(target, ready, committed)
        pass_checkpoint("reconciled")
    except LakebedError as error:
        seconds = _seconds_since(started)
        ledger.fail_load(claim, target.address, ready.slice, ready.id, str(error), seconds=seconds)
        raise
    seconds = _seconds_since(started)
    outcome = load_outcome(ready, committed, reconciliation, seconds)
    ledger.finish_load(claim, target.address, ready.slice, ready.id, outcome)
    remove_unneeded_copies(context.workspace, ledger, ready)
    return replace(
        DeliveryReport.of(ready, target.address, "loaded"),
        rows=reconciliation.table.rows,
        added_columns=committed.plan.evolution.added_columns,
        reconciled=reconciliation.holds and ready.complete,
        seconds=seconds,
        rejected_rows=reconciliation.rejected_rows,
        warnings=committed.converted.warnings,
        rounded=dict(reconciliation.rounded_values),
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
