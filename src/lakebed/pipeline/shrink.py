"""The shrink guard: a closed month that loses much of its rows or of its cost is refused until the user says yes."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from lakebed.config import Settings
from lakebed.errors import ShrinkRefused
from lakebed.kernels.values import EXACT
from lakebed.model import Converted, Delivery
from lakebed.schema.types import Schema
from lakebed.state.ledger import Ledger
from lakebed.targets.base import TableState, Target

# What a month costs, by the formats that have it.
COST_COLUMNS = ("line_item_unblended_cost", "billed_cost")


@dataclass(frozen=True, slots=True)
class MonthFigures:
    """How many rows a month has, and what they cost in sum; None where the table has no such column."""

    rows: int
    cost: Decimal | None = None

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return rows + (f" and a cost of {self.cost.normalize(EXACT):f}" if self.cost is not None else "")


def is_closed(period: str, now: datetime) -> bool:
    """Whether a month is over: `2026-10` is, from November on."""
    return period < now.strftime("%Y-%m")


def shrinks(before: MonthFigures, after: MonthFigures, limit: float) -> bool:
    """Whether rows or cost fall by more than this share. Of a month that cost nothing, or less, only rows can fall."""
    kept = 1 - Decimal(str(limit))
    if after.rows < before.rows * kept:
        return True
    return before.cost is not None and before.cost > 0 and (after.cost or Decimal(0)) < before.cost * kept


def refuse_shrunken_month(
    delivery: Delivery,
    converted: Converted,
    target: Target,
    state: TableState,
    *,
    ledger: Ledger,
    settings: Settings,
    now: datetime,
) -> None:
    """Raises ShrinkRefused where the delivery would take much of a closed month away. A limit of 1 asks nothing."""
    limit = settings.shrink_limit_of(delivery.slice.report)
    if not state.exists or limit >= 1 or not is_closed(delivery.slice.period, now):
        return
    record = ledger.current_load(target.address, delivery.slice)
    if record is not None and record.delivery == delivery.id:
        return  # the same delivery, loaded again
    cost = find_cost_column(state.schema)
    sums = ledger.sums(target.address, delivery.slice, record.delivery) if record is not None else ()
    remembered = {one.column: one.table for one in sums if one.currency is None}
    if record is not None and (cost is None or cost in remembered):
        before = MonthFigures(record.rows, remembered[cost] if cost is not None else None)
    else:
        # The ledger does not know what was loaded: the table does.
        there = target.totals(delivery.slice, (cost,) if cost is not None else ())
        before = MonthFigures(there.rows, there.sums[cost] if cost is not None else None)
    found = converted.source
    after = MonthFigures(found.rows, found.sums.get(cost, Decimal(0)) if cost is not None else None)
    if shrinks(before, after, limit):
        raise ShrinkRefused(
            slice_=str(delivery.slice),
            delivery=delivery.id,
            loaded=record.delivery if record is not None else None,
            before=str(before),
            after=str(after),
            limit=limit,
        )


def find_cost_column(schema: Schema) -> str | None:
    return next((name for name in COST_COLUMNS if name in schema), None)
