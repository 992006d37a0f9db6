"""`lakebed reconcile`: what the source files summed up to, against the table; after each load and at any later time."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Unpack

from lakebed.errors import StateError
from lakebed.model import Delivery, Totals
from lakebed.pipeline.commit import CommittedLoad
from lakebed.pipeline.plan import find_currency_column
from lakebed.pipeline.reports import Reconciliation
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.tables import parse_target
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome, LoadRecord, SumRecord, schema_changes
from lakebed.targets.address import Address
from lakebed.targets.base import Target


@dataclass(frozen=True)
class ReconciledLoad:
    """One loaded delivery and its numbers; None where the ledger has no sums of its source files."""

    load: LoadRecord
    reconciliation: Reconciliation | None

    @property
    def holds(self) -> bool:
        """It adds up, and nothing was missing. An incomplete delivery never passes."""
        return self.reconciliation is not None and self.reconciliation.holds and self.load.complete

    def to_dict(self) -> dict[str, object]:
        slice_ = self.load.slice
        numbers = self.reconciliation.to_dict() if self.reconciliation is not None else {}
        return {
            "payer": slice_.payer,
            "report": slice_.report,
            "period": slice_.period,
            "delivery": self.load.delivery,
            "table": self.load.table,
            "complete": self.load.complete,
            **numbers,
            "reconciled": self.holds,
        }


@dataclass(frozen=True)
class ReconcileReport:
    """What `lakebed reconcile` prints."""

    loads: tuple[ReconciledLoad, ...]

    @property
    def holds(self) -> bool:
        return all(load.holds for load in self.loads)

    def to_dict(self) -> dict[str, object]:
        return {"reconciled": self.holds, "loads": [load.to_dict() for load in self.loads]}


def reconcile(
    target: str | os.PathLike[str],
    *,
    table: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    **settings: Unpack[RunSettings],
) -> ReconcileReport:
    """Adds up the table again and compares it with what every load found in its source files.

    >>> lakebed.reconcile("duckdb:costs.duckdb", period="2026-10").holds  # doctest: +SKIP
    True
    """
    workspace = open_workspace(workdir, settings)
    address = parse_target(target)
    wanted = address.with_table(table) if table is not None else address
    with workspace.ledger_for_reading() as ledger:
        loads = [
            load
            for load in ledger.loads()
            if load.state == "loaded"
            and _is_in(load.table, wanted)
            and period in (None, load.slice.period)
            and report in (None, load.slice.report)
            and payer in (None, load.slice.payer)
        ]
        if not loads:
            raise StateError(
                f"the ledger knows no load into {wanted}" + (f" for {period}" if period else ""),
                remedy="`lakebed status` lists the loads that it knows; --workdir chooses another ledger.",
            )
        targets: dict[str, Target] = {}
        done = []
        for load in loads:
            if load.table not in targets:
                targets[load.table] = workspace.target(load.table, read_only=True)
            done.append(_recheck_load(targets[load.table], load, ledger))
    return ReconcileReport(tuple(done))


def _is_in(table: str, wanted: Address) -> bool:
    found, asked = Address.parse(table), wanted.as_recorded()
    return found == (replace(asked, table=found.table) if asked.table is None else asked)


def _recheck_load(target: Target, load: LoadRecord, ledger: Ledger) -> ReconciledLoad:
    sums = ledger.sums(load.table, load.slice, load.delivery)
    if load.source_rows is None:
        return ReconciledLoad(load, None)
    columns = tuple(one.column for one in sums if one.currency is None)
    return ReconciledLoad(
        load,
        Reconciliation(
            source=_totals(load.source_rows, sums),
            table=target.totals(load.slice, columns, currency=find_currency_column(target.state().schema)),
            rounded={one.column: one.rounded for one in sums if one.currency is None and one.rounded},
            rejected_rows=load.rejected_rows,
        ),
    )


def _totals(rows: int, sums: Iterable[SumRecord]) -> Totals:
    by_currency: dict[str, dict[str, Decimal]] = {}
    over_all = {}
    for one in sums:
        if one.currency is None:
            over_all[one.column] = one.source
        else:
            by_currency.setdefault(one.currency, {})[one.column] = one.source
    return Totals(rows, over_all, by_currency)


def reconcile_load(target: Target, delivery: Delivery, committed: CommittedLoad) -> Reconciliation:
    """What the source files summed up to, against what the committed table sums up to now."""
    plan, converted = committed.plan, committed.converted
    return Reconciliation(
        source=converted.source,
        table=target.totals(delivery.slice, plan.sum_columns, currency=plan.currency_column),
        rounded={column: cost.difference for column, cost in converted.rounding.items() if cost.values},
        rounded_values={column: cost.values for column, cost in converted.rounding.items() if cost.values},
        rejected_rows=converted.rejected_rows,
    )


def load_outcome(
    delivery: Delivery, committed: CommittedLoad, reconciliation: Reconciliation, seconds: float
) -> LoadOutcome:
    """What the ledger keeps of a load: its numbers, its names, its steps of the schema and its sums."""
    return LoadOutcome(
        rows=reconciliation.table.rows,
        files=len(delivery.files),
        seconds=seconds,
        version=committed.commit.version,
        plan_hash=committed.plan.evolution.hash,
        complete=delivery.complete,
        reconciled=reconciliation.holds,
        source_rows=reconciliation.source.rows,
        rejected_rows=reconciliation.rejected_rows,
        identities=dict(committed.plan.identities.by_original),
        schema_changes=schema_changes(committed.plan.evolution),
        sums=_sum_records(reconciliation),
    )


def _sum_records(reconciliation: Reconciliation) -> tuple[SumRecord, ...]:
    """Every sum of a load, over all currencies and by each."""
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
