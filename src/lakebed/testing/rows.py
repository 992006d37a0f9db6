"""Small tables for tests, and a comparison that knows what equal means."""

import math
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa

from lakebed.schema.arrow import from_arrow
from lakebed.schema.types import Timestamp, fold

TYPES: dict[str, pa.DataType] = {
    "int8": pa.int8(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "us": pa.timestamp("us"),
    "ns": pa.timestamp("ns"),
    "utc": pa.timestamp("us", "UTC"),
    "berlin": pa.timestamp("us", "Europe/Berlin"),
    "dec9_2": pa.decimal128(9, 2),
    "dec18_6": pa.decimal128(18, 6),
    "dec38_30": pa.decimal128(38, 30),
    "dec38_2": pa.decimal128(38, 2),
}


def rows(header: str, *values: tuple[object, ...], types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """A table from a header and its rows: `rows("id cost:dec9_2", (1, "2.50"))`. Types not given are inferred."""
    columns: dict[str, pa.Array] = {}
    for place, written in enumerate(header.split()):
        name, _, kind = written.partition(":")
        given = (types or {}).get(name) or TYPES.get(kind)
        cells = [row[place] for row in values]
        if given is not None and pa.types.is_decimal(given):
            cells = [None if cell is None else Decimal(str(cell)) for cell in cells]
        columns[name] = pa.array(cells, given)
    return pa.table(columns)


def difference(found: pa.Table, wanted: pa.Table) -> str | None:
    """What differs between two tables as sets of typed rows, or None; order of rows and columns is no matter."""
    by_name = {fold(name): name for name in found.column_names}
    if set(by_name) != {fold(name) for name in wanted.column_names}:
        return f"columns {found.column_names}, wanted {wanted.column_names}"
    for field in wanted.schema:
        here, there = _type(found.schema.field(by_name[fold(field.name)]).type), _type(field.type)
        if here != there:
            return f"column {field.name} is {here}, wanted {there}"
    names = [by_name[fold(name)] for name in wanted.column_names]
    if found.column_names and (wrong := set(names) ^ set(wanted.column_names)):
        return f"spelling differs: {sorted(wrong)}"
    left, right = _sorted(found.select(names)), _sorted(wanted)
    if left != right:
        extra = [row for row in left if row not in right][:5]
        lost = [row for row in right if row not in left][:5]
        return f"{len(left)} rows, wanted {len(right)}; not wanted: {extra}; missing: {lost}"
    return None


def _type(kind: pa.DataType) -> str:
    known = from_arrow(kind)
    # Iceberg and DuckDB know one zone; a moment is the same in each.
    return str(Timestamp(known.unit, "UTC")) if isinstance(known, Timestamp) and known.zone else str(known)


def _sorted(table: pa.Table) -> list[str]:
    columns = [_values(column) for column in table.columns]
    return sorted(repr(tuple(_plain(cell) for cell in row)) for row in zip(*columns, strict=True))


def _values(column: pa.ChunkedArray) -> list[object]:
    # Python has no nanoseconds, and zones only change how a moment is written.
    return list((column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist())


def _plain(cell: object) -> object:
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else cell + 0.0
    if isinstance(cell, dict):
        return {name: _plain(part) for name, part in cell.items()}
    if isinstance(cell, list | tuple):
        return [_plain(part) for part in cell]
    return cell
