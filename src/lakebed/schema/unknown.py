"""Columns of which nothing is known but that they are NULL: they wait for their first real type.

A format that lacks such a type would have to guess one, and a column keeps its type for ever.
"""

from dataclasses import replace

from lakebed.schema.types import Column, DataType, List, Map, Null, Struct, fold
from lakebed.schema.widen import ELEMENT, VALUE, Path


def without_unknown(
    arriving: DataType, present: DataType | None, path: Path
) -> tuple[DataType | None, tuple[Path, ...]]:
    """The type without the fields that wait, None where it waits as a whole; and the paths of all that wait.

    `present` is what the table has there. What it has already is simply NULL in the new rows. The elements of a list
    and the values of a map do not wait: an empty list is a value, and the column must be there to hold it.
    """
    match arriving:
        case Null() if present is None:
            return None, (path,)
        case Struct(fields):
            known = {fold(field.name): field.type for field in present.fields} if isinstance(present, Struct) else {}
            kept: list[Column] = []
            waiting: list[Path] = []
            for field in fields:
                type_, paths = without_unknown(field.type, known.get(fold(field.name)), (*path, field.name))
                waiting += paths
                if type_ is not None:
                    kept.append(replace(field, type=type_))
            if kept or not fields or isinstance(present, Struct):
                return Struct(tuple(kept)), tuple(waiting)
            # Nothing is known of any field: the struct waits, and where the table has a place for it, it is NULL there.
            return (None, (path,)) if present is None else (Null() if present == Null() else arriving, ())
        case List(element):
            inner = present.element if isinstance(present, List) else None
            type_, paths = _inside(element, inner, (*path, ELEMENT))
            return List(type_), paths
        case Map(key, value):
            inner = present.value if isinstance(present, Map) else None
            type_, paths = _inside(value, inner, (*path, VALUE))
            return Map(key, type_), paths
        case _:
            return arriving, ()


def _inside(arriving: DataType, present: DataType | None, path: Path) -> tuple[DataType, tuple[Path, ...]]:
    type_, waiting = without_unknown(arriving, present, path)
    return (arriving, ()) if type_ is None else (type_, waiting)
