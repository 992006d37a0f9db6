"""`lakebed plan`: what a delivery does to its table, decided before the table is touched. `run` plans the same way."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Unpack

from lakebed.config import Settings
from lakebed.errors import HeaderError, SchemaIncompatible
from lakebed.model import RESERVED_COLUMNS, Delivery
from lakebed.pipeline.decide import Action, Consent, Decision, current_delivery, decide
from lakebed.pipeline.discover import KnownDeliveries, discover_to_load
from lakebed.pipeline.one_task import describe_one_task_files
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.tables import ReportKey, choose_tables, parse_target
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.identity import Identities
from lakebed.schema.names import Naming
from lakebed.schema.types import Column, Decimal, Schema, Text
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import is_allowed, with_columns
from lakebed.source.schema import assign_columns, incoming_schema
from lakebed.state.ledger import Ledger
from lakebed.targets.base import Target

# Which column holds the currency, by the formats that have one. Costs of different currencies are never added up.
CURRENCY_COLUMNS = ("line_item_currency_code", "billing_currency", "pricing_currency")


@dataclass(frozen=True)
class PlannedDelivery:
    """One delivery: what would become of it, and of the table's schema."""

    delivery: Delivery
    table: str
    decision: Decision
    evolution: EvolutionPlan | None  # None where nothing would be loaded
    notes: tuple[str, ...] = ()  # what makes its load slower than it could be
    columns: Schema | None = None  # the delivery's own, as the table would name and type them

    @property
    def action(self) -> Action:
        return self.decision.action

    def to_dict(self) -> dict[str, object]:
        slice_ = self.delivery.slice
        return {
            "payer": slice_.payer,
            "report": slice_.report,
            "period": slice_.period,
            "delivery": self.delivery.id,
            "table": self.table,
            "action": self.action,
            "reason": self.decision.reason,
            "replaces": self.decision.replaces,
            "complete": self.delivery.complete,
            "files": len(self.delivery.files),
            "size_bytes": self.delivery.size_bytes,
            "evolution": None if self.evolution is None else self.evolution.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class PlanReport:
    """What `lakebed plan` prints."""

    deliveries: tuple[PlannedDelivery, ...]
    warnings: tuple[str, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        return all(one.action == "skip" for one in self.deliveries)

    def to_dict(self) -> dict[str, object]:
        return {"deliveries": [one.to_dict() for one in self.deliveries], "warnings": list(self.warnings)}


def plan(
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
    reload: bool = False,
    replace: bool = False,
    **settings: Unpack[RunSettings],
) -> PlanReport:
    """Says what `run` would do: what would be loaded, replaced, added and widened. Touches nothing, ledger included.

    >>> _ = lakebed.sample("bills", months=2, rows=10, restate=False)
    >>> [(one.action, one.delivery.slice.period) for one in lakebed.plan("bills", "duckdb:costs.duckdb").deliveries]
    [('load', '2026-10'), ('load', '2026-09')]
    """
    workspace = open_workspace(workdir, settings)
    filters = DiscoverFilters(report, payer, period, since, until)
    found = discover_to_load(workspace, os.fspath(source), filters, Observer())
    known = KnownDeliveries(workspace, os.fspath(source), filters, found)
    tables = choose_tables(parse_target(target), (delivery.slice for delivery in found.deliveries), table=table)
    planned: list[PlannedDelivery] = []
    left: dict[str, Schema] = {}  # by table: each delivery is planned on the schema that the one before would leave
    with workspace.ledger_for_reading() as ledger:
        for delivery in found.deliveries:
            opened = workspace.target(tables[ReportKey.of(delivery.slice)], read_only=True)
            state = opened.state()
            current = current_delivery(opened, state, delivery.slice, ledger)
            decision = decide(delivery, current, strict=workspace.settings.strict, consent=Consent(reload, replace))
            evolution: EvolutionPlan | None = None
            columns: Schema | None = None
            notes: tuple[str, ...] = ()
            typed = delivery
            if decision.action in ("load", "replace"):
                try:
                    allowed, limits = workspace.settings.allow_missing, workspace.settings.limits
                    typed = with_columns(delivery, workspace.storage, limits, allow_missing=allowed)
                except HeaderError as unfit:
                    decision = Decision("refuse", unfit.message)
            if decision.action in ("load", "replace"):
                schema = left.get(opened.address, state.schema if state.exists else None)
                others = known.of_report(delivery.slice.report) if schema is None else ()
                load = plan_delivery(typed, opened, schema, known=others, ledger=ledger, settings=workspace.settings)
                evolution, columns = load.evolution, load.columns
                left[opened.address] = evolution.final
                notes = describe_one_task_files(delivery.files, workspace.storage)
            planned.append(PlannedDelivery(typed, opened.address, decision, evolution, notes, columns))
    return PlanReport(tuple(planned), warnings=found.all_warnings)


@dataclass(frozen=True)
class LoadPlan:
    """What a delivery does to its table: the names, the schema, and the delivery's own columns in it."""

    identities: Identities
    evolution: EvolutionPlan
    columns: Schema  # the delivery's own columns, by original, as the final table names and types them

    @property
    def sum_columns(self) -> tuple[str, ...]:
        """The decimal columns of the delivery, which are summed in the source and in the table."""
        return tuple(column.name for column in self.columns if isinstance(column.type, Decimal))

    @property
    def currency_column(self) -> str | None:
        return find_currency_column(self.columns)


def required_originals(delivery: Delivery, columns: Schema, allow_missing: Collection[str] = ()) -> tuple[str, ...]:
    """The originals that every file of a delivery must have: those that its manifest lists.

    Where nothing lists any, it is the numbers of the delivery: a file without its costs is no part of a bill.
    """
    numbers = (column for column in columns if isinstance(column.type, Decimal))
    wanted = (column.original for column in delivery.listed or numbers)
    return tuple(original for original in wanted if original and not is_allowed(original, allow_missing))


def find_currency_column(schema: Schema) -> str | None:
    return next((name for name in CURRENCY_COLUMNS if name in schema), None)


def plan_delivery(
    delivery: Delivery,
    target: Target,
    current: Schema | None,
    *,
    known: Sequence[Delivery],
    ledger: Ledger,
    settings: Settings,
) -> LoadPlan:
    """Plans with the names that the ledger remembers of the table, and with the rules of the table's format."""
    return plan_load(
        delivery,
        current,
        known=known,
        remembered={record.original: record.name for record in ledger.identities(target.address)},
        naming=settings.naming,
        decimals=settings.decimals,
        policy=Policy(on_conflict=settings.on_conflict, rules=target.capabilities.rules),
    )


def plan_load(
    delivery: Delivery,
    current: Schema | None,
    *,
    naming: Naming,
    decimals: str,
    policy: Policy,
    known: Sequence[Delivery] = (),
    remembered: dict[str, str] | None = None,
) -> LoadPlan:
    """What the table's schema becomes: names by identity, types by manifest, NULL for what is missing.

    A table that does not exist yet is created with the columns of every known delivery (`get_unified_schema` names
    and types the same), so that it is as wide on the first day as it must be; an existing one evolves by this delivery
    alone.
    """
    others = known if current is None else ()
    identities = Identities.from_schema(current or Schema(), aliases=remembered)
    for one in (delivery, *others):
        identities = assign_columns(identities, one.columns, naming)
    own = wanted = _typed(delivery, identities, current, decimals, policy)
    for other in others:
        if other.slice != delivery.slice:
            wanted = _unified(wanted, _typed(other, identities, wanted, decimals, policy), policy)
    evolution = plan_evolution(current, wanted, policy)
    sources = (plan_evolution(evolution.final, own, policy) if evolution.creates else evolution).sources
    columns = (
        Column(
            evolution.final[source.column].name,
            evolution.final[source.column].type,
            original=own[source.incoming].original,
        )
        for source in sources
        if source.incoming is not None and source.incoming not in RESERVED_COLUMNS
    )
    return LoadPlan(identities, evolution, Schema.of(columns))


def _unified(wanted: Schema, other: Schema, policy: Policy) -> Schema:
    """The columns of both. A month whose type does not fit is refused when it is loaded, and does not hinder others."""
    try:
        return plan_evolution(wanted, other, policy).final
    except SchemaIncompatible:
        new = Schema.of(column for column in other if column.name not in wanted)
        return plan_evolution(wanted, new, policy).final


def _typed(delivery: Delivery, identities: Identities, current: Schema | None, decimals: str, policy: Policy) -> Schema:
    columns = incoming_schema(
        delivery.columns,
        identities,
        decimals=decimals,
        current=current,
        # Who asks for variant columns wants other types beside the table's, not parsed into them.
        follow_table=policy.on_conflict == "refuse",
    )
    return columns.with_columns(Column(name, Text()) for name in RESERVED_COLUMNS)
