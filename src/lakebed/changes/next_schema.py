"""The tables of a target as the next delivery would leave them, and what that does to each of their columns.

The one planner says what a delivery does; nothing is loaded.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from lakebed.errors import ConfigError, SchemaIncompatible
from lakebed.lineage.imports import DuckdbView, duckdb_views, from_duckdb, from_iceberg
from lakebed.model import RESERVED_COLUMNS
from lakebed.pipeline.plan import PlannedDelivery
from lakebed.schema.duckdb import to_duckdb
from lakebed.schema.names import NAMINGS, normalize_column_name
from lakebed.schema.types import Column, Null, Schema, fold
from lakebed.source.column_dictionary import column_type
from lakebed.targets.address import Address
from lakebed.workspace import Workspace

FateKind = Literal["null", "tag", "renamed", "retyped", "redeclared"]
# What a person sets in the billing console, and may take away there.
_TAGS = {"resourceTags/": "tag", "costCategory/": "cost category"}
# How alike two names must be for the one to be offered as the other's new name.
_ALIKE = 0.8
_SIGNS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class ColumnFate:
    """What the next delivery does to a column that the table has."""

    kind: FateKind
    column: str
    original: str | None
    # the new name or type
    to: str | None
    reason: str
    remedy: str


@dataclass(frozen=True)
class NextTable:
    """A table as queries will find it once the next delivery is loaded; without one, as it is."""

    # the parts of its name, as the target spells them
    parts: tuple[str, ...]
    before: Schema
    after: Schema
    fates: tuple[ColumnFate, ...] = ()
    # whether a delivery is planned for it
    arrives: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.parts)

    def to_schema(self, parts: tuple[str, ...] | None = None) -> dict[str, object]:
        """The table as lineage imports it: the columns that will be there, with the types that they have today."""
        columns = []
        for column in self.after:
            kind = (self.before.get(column.name) or column).type
            columns.append({"name": column.name, **({} if kind == Null() else {"dataType": sql_type(kind)})})
        names = dict(zip(("name", "schema", "catalog"), reversed(parts or self.parts), strict=False))
        return {**names, "columns": columns}

    def find(self, name: str) -> Column | None:
        """The column that is called otherwise than a query calls it: by its original, or by another naming."""
        wanted = _plain(name)
        for column in self.after:
            originals = [one for one in (column.original, *column.aliases) if one]
            spelled = [normalize_column_name(one, naming) for one in originals for naming in NAMINGS]
            if wanted in map(_plain, (*originals, *spelled)):
                return column
        return None

    def nearest(self, name: str) -> list[str]:
        """The columns whose names are most like one that is not there."""
        return difflib.get_close_matches(name.lower(), self.after.names, n=3, cutoff=0.6)


@dataclass(frozen=True)
class NextTarget:
    """The tables and views of a target."""

    tables: tuple[NextTable, ...]
    views: tuple[DuckdbView, ...] = ()


def sql_type(kind: object) -> str:
    """A type as SQL writes it."""
    return to_duckdb(kind)  # type: ignore[arg-type]


def next_target(
    workspace: Workspace,
    address: Address,
    planned: Iterable[PlannedDelivery] = (),
    refused: SchemaIncompatible | None = None,
) -> NextTarget:
    """What a target holds, and what the planned deliveries make of it; `refused` is why they would not be loaded."""
    by_table: dict[str, list[PlannedDelivery]] = {}
    for one in planned:
        by_table.setdefault(one.table, []).append(one)
    known, views = _names_in(workspace, address, may_be_new=bool(by_table))
    tables: list[NextTable] = []
    with workspace.ledger_for_reading() as ledger:
        for parts, table in known:
            opened = workspace.target(table, read_only=True)
            state = opened.state()
            deliveries = by_table.pop(opened.address, [])
            if not state.exists and not deliveries:
                raise ConfigError(f"there is no table {table}", remedy="Check the target, or give --against SOURCE.")
            loads = [load.slice.period for load in ledger.loads(opened.address) if load.state == "loaded"]
            before = state.schema if state.exists else Schema()
            tables.append(_next_table(parts, before, deliveries, max(loads, default="")))
    for place, deliveries in by_table.items():
        tables.append(_next_table(_parts_of(Address.parse(place)), Schema(), deliveries, ""))
    if refused is not None and (address.names_table or len(tables) == 1):
        tables = [replace(table, fates=(*table.fates, *_refused(table, refused))) for table in tables]
    return NextTarget(tuple(tables), tuple(views))


def _names_in(
    workspace: Workspace, address: Address, *, may_be_new: bool
) -> tuple[list[tuple[tuple[str, ...], Address]], list[DuckdbView]]:
    """The tables of a place by their names in queries, and its views."""
    views: list[DuckdbView] = []
    if address.kind == "duckdb":
        try:
            views = duckdb_views(address.place)
        except ConfigError:
            if not may_be_new:
                raise
            return [], []
    if address.names_table:
        return [(_parts_of(address), address)], views
    made = {(view.schema, view.name) for view in views}
    try:
        if address.kind == "duckdb":
            found = from_duckdb(address.place)
        else:
            place = address.place if address.catalog is None else f"{address.catalog}:{address.place}"
            found = from_iceberg(place, workdir=str(workspace.settings.workdir_path))
    except ConfigError:
        if not may_be_new:
            raise
        return [], views
    names = [(one.get("schema"), str(one["name"])) for one in found]
    if address.kind == "duckdb":
        # what Lakebed loads lies in the schema that needs no name
        plain = [name for schema, name in names if schema is None and ("main", name) not in made]
        return [((name,), address.with_table(name)) for name in plain], views
    return [((*str(schema).split("."), name), address.with_table(name)) for schema, name in names], views


def _parts_of(address: Address) -> tuple[str, ...]:
    if address.kind == "duckdb":
        return (address.table or "",)
    if address.kind == "iceberg":
        return (*address.place.split("."), address.table or "")
    return (address.place.rstrip("/").rpartition("/")[2],)


def _next_table(
    parts: tuple[str, ...], before: Schema, planned: list[PlannedDelivery], newest_loaded: str
) -> NextTable:
    coming = [one for one in planned if one.evolution is not None and one.columns is not None]
    if not coming:
        return NextTable(parts, before, before)
    last = coming[-1].evolution
    after = last.final if last is not None else before
    newest = max(coming, key=lambda one: one.delivery.slice.period)
    fates = list(retyped_columns(before, after))
    if newest.delivery.slice.period >= newest_loaded:
        # a month before it may never have had what later ones brought
        fates += _lost(before, after, newest)
    fates += _redeclared(before, newest, {fold(fate.column) for fate in fates})
    return NextTable(parts, before or after, after, tuple(fates), arrives=True)


def _lost(before: Schema, after: Schema, planned: PlannedDelivery) -> Iterator[ColumnFate]:
    """Columns that the newest delivery does not bring: its rows have NULL there."""
    brought = planned.columns or Schema()
    period = planned.delivery.slice.period
    added = [column for column in brought if column.name not in before]
    for column in after:
        if column.name in brought or column.name in RESERVED_COLUMNS:
            continue
        original = column.original
        renamed = next((one for one in added if _same_column(column, one)), None)
        if renamed is not None:
            how = f"calls {original} {renamed.original}"
            if renamed.original == original:
                how = f"brings {original} as {renamed.type}"
            yield ColumnFate(
                "renamed",
                column.name,
                original,
                renamed.name,
                f"the delivery of {period} {how}: "
                f"its values go to {renamed.name}, and {column.name} is NULL in all of its rows",
                f"Read coalesce({renamed.name}, {column.name}), which has the values of all months.",
            )
            continue
        what = next((word for prefix, word in _TAGS.items() if (original or "").startswith(prefix)), None)
        alike = _alike(column, added)
        hint = f" It brings {alike}, which is new and called much like it." if alike else ""
        if what is not None:
            yield ColumnFate(
                "tag",
                column.name,
                original,
                None,
                f"the delivery of {period} does not bring the {what} {_tag_name(original)}: "
                f"{column.name} is NULL in all of its rows",
                f"Look whether the {what} is still active in the billing console, and whether anything uses it.{hint}",
            )
        else:
            yield ColumnFate(
                "null",
                column.name,
                original,
                None,
                f"the delivery of {period} does not bring {original or column.name}: "
                f"{column.name} is NULL in all of its rows",
                f"Look whether the export still has the column; queries over {period} will find nothing in it.{hint}",
            )


def retyped_columns(before: Schema, after: Schema) -> Iterator[ColumnFate]:
    """Columns whose type grows."""
    for column in after:
        present = before.get(column.name)
        if present is not None and present.type not in (column.type, Null()):
            yield ColumnFate(
                "retyped",
                column.name,
                column.original,
                sql_type(column.type),
                f"{column.name} becomes {column.type}, it was {present.type}",
                "Cast it where the old type is needed.",
            )


def _redeclared(before: Schema, planned: PlannedDelivery, told: set[str]) -> Iterator[ColumnFate]:
    """Columns that the delivery declares otherwise than the table has them, and that keep the table's type."""
    own = {column.original: column for column in planned.columns or Schema()}
    for given in planned.delivery.columns:
        column = own.get(given.original)
        if column is None or given.declared_type is None or given.nested is not None or fold(column.name) in told:
            continue
        present = before.get(column.name)
        declared = column_type(given.original, given.declared_type)
        if present is not None and type(declared) is not type(present.type):
            yield ColumnFate(
                "redeclared",
                column.name,
                given.original,
                None,
                f"the delivery declares {given.original} as {given.declared_type}; {column.name} stays {present.type}",
                "Nothing, while its values are such: one that is not would be refused with its file and line.",
            )


def _refused(table: NextTable, refused: SchemaIncompatible) -> Iterator[ColumnFate]:
    column = table.after.get(refused.column.partition(".")[0])
    if column is not None:
        yield ColumnFate(
            "retyped",
            column.name,
            column.original,
            None,
            f"the next delivery would be refused: {refused.message}",
            refused.remedy or "Load it with --on-conflict variant.",
        )


def _same_column(gone: Column, new: Column) -> bool:
    """Whether two originals differ in nothing but case and signs: `user:Team` and `user:team`."""
    return gone.original is not None and new.original is not None and _plain(gone.original) == _plain(new.original)


def _alike(gone: Column, added: Iterable[Column]) -> str | None:
    """The new column of the same category that is called most like one that is gone."""
    category, _, own = _split(gone)
    names = {
        name: column.name
        for column in added
        for place, _, name in [_split(column)]
        if _plain(place) == _plain(category)
    }
    found = difflib.get_close_matches(own.lower(), [name for name in names if name], n=1, cutoff=_ALIKE)
    return names[found[0]] if found else None


def _split(column: Column) -> tuple[str, str, str]:
    category, slash, name = (column.original or column.name).rpartition("/")
    return category, slash, name.lower()


def _plain(name: str) -> str:
    return _SIGNS.sub("", name.lower())


def _tag_name(original: str | None) -> str:
    return (original or "").partition("/")[2]
