"""The two views of a bill as plans: `athena` with the names of CUR in Athena, `cur2` with the columns of CUR 2.0.

A column that the report has is itself; one that only the other format has is taken out of, or put into, a map; one that
it lacks is NULL of its type.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from lakebed.finops.bill_columns import PRODUCT, TAGS, BillColumns, original_names
from lakebed.finops.projection import OutputColumn, Projection, cast_text, column_text, literal_text, null_text
from lakebed.model import PERIOD, RESERVED_COLUMNS
from lakebed.schema.names import UniqueNames
from lakebed.schema.types import Column, DataType, Decimal, Float, Map, Text, Timestamp
from lakebed.source.billing_dictionary import CUR2_COLUMNS, CUR2_MAPS, CUR_COLUMNS, RENAMED
from lakebed.source.column_dictionary import DEFAULT_DECIMALS, known_type

ViewName: TypeAlias = Literal["athena", "cur2"]
VIEWS: tuple[ViewName, ...] = ("athena", "cur2")

# CUR's category of each of CUR 2.0's maps, as it begins the names of columns.
_PREFIXES = {"cost_category": "cost_category_", "discount": "discount_", PRODUCT: "product_", TAGS: "resource_tags_"}
_PERIOD = column_text(PERIOD)
_OURS = (
    OutputColumn("billing_period", Text(), _PERIOD, (PERIOD,)),
    OutputColumn("year", Text(), f"SPLIT_PART({_PERIOD}, '-', 1)", (PERIOD,)),
    # Athena's partitions of CUR are written without a leading zero.
    OutputColumn("month", Text(), f"CAST(CAST(SPLIT_PART({_PERIOD}, '-', 2) AS INT) AS TEXT)", (PERIOD,)),
    *(OutputColumn(name, Text(), column_text(name), (name,)) for name in RESERVED_COLUMNS),
)


def plan_view(view: ViewName, bill: BillColumns) -> Projection:
    """The columns of one view of a bill."""
    return plan_athena(bill) if view == "athena" else plan_cur2(bill)


def plan_athena(bill: BillColumns) -> Projection:
    """CUR's columns by Athena's names: those that AWS's dictionary knows, then all others that the table has."""
    names = UniqueNames(column.name for column in _OURS)
    columns = [_single(name, bill) for name in CUR_COLUMNS if names.give(name)]
    for name, found in bill.columns.items():
        # The first column of a name that the dictionary knows is there already.
        for column in found[1 if name in CUR_COLUMNS else 0 :]:
            columns.append(_itself(names.give(name), column))
    columns += (_entry(names.give(name), map_, keys) for name, map_, keys in _unknown_entries(bill))
    return Projection((*columns, *_OURS))


def plan_cur2(bill: BillColumns) -> Projection:
    """CUR 2.0's columns: what CUR has in single columns is gathered into the maps."""
    names = UniqueNames(column.name for column in _OURS)
    columns = [_map(name, bill) if name in CUR2_MAPS else _single(name, bill) for name in CUR2_COLUMNS]
    for column in columns:
        names.take(column.name)
    for name, found in bill.columns.items():
        if name not in CUR2_COLUMNS and _map_of(name) is None:
            columns += (_itself(names.give(name), column) for column in found)
    return Projection((*columns, *_OURS))


def _single(name: str, bill: BillColumns) -> OutputColumn:
    """A column that is none of the maps: the table's own, an entry of a map, or the one that AWS renamed."""
    wanted = _wanted_type(name, bill)
    parts, sources = [], []
    for candidate in filter(None, (name, RENAMED.get(name))):
        if (own := bill.first(candidate)) is not None:
            parts.append(_converted(own, wanted))
            sources.append(own)
        if (map_name := _map_of(candidate)) is not None and (map_ := bill.maps.get(map_name)) is not None:
            for key in bill.keys_of(map_name).get(candidate, [candidate.removeprefix(_PREFIXES[map_name])]):
                entry = _entry_text(map_, key)
                parts.append(entry if wanted == Text() else cast_text(entry, wanted))
            sources.append(map_)
    if not parts:
        return OutputColumn(name, wanted, null_text(wanted))
    type_ = sources[0].type if len(sources) == 1 and not isinstance(sources[0].type, Map | Text) else wanted
    return OutputColumn(name, type_, _first_of(parts), original_names(sources))


def _map(name: str, bill: BillColumns) -> OutputColumn:
    """One of CUR 2.0's maps: the table's own, or what CUR has in single columns."""
    wanted = _wanted_type(name, bill)
    assert isinstance(wanted, Map)
    prefix, own = _PREFIXES[name], bill.maps.get(name)
    entries: dict[str, list[Column]] = {}
    for column_name, found in bill.columns.items():
        if _map_of(column_name) == name:
            # Of two that CUR 2.0 has one key for, the first by name: the order of a table's columns is chance.
            alike = sorted(found, key=lambda column: column.original or column.name)
            entries.setdefault(column_name.removeprefix(prefix), []).extend(alike)
    sources = [*([own] if own is not None else []), *(column for found in entries.values() for column in found)]
    gathered = ", ".join(
        f"{literal_text(key)}, {_first_of([_converted(column, wanted.value, empty=True) for column in found])}"
        for key, found in entries.items()
    )
    parts = [column_text(own.name)] if own is not None else []
    parts += [f"BILL_MAP({gathered})"] if gathered else []
    return OutputColumn(name, wanted, _first_of(parts) if parts else null_text(wanted), original_names(sources))


def _map_of(name: str) -> str | None:
    """The map of CUR 2.0 that holds what CUR has in the column of this name."""
    if name in CUR2_COLUMNS:
        return None
    return next((map_ for map_, prefix in _PREFIXES.items() if name.startswith(prefix)), None)


def _unknown_entries(bill: BillColumns) -> Iterator[tuple[str, Column, list[str]]]:
    """Keys of maps that the dictionary has no column for and the table none either, by the name of their column."""
    for map_name, map_ in bill.maps.items():
        for name, keys in bill.keys_of(map_name).items():
            if name not in CUR_COLUMNS and name not in bill.columns:
                yield name, map_, keys


def _entry(name: str, map_: Column, keys: list[str]) -> OutputColumn:
    assert isinstance(map_.type, Map)
    value = _first_of([_entry_text(map_, key) for key in keys])
    return OutputColumn(name, map_.type.value, value, original_names([map_]))


def _entry_text(map_: Column, key: str) -> str:
    return f"BILL_ENTRY({column_text(map_.name)}, {literal_text(key)})"


def _itself(name: str, column: Column) -> OutputColumn:
    return OutputColumn(name, column.type, column_text(column.name), original_names([column]))


def _wanted_type(name: str, bill: BillColumns) -> DataType:
    """What AWS's dictionary says; amounts are as exact as the table's costs are."""
    wanted = known_type(name, decimals=DEFAULT_DECIMALS) or Text()
    if isinstance(wanted, Decimal):
        cost = bill.first("line_item_unblended_cost")
        return cost.type if cost is not None and isinstance(cost.type, Decimal) else wanted
    return wanted


def _converted(column: Column, wanted: DataType, *, empty: bool = False) -> str:
    """A column in the wanted type. What a report has as text becomes a number loudly: a wrong one is an error.

    With `empty` a text of no letters is NULL: a map has no such entry.
    """
    own = column_text(column.name)
    match column.type, wanted:
        case Text(), Text():
            return f"NULLIF({own}, '')" if empty else own
        case Text(), Decimal() | Float() | Timestamp():
            return cast_text(f"NULLIF({own}, '')", wanted)
        case (Decimal() | Float(), Float()) | (_, Text()):
            return own if column.type == wanted else cast_text(own, wanted)
    return own


def _first_of(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"COALESCE({', '.join(parts)})"
