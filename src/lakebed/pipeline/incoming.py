"""From a delivery's columns to an evolution plan: names by identity, types by manifest, NULL for what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.model import RESERVED_COLUMNS, Delivery
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.identity import Identities, assign
from lakebed.schema.names import Naming
from lakebed.schema.types import Column, Decimal, Schema, Text
from lakebed.source.schema import incoming_schema

# Which column holds the currency, by the formats that have one. Costs of different currencies are never added up.
CURRENCY_COLUMNS = ("line_item_currency_code", "billing_currency", "pricing_currency")


@dataclass(frozen=True)
class NamingChoice:
    """How columns of a table are named and typed."""

    naming: Naming
    decimals: str


@dataclass(frozen=True)
class Incoming:
    """A delivery as the table will take it."""

    identities: Identities
    evolution: EvolutionPlan
    columns: Schema  # the delivery's own columns, by original, as the final table names and types them

    @property
    def sum_columns(self) -> tuple[str, ...]:
        """The decimal columns of the delivery, which are summed in the source and in the table."""
        return tuple(column.name for column in self.columns if isinstance(column.type, Decimal))

    @property
    def currency_column(self) -> str | None:
        return next((name for name in CURRENCY_COLUMNS if name in self.columns), None)


def plan_incoming(
    delivery: Delivery,
    current: Schema | None,
    *,
    known: Sequence[Delivery] = (),
    remembered: dict[str, str] | None = None,
    choice: NamingChoice,
    policy: Policy,
) -> Incoming:
    """What the table's schema becomes for this delivery.

    A table that does not exist yet is created with the columns of every known delivery, so that it is as wide on the
    first day as it must be; an existing one evolves by this delivery alone.
    """
    identities = Identities.from_schema(current or Schema(), aliases=remembered)
    identities = _assign(identities, delivery, choice)
    if current is None:
        for other in known:
            identities = _assign(identities, other, choice)
    own = _typed(delivery, identities, current, choice, policy)
    if current is None:
        unified = own
        for other in known:
            if other.slice != delivery.slice:
                unified = plan_evolution(unified, _typed(other, identities, unified, choice, policy), policy).final
        evolution = plan_evolution(None, unified, policy)
        own_sources = plan_evolution(evolution.final, own, policy).sources
    else:
        evolution = plan_evolution(current, own, policy)
        own_sources = evolution.sources
    columns = (
        Column(
            evolution.final[source.column].name,
            evolution.final[source.column].type,
            original=own[source.incoming].original,
        )
        for source in own_sources
        if source.incoming is not None and source.incoming not in RESERVED_COLUMNS
    )
    return Incoming(identities, evolution, Schema.of(columns))


def _assign(identities: Identities, delivery: Delivery, choice: NamingChoice) -> Identities:
    originals = [column.original for column in delivery.columns]
    return assign(identities, originals, choice.naming, finished_names=has_finished_names(delivery))


def has_finished_names(delivery: Delivery) -> bool:
    """Parquet and Data Exports deliver the names of tables; a CUR's header has categories."""
    return all("/" not in column.original for column in delivery.columns)


def _typed(
    delivery: Delivery, identities: Identities, current: Schema | None, choice: NamingChoice, policy: Policy
) -> Schema:
    columns = incoming_schema(
        delivery.columns,
        identities,
        decimals=choice.decimals,
        current=current,
        # Who asks for variant columns wants other types beside the table's, not parsed into them.
        follow_table=policy.on_conflict == "refuse",
    )
    return columns.with_columns(Column(name, Text()) for name in RESERVED_COLUMNS)
