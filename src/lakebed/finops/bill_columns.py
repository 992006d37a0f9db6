"""The columns of a loaded bill by the names that AWS's finished formats give them, whatever the table calls them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakebed.errors import SchemaError
from lakebed.model import PERIOD, RESERVED_COLUMNS
from lakebed.schema.names import normalize_column_name
from lakebed.schema.types import Column, Map, Schema, fold
from lakebed.source.billing_dictionary import CUR2_MAPS

COST = "line_item_unblended_cost"
PRODUCT, TAGS = "product", "resource_tags"


@dataclass(frozen=True)
class BillColumns:
    """What a table of CUR or CUR 2.0 has: single columns by AWS's name, several where two originals look alike.

    `keys` are those that the maps of a table of CUR 2.0 hold.
    """

    columns: Mapping[str, tuple[Column, ...]]
    maps: Mapping[str, Column]
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def first(self, name: str) -> Column | None:
        """The column of AWS's name, or None."""
        found = self.columns.get(name)
        return found[0] if found else None

    def keys_of(self, map_name: str) -> dict[str, list[str]]:
        """The keys of one of CUR 2.0's maps by the name that CUR has for such a column."""
        keys: dict[str, list[str]] = {}
        for key in self.keys.get(self.maps[map_name].name, ()):
            keys.setdefault(normalize_column_name(f"{map_name}/{key}", "athena"), []).append(key)
        return keys


def find_bill_columns(schema: Schema, *, table: str, keys: Mapping[str, Sequence[str]] | None = None) -> BillColumns:
    """The columns of a table, found by their original names. Raises SchemaError for what is no bill."""
    columns: dict[str, tuple[Column, ...]] = {}
    maps: dict[str, Column] = {}
    for column in schema:
        name = aws_name(column)
        if fold(column.name) in RESERVED_COLUMNS:
            continue
        if isinstance(column.type, Map) and name in CUR2_MAPS:
            maps[name] = column
        else:
            columns[name] = (*columns.get(name, ()), column)
    if COST not in columns or PERIOD not in schema:
        raise SchemaError(
            f"{table} is no table of a Cost and Usage Report: it has no column "
            + ("lineItem/UnblendedCost" if COST not in columns else PERIOD),
            remedy="Name a table that `lakebed run` loaded from CUR or CUR 2.0.",
        )
    return BillColumns(columns, maps, {name: tuple(found) for name, found in (keys or {}).items()})


def aws_name(column: Column) -> str:
    """The name in AWS's finished formats: `reservation_reservation_a_r_n` of `reservation/ReservationARN`."""
    known = [name for name in (column.original, *column.aliases) if name is not None]
    with_category = next((name for name in known if "/" in name), None)
    return normalize_column_name(with_category or (known[0] if known else column.name), "athena")


def map_columns(schema: Schema) -> tuple[str, ...]:
    """The names that the table has for CUR 2.0's maps."""
    return tuple(column.name for column in schema if isinstance(column.type, Map) and aws_name(column) in CUR2_MAPS)


def original_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """Where they came from, as the source wrote it."""
    return tuple(dict.fromkeys(column.original or column.name for column in columns))
