"""Repeats the reconciliation of loads at any later time: what the source files summed up to, against the table now."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from lakebed.errors import StateError
from lakebed.model import Totals
from lakebed.pipeline.incoming import CURRENCY_COLUMNS
from lakebed.pipeline.reports import Reconciliation
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadRecord, SumRecord
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.workspace import Workspace


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
    target: str,
    *,
    table: str | None = None,
    period: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    workdir: str | None = None,
) -> ReconcileReport:
    """Adds up the table again and compares it with what every load found in its source files."""
    workspace = Workspace.open({"workdir": workdir})
    address = Address.parse(target)
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
                targets[load.table] = workspace.target(load.table)
            done.append(_again(targets[load.table], load, ledger))
    return ReconcileReport(tuple(done))


def _is_in(table: str, wanted: Address) -> bool:
    found, asked = Address.parse(table), wanted.as_recorded()
    return found == (replace(asked, table=found.table) if asked.table is None else asked)


def _again(target: Target, load: LoadRecord, ledger: Ledger) -> ReconciledLoad:
    sums = ledger.sums(load.table, load.slice, load.delivery)
    if load.source_rows is None:
        return ReconciledLoad(load, None)
    schema = target.state().schema
    columns = tuple(one.column for one in sums if one.currency is None)
    currency = next((name for name in CURRENCY_COLUMNS if name in schema), None)
    return ReconciledLoad(
        load,
        Reconciliation(
            source=_totals(load.source_rows, sums),
            table=target.totals(load.slice, columns, currency=currency),
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
