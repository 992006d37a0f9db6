"""Loads one delivery into one table: plan, convert, commit, reconcile. Whole or not at all."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lakebed.engines.protocols.load import Converted, ConvertJob, Engine
from lakebed.errors import Changed, LakebedError, SourceError, UnplannedColumns
from lakebed.model import DELIVERY, PERIOD, DataFile, Delivery, SourceColumn, Staging
from lakebed.pipeline.incoming import Incoming, NamingChoice, plan_incoming
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.replacing import Replacement, replace_slice, set_aside
from lakebed.pipeline.reports import DeliveryReport, Reconciliation
from lakebed.retry import retry
from lakebed.schema.evolve import Policy
from lakebed.state.claims import Claim
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome, SumRecord, schema_changes
from lakebed.storage import join
from lakebed.targets.base import Commit, TableState, Target

# How often files may bring columns that the plan before did not know.
PLANS = 8


@dataclass(frozen=True)
class Loader:
    """Everything that loading into one table needs."""

    target: Target
    quarantine: Target
    engine: Engine
    ledger: Ledger
    choice: NamingChoice
    policy: Policy
    on_bad_value: str
    strict: bool
    run_id: str
    observer: Observer
    require_reachable: Callable[[str], None]  # raises where the engine's workers cannot write into a folder

    @property
    def table(self) -> str:
        """The table's name in the ledger."""
        return self.target.address

    def load(
        self, claim: Claim, delivery: Delivery, known: Sequence[Delivery], *, still_same: Callable[[], bool]
    ) -> DeliveryReport:
        """Loads a staged delivery and records it; a failure is recorded with its message and raised.

        `still_same` is asked after reading and before the commit; Changed is raised where the answer is no.
        """
        started = time.monotonic()
        self.ledger.begin_load(claim, self.table, delivery.slice, delivery.id)
        try:
            loaded = self._with_retries(claim, delivery, known, still_same)
            reconciliation = reconcile(self.target, delivery, loaded.incoming, loaded.converted)
        except LakebedError as error:
            seconds = time.monotonic() - started
            self.ledger.fail_load(claim, self.table, delivery.slice, delivery.id, str(error), seconds=seconds)
            raise
        seconds = round(time.monotonic() - started, 3)
        outcome = _outcome(delivery, loaded, reconciliation, seconds)
        self.ledger.finish_load(claim, self.table, delivery.slice, delivery.id, outcome)
        return _report(self.table, delivery, loaded, reconciliation, seconds)

    def _with_retries(
        self, claim: Claim, delivery: Delivery, known: Sequence[Delivery], still_same: Callable[[], bool]
    ) -> "_Loaded":
        for _ in range(PLANS):
            try:
                return retry(
                    partial(self._once, claim, delivery, known, still_same),
                    what=f"the load of {delivery.slice} into {self.table}",
                )
            except UnplannedColumns as surprise:
                # A later file has columns that the first one lacks. They are columns of the delivery all the same.
                new = tuple(SourceColumn(name) for name in surprise.names)
                delivery = replace(delivery, columns=(*delivery.columns, *new))
        raise SourceError(
            f"{delivery.slice}: its files still brought unknown columns after {PLANS} plans",
            remedy="Check that the files of this delivery belong together.",
        )

    def _once(
        self, claim: Claim, delivery: Delivery, known: Sequence[Delivery], still_same: Callable[[], bool]
    ) -> "_Loaded":
        state = self.target.state()
        incoming = self.plan(delivery, state, known)
        staging = self.target.stage(state, incoming.evolution, partition_by=(PERIOD,))
        self.ledger.open_staging(claim, staging.folder, table=self.table)
        try:
            self.require_reachable(staging.folder)
            converted = self.engine.convert(self._job(delivery, incoming, staging), self.observer.converted)
            if self.strict and converted.warnings:
                raise SourceError(
                    f"--strict refuses {delivery.slice}: {converted.warnings[0]}"
                    + (f" (and {len(converted.warnings) - 1} more)" if len(converted.warnings) > 1 else ""),
                    remedy="Without --strict this is a warning, and the rest is loaded.",
                )
            if not still_same():
                raise Changed(f"{delivery.slice} was written over while it was read", uri=delivery.manifest or "")
            self.observer.committing(delivery)
            commit = self._commit(state, staging, delivery, incoming, converted)
        except BaseException:
            self.target.abandon(staging)
            self.ledger.close_staging(staging.folder)
            raise
        self.ledger.close_staging(staging.folder)
        return _Loaded(incoming, converted, commit)

    def plan(self, delivery: Delivery, state: TableState, known: Sequence[Delivery]) -> Incoming:
        """What this delivery would do to the table's schema. Touches nothing."""
        remembered = {record.original: record.name for record in self.ledger.identities(self.table)}
        return plan_incoming(
            delivery,
            state.schema if state.exists else None,
            known=known,
            remembered=remembered,
            choice=self.choice,
            policy=replace(self.policy, rules=self.target.capabilities.rules),
        )

    def _job(self, delivery: Delivery, incoming: Incoming, staging: Staging) -> ConvertJob:
        return ConvertJob(
            files=delivery.files,
            columns=incoming.columns,
            constants={**delivery.slice.values, DELIVERY: delivery.id},
            staging=staging,
            partition={PERIOD: delivery.slice.period} if PERIOD in staging.partition_by else {},
            on_bad_value="quarantine" if self.on_bad_value == "quarantine" else "refuse",
            currency_column=incoming.currency_column,
        )

    def _commit(
        self, state: TableState, staging: Staging, delivery: Delivery, incoming: Incoming, converted: Converted
    ) -> Commit:
        properties = {
            "lakebed.run": self.run_id,
            "lakebed.plan": incoming.evolution.hash,
            "lakebed.payer": delivery.slice.payer,
            "lakebed.report": delivery.slice.report,
            "lakebed.period": delivery.slice.period,
            "lakebed.delivery": delivery.id,
        }
        # The rows set aside go first: a crash in between leaves them there, and the next run replaces them.
        rejected = tuple(
            DataFile(join(staging.folder, file.path), file.rows, file.size_bytes) for file in converted.rejected_files
        )
        set_aside(self.quarantine, self.engine, delivery.slice, incoming.columns.names, rejected, properties)
        return replace_slice(
            self.target,
            self.engine,
            state,
            staging,
            Replacement(incoming.evolution, delivery.slice, converted.files, properties),
        )


@dataclass(frozen=True)
class _Loaded:
    incoming: Incoming
    converted: Converted
    commit: Commit


def reconcile(target: Target, delivery: Delivery, incoming: Incoming, converted: Converted) -> Reconciliation:
    """What the source files summed up to, against what the committed table sums up to now."""
    table = target.totals(delivery.slice, incoming.sum_columns, currency=incoming.currency_column)
    return Reconciliation(
        source=converted.source,
        table=table,
        rounded={column: cost.difference for column, cost in converted.rounding.items() if cost.values},
        rounded_values={column: cost.values for column, cost in converted.rounding.items() if cost.values},
        rejected_rows=converted.rejected_rows,
    )


def _outcome(delivery: Delivery, loaded: _Loaded, reconciliation: Reconciliation, seconds: float) -> LoadOutcome:
    return LoadOutcome(
        rows=reconciliation.table.rows,
        files=len(delivery.files),
        seconds=seconds,
        version=loaded.commit.version,
        plan_hash=loaded.incoming.evolution.hash,
        complete=delivery.complete,
        reconciled=reconciliation.holds,
        source_rows=reconciliation.source.rows,
        rejected_rows=reconciliation.rejected_rows,
        identities=dict(loaded.incoming.identities.by_original),
        schema_changes=schema_changes(loaded.incoming.evolution),
        sums=sum_records(reconciliation),
    )


def sum_records(reconciliation: Reconciliation) -> tuple[SumRecord, ...]:
    """Every sum of a load, over all currencies and by each, as the ledger keeps them."""
    source, table = reconciliation.source, reconciliation.table
    over_all = (
        SumRecord(column, None, total, table.sums[column], reconciliation.rounded.get(column, total * 0))
        for column, total in source.sums.items()
    )
    by_currency = (
        SumRecord(column, currency, total, table.by_currency.get(currency, {}).get(column, total * 0))
        for currency, sums in source.by_currency.items()
        for column, total in sums.items()
    )
    return (*over_all, *by_currency)


def _report(
    table: str, delivery: Delivery, loaded: _Loaded, reconciliation: Reconciliation, seconds: float
) -> DeliveryReport:
    return DeliveryReport(
        payer=delivery.slice.payer,
        report=delivery.slice.report,
        period=delivery.slice.period,
        delivery=delivery.id,
        state="loaded",
        complete=delivery.complete,
        rows=reconciliation.table.rows,
        files=len(delivery.files),
        added_columns=loaded.incoming.evolution.added_columns,
        reconciled=reconciliation.holds and delivery.complete,
        seconds=seconds,
        table=table,
        rejected_rows=reconciliation.rejected_rows,
        warnings=loaded.converted.warnings,
        rounded=dict(reconciliation.rounded_values),
    )
