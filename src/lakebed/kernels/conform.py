"""Brings rows into a table's schema: each column by its id or name, missing ones as NULL, types as there."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.columns import find_columns, is_list, nested_agree
from lakebed.model import Lacking


def conform(
    given: Iterable[pa.Field], arrays: Sequence[pa.Array], wanted: Iterable[pa.Field], rows: int, *, by_id: bool
) -> list[pa.Array]:
    """One array for each wanted field. `given` are the fields of the arrays; `by_id` is for files of the table."""
    wanted = list(wanted)
    return [
        pa.nulls(rows, field.type) if place is None else as_type(arrays[place], field.type, by_id=by_id)
        for place, field in zip(find_columns(wanted, given, by_id=by_id), wanted, strict=True)
    ]


def as_type(
    values: pa.Array | pa.ChunkedArray, wanted: pa.DataType, *, by_id: bool = False
) -> pa.Array | pa.ChunkedArray:
    """The values in another type, or ArrowInvalid where one of them would be lost.

    Fields that a struct lacks are NULL. Arrow's own cast looks fields up by their exact spelling and knows no ids, and
    a field spelled otherwise would silently become NULL; so nested values are put together here.
    """
    given = values.type
    if pa.types.is_dictionary(given):
        values = values.cast(given.value_type)
        given = values.type
    if not pa.types.is_nested(given):
        return values if given == wanted else values.cast(wanted)
    if given == wanted and (not by_id or nested_agree(given, wanted)):
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([as_type(chunk, wanted, by_id=by_id) for chunk in values.chunks], type=wanted)
    if pa.types.is_struct(given) and pa.types.is_struct(wanted) and wanted.num_fields:
        # `flatten` honours offset and validity, which the raw children do not.
        children = conform(list(given), values.flatten(), list(wanted), len(values), by_id=by_id)
        return pa.StructArray.from_arrays(children, fields=list(wanted), mask=values.is_null())
    if is_list(given) and pa.types.is_list(wanted):
        # A copied list has no offset of its own.
        small = values.cast(pa.list_(given.value_field)) if pa.types.is_large_list(given) else values
        fresh = pa.concat_arrays([small])
        child = as_type(fresh.values, wanted.value_type, by_id=by_id)
        return pa.ListArray.from_arrays(fresh.offsets, child, type=wanted, mask=_nulls(fresh))
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        fresh = pa.concat_arrays([values])
        keys = as_type(fresh.keys, wanted.key_type, by_id=by_id)
        items = as_type(fresh.items, wanted.item_type, by_id=by_id)
        return pa.MapArray.from_arrays(fresh.offsets, keys, items, type=wanted, mask=_nulls(fresh))
    return values.cast(wanted)


def loses_fields(given: pa.DataType, wanted: pa.DataType) -> bool:
    """A struct, or one inside a list or map, has fields that the wanted type lacks: `as_type` would leave them out."""
    if pa.types.is_struct(given) and pa.types.is_struct(wanted):
        names = {field.name.casefold(): field.type for field in wanted}
        return any(
            field.name.casefold() not in names or loses_fields(field.type, names[field.name.casefold()])
            for field in given
        )
    if is_list(given) and is_list(wanted):
        return loses_fields(given.value_type, wanted.value_type)
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return loses_fields(given.item_type, wanted.item_type)
    return False


def with_kept_fields(new: pa.Array, old: pa.Array, lacking: Lacking) -> pa.Array:
    """New structs with the old values in the fields that their source lacks.

    A struct that the source says is NULL empties the fields that the source has; it is NULL itself only where nothing
    is kept in it.
    """
    children = []
    valid = new.is_valid()
    for field, arriving, before in zip(new.type, new.flatten(), old.flatten(), strict=True):
        if field.name in lacking:
            inner = lacking[field.name]
            arriving = before if inner is None else with_kept_fields(arriving, before, inner)
            valid = pc.or_(valid, arriving.is_valid())
        children.append(arriving)
    return pa.StructArray.from_arrays(children, fields=list(new.type), mask=pc.invert(valid))


def _nulls(values: pa.Array) -> pa.Array | None:
    return values.is_null() if values.null_count else None
