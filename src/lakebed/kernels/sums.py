"""Exact rows and sums of record batches, for reconciliation: decimals all the way, never floating point."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from lakebed.errors import SchemaError
from lakebed.kernels.groups import Groups, add_groups, group_batch
from lakebed.kernels.values import EXACT
from lakebed.model import GroupKey, Totals


def exact_totals(
    batches: Iterable[pa.RecordBatch],
    columns: Sequence[str],
    *,
    currency: str | None = None,
    by: Sequence[GroupKey] | None = None,
) -> Totals:
    """Rows and sums of these columns, and the sums again by currency; NULL counts as nothing, a NULL currency as ''.

    With `by` they are summed up a second time, by groups: the two must agree, and are not made from each other.
    """
    groups: Groups = {}
    rows = 0
    sums: dict[str, Decimal] = {column: Decimal(0) for column in columns}
    by_currency: dict[str, dict[str, Decimal]] = {}
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rows += batch.num_rows
        codes = None if currency is None else batch.column(currency).cast(pa.string()).fill_null("")
        if by is not None:
            groups = add_groups(groups, group_batch(batch, columns, codes, by))
        if codes is None:
            for column in columns:
                sums[column] = EXACT.add(sums[column], exact_sum(batch.column(column)))
            continue
        for code in codes.unique().to_pylist():
            some = batch.filter(pc.equal(codes, code))
            of_code = by_currency.setdefault(code, dict.fromkeys(columns, Decimal(0)))
            for column in columns:
                part = exact_sum(some.column(column))
                of_code[column] = EXACT.add(of_code[column], part)
                sums[column] = EXACT.add(sums[column], part)
    return Totals(rows, sums, by_currency, groups)


def exact_sum(values: pa.Array) -> Decimal:
    """The sum of a column's values; floating point counts as its shortest text, which is what was written once."""
    type_ = values.type
    if pat.is_null(type_):
        return Decimal(0)
    if pat.is_decimal(type_):
        # 38 digits overflow in silence when summed as they are.
        wide = values.cast(pa.decimal256(76, type_.scale))
    elif pat.is_integer(type_):
        wide = values.cast(pa.decimal256(76, 0))
    elif pat.is_floating(type_):
        total = Decimal(0)
        for value in values.drop_null().to_pylist():
            total = EXACT.add(total, Decimal(repr(value)))
        return total
    else:
        raise SchemaError(f"a column of type {type_} has no sum", remedy="Ask for the sums of number columns only.")
    found: Decimal | None = pc.sum(wide).as_py()
    return Decimal(0) if found is None else found


def add_totals(parts: Iterable[Totals]) -> Totals:
    """What was counted in parts, as one."""
    rows = 0
    sums: dict[str, Decimal] = {}
    by_currency: dict[str, dict[str, Decimal]] = {}
    groups: Groups = {}
    for part in parts:
        groups = add_groups(groups, dict(part.groups)) if part.groups else groups
        rows += part.rows
        _add(sums, part.sums)
        for code, of_code in part.by_currency.items():
            _add(by_currency.setdefault(code, {}), of_code)
    return Totals(rows, sums, by_currency, groups)


def _add(totals: dict[str, Decimal], more: Mapping[str, Decimal]) -> None:
    for name, value in more.items():
        totals[name] = EXACT.add(totals.get(name, Decimal(0)), value)


def no_totals(columns: Sequence[str]) -> Totals:
    """What a table that does not exist holds."""
    empty: Mapping[str, Mapping[str, Decimal]] = {}
    return Totals(0, {column: Decimal(0) for column in columns}, empty)
