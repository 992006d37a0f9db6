"""`lakebed reconcile`: what the source files summed up to, against the table; after each load and at any later time."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Unpack

from lakebed.engines.protocols.load import ConvertJob, Engine
from lakebed.engines.registry import local_engine
from lakebed.errors import NotFound, StateError
from lakebed.model import Delivery, Rounding, Slice, Staging, Totals
from lakebed.pipeline.commit import CommittedLoad, with_later_columns
from lakebed.pipeline.discover import discover_to_load
from lakebed.pipeline.plan import find_currency_column, plan_delivery, required_originals
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import Reconciliation
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.tables import ReportKey, choose_tables, parse_target
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.identity import Identities
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import with_columns
from lakebed.state.ledger import Ledger
from lakebed.state.rebuild import describe_table
from lakebed.state.records import LoadOutcome, LoadRecord, SumRecord, schema_changes
from lakebed.table.slice_totals import slice_totals
from lakebed.targets.address import Address
from lakebed.targets.base import TableState, Target
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class ReconciledLoad:
    """One loaded delivery and its numbers; None where nothing says what its source files sum up to."""

    slice: Slice
    delivery: str
    table: str
    complete: bool
    reconciliation: Reconciliation | None
    # The delivery whose rows the table has: another one where a load died between its commit and the ledger.
    held: str | None = None

    @classmethod
    def of(
        cls, load: LoadRecord, reconciliation: Reconciliation | None, *, held: str | None = None
    ) -> "ReconciledLoad":
        return cls(load.slice, load.delivery, load.table, load.complete, reconciliation, held or load.delivery)

    @property
    def holds(self) -> bool:
        """It adds up, and nothing was missing. An incomplete delivery never passes."""
        return self.reconciliation is not None and self.reconciliation.holds and self.complete

    def to_dict(self) -> dict[str, object]:
        numbers = self.reconciliation.to_dict() if self.reconciliation is not None else {}
        return {
            "payer": self.slice.payer,
            "report": self.slice.report,
            "period": self.slice.period,
            "delivery": self.delivery,
            "table": self.table,
            "complete": self.complete,
            **numbers,
            "reconciled": self.holds,
            "held_delivery": self.held,
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
    source: str | os.PathLike[str] | None = None,
    table: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    **settings: Unpack[RunSettings],
) -> ReconcileReport:
    """Adds up the table again and compares it with what every load found in its source files.

    With `source`, the source files are read again instead, and no ledger is needed: rows and sums are those of the
    files as they are now.

    >>> lakebed.reconcile("duckdb:costs.duckdb", period="2026-10").holds  # doctest: +SKIP
    True
    """
    workspace = open_workspace(workdir, settings)
    address = parse_target(target)
    wanted = address.with_table(table) if table is not None else address
    filters = DiscoverFilters(report, payer, period)
    with workspace.ledger_for_reading() as ledger:
        if source is not None:
            return ReconcileReport(tuple(_from_source(workspace, ledger, os.fspath(source), wanted, filters)))
        loads = [
            load
            for load in ledger.loads()
            if load.state == "loaded" and _is_in(load.table, wanted) and filters.wants(load.slice)
        ]
        if not loads:
            raise StateError(
                f"the ledger knows no load into {wanted}" + (f" for {period}" if period else ""),
                remedy="`lakebed status` lists the loads that it knows; --workdir chooses another ledger. With "
                "--source, the files are read again, and no ledger is needed.",
            )
        targets: dict[str, Target] = {}
        done = []
        for load in loads:
            if load.table not in targets:
                targets[load.table] = workspace.target(load.table, read_only=True)
            checked = _recheck_load(targets[load.table], load, ledger)
            held = None if checked is None or checked.holds else _held_delivery(targets[load.table], load)
            done.append(ReconciledLoad.of(load, checked, held=held))
    return ReconcileReport(tuple(done))


def _from_source(
    workspace: Workspace, ledger: Ledger, source: str, wanted: Address, filters: DiscoverFilters
) -> Iterator[ReconciledLoad]:
    """Every delivery that counts, and every other slice of the tables, whose files are not there to be read."""
    found = discover_to_load(workspace, source, filters, Observer())
    tables = choose_tables(wanted, (delivery.slice for delivery in found.deliveries))
    for address in dict.fromkeys(tables.values()):
        target = workspace.target(address, read_only=True)
        state = target.state()
        if not state.exists:
            raise NotFound(f"there is no table at {target.address}", uri=target.address)
        held = {load.slice: load for load in describe_table(target, state).loads if filters.wants(load.slice)}
        for delivery in found.deliveries:
            if tables[ReportKey.of(delivery.slice)] == address:
                load = held.pop(delivery.slice, None)
                numbers = _recount_files(workspace, ledger, target, state, delivery)
                # The rows may be those of another delivery than the one that counts now.
                id_ = load.delivery if load is not None else delivery.id
                yield ReconciledLoad(delivery.slice, id_, target.address, delivery.complete, numbers, held=id_)
        for load in held.values():
            yield ReconciledLoad(
                load.slice, load.delivery, target.address, complete=True, reconciliation=None, held=load.delivery
            )


def _recount_files(
    workspace: Workspace, ledger: Ledger, target: Target, state: TableState, delivery: Delivery
) -> Reconciliation:
    """Converts a delivery's files as a load would, into a folder that is thrown away, and keeps the numbers."""
    settings, storage = workspace.settings, workspace.storage
    typed = with_columns(delivery, storage, settings.limits, allow_missing=settings.allow_missing)

    def convert(planned: Delivery) -> Reconciliation:
        plan = plan_delivery(planned, target, state.schema, known=(), ledger=ledger, settings=settings)
        with tempfile.TemporaryDirectory(prefix="lakebed-reconcile-") as folder:
            converted = local_engine(storage.settings).convert(
                ConvertJob(
                    files=planned.files,
                    columns=plan.columns,
                    constants={},
                    staging=Staging("reconcile", folder, to_arrow_schema(plan.evolution.final)),
                    partition={},
                    # What a load has set aside is not in the table; what it has refused is not loaded at all.
                    on_bad_value="quarantine",
                    currency_column=plan.currency_column,
                    required=required_originals(planned, plan.columns, settings.allow_missing),
                    limits=settings.limits,
                )
            )
        return _compare(
            target,
            state,
            delivery.slice,
            converted.source,
            rounding=converted.rounding,
            rejected_rows=converted.rejected_rows,
            lost_columns=plan.evolution.added_columns,
        )

    return with_later_columns(typed, convert)


def _is_in(table: str, wanted: Address) -> bool:
    found, asked = Address.parse(table), wanted.as_recorded()
    return found == (replace(asked, table=found.table) if asked.table is None else asked)


def recount_load(target: Target, load: LoadRecord, ledger: Ledger) -> LoadRecord:
    """The load as it is in the table now, and has the ledger remember whether it adds up.

    Where the ledger has no sums of its source files, there is nothing to compare with, and nothing is said.
    """
    reconciliation = _recheck_load(target, load, ledger)
    if reconciliation is None:
        return load
    ledger.record_reconciled(load, holds=reconciliation.holds)
    return replace(load, rows=reconciliation.table.rows, reconciled=reconciliation.holds)


def _recheck_load(target: Target, load: LoadRecord, ledger: Ledger) -> Reconciliation | None:
    """What the ledger remembers of a load's source files, against the table now."""
    if load.source_rows is None:
        return None
    state = target.state()
    sums = ledger.sums(load.table, load.slice, load.delivery)
    known = Identities.from_schema(state.schema)
    # A column that another writer renamed still carries its original.
    lost = [
        one.name
        for one in ledger.identities(load.table)
        if one.name not in state.schema and one.original not in known.by_original
    ]
    rounded = {one.column: one.rounded for one in sums if one.currency is None and one.rounded}
    return _compare(
        target,
        state,
        load.slice,
        _totals(load.source_rows, sums),
        rounded=rounded,
        rejected_rows=load.rejected_rows,
        lost_columns=tuple(dict.fromkeys(lost)),
    )


def _held_delivery(target: Target, load: LoadRecord) -> str | None:
    """The one delivery whose rows the slice holds; None where there are none, or of several."""
    state = target.state()
    if not state.exists:
        return None
    held = {one.delivery for one in describe_table(target, state).loads if one.slice == load.slice}
    return held.pop() if len(held) == 1 else None


def _compare(
    target: Target,
    state: TableState,
    slice_: Slice,
    source: Totals,
    *,
    rounded: Mapping[str, Decimal] | None = None,
    rounding: Mapping[str, Rounding] | None = None,
    rejected_rows: int = 0,
    lost_columns: tuple[str, ...] = (),
) -> Reconciliation:
    """The source's numbers against the table's. A column that the table lacks sums up to nothing there."""
    costs = {column: cost for column, cost in (rounding or {}).items() if cost.values}
    present = tuple(column for column in source.sums if column in state.schema)
    currency = find_currency_column(state.schema) if source.by_currency else None
    return Reconciliation(
        source=source,
        table=target.totals(slice_, present, currency=currency),
        rounded={column: cost.difference for column, cost in costs.items()} if rounded is None else rounded,
        rounded_values={column: cost.values for column, cost in costs.items()},
        rejected_rows=rejected_rows,
        lost_columns=lost_columns,
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


def reconcile_load(target: Target, delivery: Delivery, committed: CommittedLoad, engine: Engine) -> Reconciliation:
    """What the source files summed up to, against what the committed table sums up to now."""
    plan, converted = committed.plan, committed.converted
    return Reconciliation(
        source=converted.source,
        table=slice_totals(target, delivery.slice, plan.sum_columns, currency=plan.currency_column, engine=engine),
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
        left=committed.commit.left,
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
