"""`lakebed sums`: exact sums and rows of each month, now or as they were known on a day, and where they come from."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from lakebed.engines.protocols.load import Engine
from lakebed.errors import NotFound, SchemaError
from lakebed.kernels.sums import add_totals
from lakebed.model import Totals
from lakebed.pipeline.plan import find_currency_column
from lakebed.pipeline.shrink import find_cost_column
from lakebed.schema.types import Decimal as DecimalType
from lakebed.schema.types import Float, Integer, Schema
from lakebed.table.as_of import HeldRows, Moment, TableLoads, gone_error, parse_moment
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import TableLike, open_table
from lakebed.table.session_engine import table_engine
from lakebed.table.slice_totals import totals_of_rows
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class LoadSums:
    """Rows and sums of one delivery of one month."""

    payer: str
    report: str
    period: str
    delivery: str | None
    loaded_at: datetime | None
    where: str
    totals: Totals
    current: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "payer": self.payer,
            "report": self.report,
            "period": self.period,
            "delivery": self.delivery,
            "loadedAt": self.loaded_at,
            "from": self.where,
            "current": self.current,
            "rows": self.totals.rows,
            "byCurrency": by_currency(self.totals),
        }


@dataclass(frozen=True)
class Sums:
    """What a table's months sum up to, and on which deliveries that rests."""

    table: str
    as_of: datetime | None
    columns: tuple[str, ...]
    loads: tuple[LoadSums, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def totals(self) -> Totals:
        """All months together."""
        return add_totals([Totals(0, dict.fromkeys(self.columns, Decimal(0))), *(one.totals for one in self.loads)])

    @property
    def periods(self) -> Mapping[str, Totals]:
        """Each month, the oldest first."""
        names = sorted({one.period for one in self.loads})
        return {name: add_totals(one.totals for one in self.loads if one.period == name) for name in names}

    def to_dict(self) -> dict[str, object]:
        total = self.totals
        return {
            "table": self.table,
            "asOf": self.as_of,
            "columns": list(self.columns),
            "rows": total.rows,
            "byCurrency": by_currency(total),
            "periods": [
                {"period": name, "rows": one.rows, "byCurrency": by_currency(one)} for name, one in self.periods.items()
            ],
            "loads": [one.to_dict() for one in self.loads],
            "warnings": list(self.warnings),
        }


def by_currency(totals: Totals) -> dict[str, dict[str, Decimal]]:
    """The sums of each currency, which are never added up; under '' those of rows that name none."""
    found = totals.by_currency or ({"": totals.sums} if totals.rows else {})
    return {code: dict(found[code]) for code in sorted(found)}


def sums(
    target: TableLike,
    *,
    as_of: Moment | None = None,
    columns: Sequence[str] | None = None,
    period: str | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
) -> Sums:
    """Exact sums and rows of each month of a loaded table, by currency: now, or as they were known on a day.

    `as_of` is a day, which means its end, or a moment in UTC. A delivery counts from its load on. The sums are those of
    the cost column, or of the `columns` that are named. Raises TargetError, naming the delivery, where the table held
    rows then that were not retained. It is counted in this process, or on Spark where `spark`, `master` or `remote` say
    which.

    >>> lakebed.sums("duckdb:costs.duckdb#report", as_of="2026-10-05").totals.rows  # doctest: +SKIP
    40000
    """
    opened = open_table(target, workdir=workdir, read_only=True)
    workspace = Workspace.open(
        {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    )
    moment = None if as_of is None else parse_moment(as_of)
    with workspace.ledger_for_reading() as ledger:
        loads = TableLoads.of(opened, ledger)
    held = loads.now() if moment is None else loads.at(moment)
    chosen = [one for one in held if period is None or one.load.slice.period == period]
    schema = opened.state().schema
    summed = sum_columns(schema, columns, table=opened.address)
    currency = find_currency_column(schema)
    on_spark = spark is not None or master is not None or remote is not None
    storage, what = storage_of(opened, workspace.storage), f"the sums of {opened.address}"
    with table_engine(workspace.settings, storage, spark, on_spark=on_spark, what=what) as engine:
        done = tuple(_load_sums(one, summed, currency, engine) for one in chosen)
    warnings = tuple(
        f"{one.where} has {said.totals.rows} rows of delivery {said.delivery} of {one.load.slice}, and {one.load.rows} "
        "were loaded: another program has changed them since"
        for one, said in zip(chosen, done, strict=True)
        if said.totals.rows != one.load.rows
    )
    return Sums(opened.address, moment, summed, done, warnings)


def _load_sums(held: HeldRows, columns: Sequence[str], currency: str | None, engine: Engine) -> LoadSums:
    try:
        counted = totals_of_rows(held.target, held.slice, columns, currency=currency, engine=engine)
    except NotFound as gone:
        raise gone_error(held, gone) from gone
    held.require_rows(counted.rows)
    slice_, load = held.load.slice, held.load
    return LoadSums(
        slice_.payer, slice_.report, slice_.period, load.delivery, load.at, held.where, counted, held.current
    )


def sum_columns(schema: Schema, wanted: Sequence[str] | None, *, table: str) -> tuple[str, ...]:
    """The columns that are summed up, as the table calls them: those named, else what the bill costs."""
    numbers = [column.name for column in schema if isinstance(column.type, DecimalType | Integer | Float)]
    if wanted is None:
        cost = find_cost_column(schema)
        if cost is None:
            raise SchemaError(
                f"{table} has no cost column that is known", remedy=f"Name some with --columns: {', '.join(numbers)}."
            )
        return (schema[cost].name,)
    found = {column.original: column.name for column in schema if column.original is not None}
    chosen = [schema[name].name if name in schema else found.get(name, name) for name in wanted]
    if strange := [name for name in chosen if name not in numbers]:
        raise SchemaError(
            f"{table} has no number column {strange[0]}", remedy=f"It has: {', '.join(numbers) or 'none'}."
        )
    return tuple(dict.fromkeys(chosen))
