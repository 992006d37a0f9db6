"""What is said of the rows on their way: counts, exact sums, sums by currency, and what rounding cost."""

from collections.abc import Iterable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.values import EXACT
from lakebed.model import Rounding, Totals


class ExactTally:
    """Adds up the decimal columns of tables as they were read, before anything is rounded."""

    def __init__(self, decimals: Iterable[str], currency: str | None) -> None:
        self._currency = currency
        self.rows = 0
        self.sums = {name: Decimal(0) for name in decimals}
        self.by_currency: dict[str, dict[str, Decimal]] = {}
        self.rounding: dict[str, Rounding] = {}

    @property
    def totals(self) -> Totals:
        return Totals(self.rows, self.sums, self.by_currency)

    def add(self, rows: pa.Table) -> None:
        """Counts these rows."""
        self.rows += rows.num_rows
        present = set(rows.column_names)
        here = {name: exact_sum(rows.column(name)) for name in self.sums if name in present}
        for name, total in here.items():
            self.sums[name] = EXACT.add(self.sums[name], total)
        if self._currency is None or not rows.num_rows:
            return
        for code, sums in self._by_code(rows, here).items():
            totals = self.by_currency.setdefault(code or "", dict.fromkeys(self.sums, Decimal(0)))
            for name, total in sums.items():
                totals[name] = EXACT.add(totals[name], total)

    def _by_code(self, rows: pa.Table, over_all: dict[str, Decimal]) -> dict[str | None, dict[str, Decimal]]:
        if self._currency not in rows.column_names:
            # This file of the delivery lacks the column, so its rows have no currency in the table either.
            return {None: over_all}
        codes = pc.unique(rows.column(self._currency)).to_pylist()
        if len(codes) == 1:
            return {codes[0]: over_all}
        return _sums_by(rows.column(self._currency), rows.select(list(over_all)))

    def rounded(self, name: str, exact: pa.ChunkedArray, kept: pa.ChunkedArray) -> None:
        """Counts what a narrower type changed: how many values, and by how much the column's sum moved."""
        changed = pc.sum(pc.not_equal(exact, kept.cast(exact.type))).as_py() or 0
        if changed:
            before = self.rounding.get(name, Rounding(0, Decimal(0)))
            moved = EXACT.subtract(exact_sum(kept), exact_sum(exact))
            self.rounding[name] = Rounding(before.values + changed, EXACT.add(before.difference, moved))


def exact_sum(column: pa.ChunkedArray) -> Decimal:
    """The sum of a decimal column; the sum of nothing is zero."""
    total: Decimal | None = pc.sum(_summable(column)).as_py()
    return Decimal(0) if total is None else total


def _sums_by(codes: pa.ChunkedArray, decimals: pa.Table) -> dict[str | None, dict[str, Decimal]]:
    """The sums of each column for each code."""
    numbered = pa.table(
        [codes, *(_summable(column) for column in decimals.columns)],
        names=list(map(str, range(decimals.num_columns + 1))),
    )
    grouped = numbered.group_by("0", use_threads=False).aggregate([(name, "sum") for name in numbered.column_names[1:]])
    sums = [grouped.column(f"{position + 1}_sum").to_pylist() for position in range(decimals.num_columns)]
    return {
        code: {name: column[row] or Decimal(0) for name, column in zip(decimals.column_names, sums, strict=True)}
        for row, code in enumerate(grouped.column("0").to_pylist())
    }


def _summable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, widened where 38 digits may not hold its sum: pyarrow's sum would wrap around."""
    bounds = pc.min_max(column).as_py()
    if bounds["max"] is None:
        return column
    largest = max(-bounds["min"], bounds["max"])
    # `adjusted` is the power of ten of the first digit: the sum stays below 10 ** (that + 1) times the rows.
    digits = largest.adjusted() + 1 + len(str(len(column))) + column.type.scale if largest else 0
    return column.cast(pa.decimal256(76, column.type.scale)) if digits > 38 else column
