"""What a loaded table holds by period: which columns have values, and what any amount adds up to, to the last digit."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import lakebed
from lakebed.errors import ConfigError
from lakebed.model import EXACT
from lakebed.pipeline.settings import open_workspace
from lakebed.table.read import open_table
from lakebed.ui.analyses import Sources
from lakebed.ui.ledger_views import require_table

PERIOD = "lakebed_period"
OWN = ("lakebed_payer", "lakebed_report", "lakebed_period", "lakebed_delivery")
# Columns that are counted in one pass over the table.
AT_ONCE = 400
# Values of a dimension that are shown one by one.
MOST_VALUES = 200
# How the columns end that say in which currency the others are, underscores aside.
CURRENCIES = ("lineitemcurrencycode", "billingcurrency")

Presence = Literal["there", "new", "gone", "back", "retyped", "absent"]


@dataclass(frozen=True, slots=True)
class ColumnOverTime:
    """A column: what it is called in the source and in the table, and in each period its state and its values."""

    name: str
    originals: tuple[str, ...]
    type: str
    first: str | None
    last: str | None
    # rows that have a value, by period
    values: tuple[int, ...]
    states: tuple[Presence, ...]


@dataclass(frozen=True, slots=True)
class ColumnsOverTime:
    """The columns of a table by period."""

    table: str
    periods: tuple[str, ...]
    rows: tuple[int, ...]
    columns: tuple[ColumnOverTime, ...]


@dataclass(frozen=True, slots=True)
class AmountRow:
    """A value of the dimension in one currency, and its sums by period; numbers are text, so that no digit is lost."""

    value: str | None
    currency: str | None
    sums: tuple[str, ...]
    total: str


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums of one column by period and by the values of another.

    Amounts of different currencies are never added. `rest` values that are not shown are in the totals.
    """

    table: str
    measure: str
    by: str | None
    measures: tuple[str, ...]
    dimensions: tuple[str, ...]
    periods: tuple[str, ...]
    rows: tuple[AmountRow, ...]
    rest: int
    totals: tuple[AmountRow, ...]


def columns_over_time(sources: Sources, table: str) -> ColumnsOverTime:
    """Which column has values in which period, counted in the table itself."""
    types = _types(sources, table)
    names = [name for name in types if name not in OWN]
    counts = _counted(sources, table, names)
    periods = tuple(sorted(counts))
    changed = {
        (record.change.column, record.slice.period)
        for record in lakebed.history(table, workdir=sources.workdir).changes
        if record.slice is not None and record.change.kind in ("widened", "variant")
    }
    originals: dict[str, list[str]] = {}
    with open_workspace(sources.workdir, {}).ledger_for_reading() as ledger:
        for identity in ledger.identities(table):
            originals.setdefault(identity.name, []).append(identity.original)
    columns = []
    for place, name in enumerate(names):
        values = tuple(counts[period][place + 1] for period in periods)
        seen = [period for period, value in zip(periods, values, strict=True) if value]
        columns.append(
            ColumnOverTime(
                name,
                tuple(originals.get(name, ())),
                types[name],
                seen[0] if seen else None,
                seen[-1] if seen else None,
                values,
                presence(values, [(name, period) in changed for period in periods]),
            )
        )
    return ColumnsOverTime(table, periods, tuple(counts[period][0] for period in periods), tuple(columns))


def presence(values: Sequence[int], retyped: Sequence[bool]) -> tuple[Presence, ...]:
    """What became of a column, period by period.

    >>> presence([0, 3, 0, 0, 2, 2], [False, False, False, False, False, True])
    ('absent', 'new', 'gone', 'absent', 'back', 'retyped')
    """
    states: list[Presence] = []
    seen = False
    for place, value in enumerate(values):
        before = place > 0 and values[place - 1] > 0
        if value and not seen:
            # in the first period everything is there, and nothing is new
            states.append("there" if place == 0 else "new")
        elif value:
            states.append("retyped" if retyped[place] else "there" if before else "back")
        else:
            states.append("gone" if before else "absent")
        seen = seen or value > 0
    return tuple(states)


def add_up(sources: Sources, table: str, *, measure: str = "", by: str = "") -> Amounts:
    """The sums of a decimal column by period, and by the values of another column."""
    types = {name: type_ for name, type_ in _types(sources, table).items() if name not in OWN}
    measures = tuple(name for name, type_ in types.items() if type_.startswith("decimal"))
    dimensions = tuple(name for name, type_ in types.items() if type_ == "text")
    chosen = _chosen(measure, measures, ("unblendedcost", "billedcost"), "decimal column", table)
    dimension = _chosen(by, dimensions, (), "column of text", table) if by else None
    currency = next((name for name in dimensions if name.replace("_", "").lower().endswith(CURRENCIES)), None)
    keys = [name for name in (dimension, currency) if name is not None]
    found = _asked(
        sources,
        table,
        list(dict.fromkeys([chosen, *keys])),
        f"SELECT {PERIOD}, {_key(dimension)}, {_key(currency)}, sum({_quoted(chosen)}) FROM loaded GROUP BY 1, 2, 3",
    )
    periods = tuple(sorted({str(period) for period, *_ in found}))
    lines: dict[tuple[str | None, str | None], dict[str, Decimal]] = {}
    totals: dict[str | None, dict[str, Decimal]] = {}
    for period, value, code, amount in found:
        added = amount or Decimal(0)
        lines.setdefault((value, code), {})[str(period)] = added
        total = totals.setdefault(code, {})
        total[str(period)] = EXACT.add(total.get(str(period), Decimal(0)), added)
    ranked = sorted(lines.items(), key=lambda one: (-abs(sum(one[1].values(), Decimal(0))), str(one[0])))
    return Amounts(
        table,
        chosen,
        dimension,
        measures,
        dimensions,
        periods,
        tuple(_row(value, code, periods, line) for (value, code), line in ranked[:MOST_VALUES]),
        max(0, len(ranked) - MOST_VALUES),
        tuple(_row(None, code, periods, totals[code]) for code in sorted(totals, key=str)),
    )


def _row(value: str | None, currency: str | None, periods: Sequence[str], line: dict[str, Decimal]) -> AmountRow:
    sums = [line.get(period, Decimal(0)) for period in periods]
    total = Decimal(0)
    for one in sums:
        total = EXACT.add(total, one)
    return AmountRow(value, currency, tuple(format(one, "f") for one in sums), format(total, "f"))


def _key(name: str | None) -> str:
    return "NULL" if name is None else _quoted(name)


def _chosen(name: str, known: Sequence[str], usual: Sequence[str], what: str, table: str) -> str:
    if name in known:
        return name
    if name or not known:
        raise ConfigError(f"{table} has no {what} {name}".rstrip(), remedy=f"It has {', '.join(known[:20]) or 'none'}.")
    found = [one for word in usual for one in known if one.replace("_", "").lower().endswith(word)]
    return (found or list(known))[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _types(sources: Sources, table: str) -> dict[str, str]:
    """The columns of a table that has periods, and their types."""
    schema = open_table(require_table(sources, table), workdir=sources.workdir, read_only=True).state().schema
    if PERIOD not in schema.names:
        raise ConfigError(
            f"{table} has no periods", remedy="They are the months of billing deliveries: see `lakebed run`."
        )
    return {column.name: str(column.type) for column in schema}


def _asked(sources: Sources, table: str, columns: Sequence[str], query: str) -> list[tuple[Any, ...]]:
    """What DuckDB answers about some columns of a table, and its periods."""
    import duckdb

    data = lakebed.read(table, workdir=sources.workdir, columns=[PERIOD, *columns])
    with duckdb.connect() as connection:
        connection.register("loaded", data)
        return connection.execute(query).fetchall()


def _counted(sources: Sources, table: str, names: Sequence[str]) -> dict[str, list[int]]:
    """For each period the number of rows, and of values in each column."""
    counts: dict[str, list[int]] = {}
    for start in range(0, max(1, len(names)), AT_ONCE):
        some = names[start : start + AT_ONCE]
        counted = ", ".join(["count(*)", *(f"count({_quoted(name)})" for name in some)])
        for period, total, *values in _asked(
            sources, table, some, f"SELECT {PERIOD}, {counted} FROM loaded GROUP BY 1"
        ):
            counts.setdefault(str(period), [total]).extend(values)
    return counts
