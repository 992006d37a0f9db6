"""Names of data types under a dialect: which mean the same type, and which fields a struct has."""

from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakebed.lineage.dialects import Dialect


def same_type(one: str | None, other: str | None, dialect: Dialect) -> bool:
    """Whether two names mean the same type, as `int` and `INTEGER` do; an unknown type contradicts nothing."""
    if not one or not other:
        return True
    return one.lower() == other.lower() or _canonical(one, dialect.parser) == _canonical(other, dialect.parser)


@lru_cache(maxsize=4096)
def _canonical(text: str, parser: str) -> str:
    try:
        return exp.DataType.build(text, dialect=parser or None, udt=True).sql()
    except SqlglotError:
        return " ".join(text.lower().split())


@lru_cache(maxsize=4096)
def struct_fields(text: str, parser: str, path: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names of a struct type's fields, also of an array of structs; empty where the type is not one.

    With a path, those of the struct that is found there: field names compare without regard to case.
    """
    try:
        kind: object = exp.DataType.build(text, dialect=parser or None, udt=True)
    except SqlglotError:
        return ()
    fields = _fields(kind)
    for name in path:
        fields = _fields(fields.get(name.lower()))
    return tuple(field.name for field in fields.values())


def _fields(kind: object) -> dict[str, exp.ColumnDef]:
    if isinstance(kind, exp.ColumnDef):
        kind = kind.args.get("kind")
    while isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY and kind.expressions:
        kind = kind.expressions[0]
    if not isinstance(kind, exp.DataType) or kind.this != exp.DataType.Type.STRUCT:
        return {}
    return {field.name.lower(): field for field in kind.expressions if isinstance(field, exp.ColumnDef)}
