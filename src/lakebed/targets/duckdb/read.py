"""A DuckDB table for a reader in this process, and the exact sums that a load is checked against."""

from collections.abc import Sequence
from decimal import Decimal

import duckdb
import pyarrow as pa

from lakebed.errors import SchemaError
from lakebed.kernels.groups import group_columns
from lakebed.kernels.sums import exact_totals, no_totals
from lakebed.kernels.values import EXACT
from lakebed.model import AnySlice, GroupKey, Totals
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.duckdb import quote_identifier
from lakebed.schema.types import Float, Schema
from lakebed.targets.base import TableState
from lakebed.targets.duckdb.file import Connection
from lakebed.targets.duckdb.slices import where

BATCH_ROWS = 1 << 16


def read(connection: Connection, table: str, state: TableState, columns: Sequence[str] | None) -> pa.Table:
    """The table, or these columns of it, in the types of its schema."""
    chosen = Schema.of(state.schema[name] for name in columns) if columns is not None else state.schema
    names = ", ".join(map(quote_identifier, chosen.names))
    found = connection.sql(f"SELECT {names} FROM {quote_identifier(table)}").to_arrow_table()
    return found.cast(to_arrow_schema(chosen))


def totals(
    connection: Connection,
    table: str,
    state: TableState,
    slice_: AnySlice | None,
    columns: Sequence[str],
    currency: str | None,
    by: Sequence[GroupKey] | None = None,
) -> Totals:
    """Rows and exact sums of the committed table, by groups too if that is asked for."""
    if not state.exists:
        return no_totals(columns)
    wanted = [*columns, *([currency] if currency else []), *group_columns(by)]
    if absent := [column for column in wanted if column not in state.schema]:
        raise SchemaError(f"{table} has no column {', '.join(absent)}")
    if slice_ and any(column not in state.schema for column in slice_.values):
        return no_totals(columns)
    if by is None and not any(isinstance(state.schema[column].type, Float) for column in columns):
        try:
            return _sums(connection, table, slice_, columns, currency)
        except duckdb.OutOfRangeException:
            # More than 38 digits: DuckDB says so, and Arrow's 76 digits are slower but enough.
            pass
    return _exact_sums(connection, table, slice_, columns, currency, by)


def _sums(
    connection: Connection, table: str, slice_: AnySlice | None, columns: Sequence[str], currency: str | None
) -> Totals:
    sums = "".join(f", sum({quote_identifier(column)})" for column in columns)
    code = f"coalesce(CAST({quote_identifier(currency)} AS VARCHAR), '')" if currency else "''"
    condition, values = where(slice_)
    found = connection.execute(
        f"SELECT {code}, count(*){sums} FROM {quote_identifier(table)}{condition} GROUP BY ALL", values
    ).fetchall()
    rows = 0
    total = {column: Decimal(0) for column in columns}
    by_currency: dict[str, dict[str, Decimal]] = {}
    for code_, count, *parts in found:
        rows += count
        exact = {column: Decimal(part or 0) for column, part in zip(columns, parts, strict=True)}
        total = {column: EXACT.add(total[column], exact[column]) for column in columns}
        if currency:
            by_currency[code_] = exact
    return Totals(rows, total, by_currency)


def _exact_sums(
    connection: Connection,
    table: str,
    slice_: AnySlice | None,
    columns: Sequence[str],
    currency: str | None,
    by: Sequence[GroupKey] | None,
) -> Totals:
    wanted = list(dict.fromkeys([*columns, *([currency] if currency else []), *group_columns(by)]))
    condition, values = where(slice_)
    chosen = ", ".join(f"{quote_identifier(name)} AS {quote_identifier(name)}" for name in wanted) or "1"
    found = connection.sql(f"SELECT {chosen} FROM {quote_identifier(table)}{condition}", params=values)
    return exact_totals(found.to_arrow_reader(BATCH_ROWS), columns, currency=currency, by=by)
