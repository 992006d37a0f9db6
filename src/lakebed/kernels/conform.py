"""Brings rows into a table's schema: by name, without regard to case, missing columns as NULL, types as there."""

from collections.abc import Sequence

import pyarrow as pa


def conform(columns: Sequence[str], arrays: Sequence[pa.Array], schema: pa.Schema, rows: int) -> list[pa.Array]:
    """One array for each field of the schema."""
    places = {name.casefold(): place for place, name in enumerate(columns)}
    found = (places.get(field.name.casefold()) for field in schema)
    return [
        pa.nulls(rows, field.type) if place is None else as_type(arrays[place], field.type)
        for place, field in zip(found, schema, strict=True)
    ]


def as_type(values: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """The values in another type, or ArrowInvalid where one of them would be lost.

    Arrow's own cast fills fields that a struct lacks with NULL, but it looks fields up by their exact spelling, and a
    field spelled otherwise would silently become NULL; so names are brought into the wanted spelling first.
    """
    if values.type == wanted:
        return values
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_nested(values.type):
        spelled = _spelled(values.type, wanted)
        if spelled != values.type:
            values = _renamed(values, spelled)
    return values.cast(wanted)


def loses_fields(given: pa.DataType, wanted: pa.DataType) -> bool:
    """A struct, or one inside a list or map, has fields that the wanted type lacks: `as_type` would leave them out."""
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        names = {field.name.casefold(): field.type for field in wanted}
        return any(
            field.name.casefold() not in names or loses_fields(field.type, names[field.name.casefold()])
            for field in given
        )
    if _is_list(given) and _is_list(wanted):
        return loses_fields(given.value_type, wanted.value_type)
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return loses_fields(given.item_type, wanted.item_type)
    return False


def _spelled(given: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        names = {field.name.casefold(): field for field in wanted}
        fields = []
        for field in given:
            other = names.get(field.name.casefold())
            fields.append(field if other is None else pa.field(other.name, _spelled(field.type, other.type)))
        return pa.struct(fields)
    if _is_list(given) and _is_list(wanted):
        return pa.list_(_spelled(given.value_type, wanted.value_type))
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return pa.map_(given.key_type, _spelled(given.item_type, wanted.item_type))
    return given


def _renamed(values: pa.Array | pa.ChunkedArray, spelled: pa.DataType) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_renamed(chunk, spelled) for chunk in values.chunks], type=spelled)
    if pa.types.is_struct(spelled):
        # `flatten` honours offset and validity, which the raw children do not.
        children = [
            _renamed(child, field.type) if pa.types.is_nested(field.type) else child
            for child, field in zip(values.flatten(), spelled, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(spelled), mask=values.is_null())
    if _is_list(spelled):
        # A copied list has no offset of its own.
        fresh = pa.concat_arrays([values])
        child = _renamed(fresh.values, spelled.value_type)
        return pa.ListArray.from_arrays(fresh.offsets, child, mask=fresh.is_null() if fresh.null_count else None)
    if pa.types.is_map(spelled):
        fresh = pa.concat_arrays([values])
        items = _renamed(fresh.items, spelled.item_type)
        return pa.MapArray.from_arrays(
            fresh.offsets, fresh.keys, items, mask=fresh.is_null() if fresh.null_count else None
        )
    return values


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
