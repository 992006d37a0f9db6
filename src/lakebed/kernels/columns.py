"""Which column of a table's file is which column of the table.

By field id where both have ids: a name may have been given to another column since the file was written. Else by name,
without regard to case. What comes from elsewhere has other tables' ids, if any, and is always taken by name.
"""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

FIELD_ID = b"PARQUET:field_id"


def field_id(field: pa.Field) -> int | None:
    """The id that a file or a table gives the field, where it gives one."""
    own = (field.metadata or {}).get(FIELD_ID)
    return None if own is None else int(own)


def with_ids(schema: pa.Schema, ids: Mapping[str, int]) -> pa.Schema:
    """The schema whose columns have these ids; without any it stays as it is."""
    return pa.schema(
        [
            field.with_metadata({**(field.metadata or {}), FIELD_ID: str(ids[field.name])})
            if field.name in ids
            else field
            for field in schema
        ]
    )


def without_ids(schema: pa.Schema) -> pa.Schema:
    """The schema of files that are not the table's: whatever ids they have mean nothing to it."""
    return pa.schema([_field_without_ids(field) for field in schema], schema.metadata)


def _field_without_ids(field: pa.Field) -> pa.Field:
    kept = {name: value for name, value in (field.metadata or {}).items() if name != FIELD_ID}
    return field.with_type(_type_without_ids(field.type)).with_metadata(kept or None)


def _type_without_ids(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_field_without_ids(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_field_without_ids(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_field_without_ids(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_field_without_ids(kind.key_field), _field_without_ids(kind.item_field))
    return kind


def top_level_ids(schema: pa.Schema) -> dict[str, int]:
    """The ids of the columns that have one."""
    return {field.name: own for field in schema if (own := field_id(field)) is not None}


def find_columns(wanted: Iterable[pa.Field], present: Iterable[pa.Field], *, by_id: bool = True) -> list[int | None]:
    """For each wanted field the place of its column among those of a file; None where the file has no such column."""
    present = list(present)
    names = {field.name.casefold(): place for place, field in reversed(list(enumerate(present)))}
    ids = {field_id(field): place for place, field in enumerate(present)} if by_id else {}
    if None in ids:
        ids = {}
    return [
        ids.get(own) if ids and (own := field_id(field)) is not None else names.get(field.name.casefold())
        for field in wanted
    ]


def nested_agree(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether the fields inside both are the same when they are found by name: no id says otherwise."""
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        inside = list(given)
        found = find_columns(wanted, inside)
        return found == find_columns(wanted, inside, by_id=False) and all(
            place is None or nested_agree(inside[place].type, field.type)
            for place, field in zip(found, wanted, strict=True)
        )
    return all(nested_agree(one, other) for one, other in paired_children(given, wanted))


def paired_children(given: pa.DataType, wanted: pa.DataType) -> Iterator[tuple[pa.DataType, pa.DataType]]:
    """What lies inside two lists or two maps, pair by pair."""
    if is_list(given) and is_list(wanted):
        yield given.value_type, wanted.value_type
    elif pa.types.is_map(given) and pa.types.is_map(wanted):
        yield given.key_type, wanted.key_type
        yield given.item_type, wanted.item_type


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
