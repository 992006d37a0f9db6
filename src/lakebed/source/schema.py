"""The schema that deliveries and manifests bring: their columns as a table names and types them."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from lakebed.model import Delivery, SourceColumn
from lakebed.schema.duckdb import to_duckdb
from lakebed.schema.identity import Identities, assign
from lakebed.schema.names import Naming, distinct_originals, has_finished_names
from lakebed.schema.types import (
    Boolean,
    Column,
    DataType,
    Date,
    Decimal,
    Integer,
    Map,
    Schema,
    Struct,
    Text,
    Timestamp,
    fold,
)
from lakebed.schema.widen import Mismatch, widen
from lakebed.source.column_dictionary import DEFAULT_DECIMALS, column_type, known_type, nested_type
from lakebed.source.manifest import manifest_column

# A manifest as AWS writes it, or a delivery that was made from one.
ManifestLike: TypeAlias = Delivery | Mapping[str, object]


def incoming_schema(
    columns: Iterable[SourceColumn],
    identities: Identities,
    *,
    decimals: str = DEFAULT_DECIMALS,
    current: Schema | None = None,
    follow_table: bool = True,
) -> Schema:
    """The columns of a delivery as the table will call them, each with its original.

    A column of which neither manifest nor dictionary says anything has the type that the table gives it already. So has
    one that is text on one side only, unless `follow_table` is False: manifests with and without types disagree about
    columns whose values are alike, and a value that does not parse is refused with its line.
    """
    given = list(columns)
    originals = distinct_originals(column.original for column in given)
    schema = []
    for column, original in zip(given, originals, strict=True):
        name = identities[original]
        present = current.get(name) if current is not None else None
        type_ = (
            column_type(column.original, column.declared_type, decimals=decimals)
            if column.nested is None
            else nested_type(column.original, column.nested)
        )
        if present is not None:
            silent = column.declared_type is None and known_type(column.original) is None
            follows = _only_one_is_text(present.type, type_) or _only_one_has_text(present.type, type_)
            if silent or (follow_table and follows):
                type_ = present.type
        schema.append(Column(name, type_, original=original, aliases=_aliases(original, identities, present)))
    return Schema.of(schema)


def _aliases(original: str, identities: Identities, present: Column | None) -> tuple[str, ...]:
    """The other originals of a column. Where its place in the table holds a remark, there is none for them."""
    known = identities.originals(identities[original])
    if present is not None and present.original not in (None, *known):
        return ()
    return tuple(other for other in known if other != original)


def assign_columns(identities: Identities, columns: Iterable[SourceColumn], naming: Naming) -> Identities:
    """The identities with a name for each of a delivery's columns; exports without categories bring finished names."""
    originals = [column.original for column in columns]
    return assign(identities, originals, naming, finished_names=has_finished_names(originals))


def _only_one_is_text(a: DataType, b: DataType) -> bool:
    values = (Decimal, Integer, Boolean, Date, Timestamp)
    return (isinstance(a, Text) and isinstance(b, values)) or (isinstance(b, Text) and isinstance(a, values))


def _only_one_has_text(present: DataType, incoming: DataType) -> bool:
    """Maps whose values are text on one side only, and a struct that arrives where the table has a map of text.

    What a table has as text stays text.
    """
    match present, incoming:
        case Map(Text(), old), Map(Text(), new):
            return old != new and Text() in (old, new)
        case Map(Text(), Text()), Struct():
            return True
    return False


def get_unified_schema(
    manifests: Iterable[ManifestLike], *, decimals: str = DEFAULT_DECIMALS, naming: Naming = "spec"
) -> dict[str, str]:
    """Column name -> DuckDB type over the columns of all manifests, each original once, in the order they are met.

    Where manifests disagree on a type, the wider one is taken, and text where there is none: a CSV's values are text.
    """
    identities = Identities()
    types: dict[str, DataType] = {}
    for manifest in manifests:
        columns = source_columns(manifest)
        identities = assign_columns(identities, columns, naming)
        for column in incoming_schema(columns, identities, decimals=decimals):
            wider = widen(types.get(column.name, column.type), column.type)
            types[column.name] = Text() if isinstance(wider, Mismatch) else wider
    return {name: to_duckdb(type_, column=name) for name, type_ in types.items()}


def get_new_columns(
    existing: Schema | Iterable[str],
    manifest_columns: Iterable[Mapping[str, object] | SourceColumn],
    *,
    decimals: str = DEFAULT_DECIMALS,
    naming: Naming = "spec",
) -> dict[str, str]:
    """Column name -> DuckDB type of the manifest's columns that the table does not have yet.

    `existing` are the table's names; as a Schema that knows its originals, it keeps each of them on its column.
    """
    columns = tuple(_source_column(column) for column in manifest_columns)
    schema = existing if isinstance(existing, Schema) else None
    identities = Identities.from_schema(schema) if schema is not None else Identities(names=tuple(map(str, existing)))
    taken = {fold(name) for name in identities.names}
    identities = assign_columns(identities, columns, naming)
    return {
        column.name: to_duckdb(column.type, column=column.name)
        for column in incoming_schema(columns, identities, decimals=decimals, current=schema)
        if fold(column.name) not in taken
    }


def source_columns(manifest: ManifestLike) -> tuple[SourceColumn, ...]:
    """The columns of a manifest, as AWS writes it or as a delivery holds it."""
    if isinstance(manifest, Delivery):
        return manifest.columns
    listed = manifest.get("columns")
    return tuple(_source_column(column) for column in listed) if isinstance(listed, list | tuple) else ()


def _source_column(column: Mapping[str, object] | SourceColumn) -> SourceColumn:
    return column if isinstance(column, SourceColumn) else manifest_column(column)
