"""Names of data types under a dialect: which mean the same type, and which fields a struct has."""

from collections.abc import Sequence
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
def parse_type(text: str, parser: str) -> exp.DataType | None:
    """A type by its name; None where the dialect does not know it."""
    try:
        return exp.DataType.build(text, dialect=parser or None, udt=True)
    except SqlglotError:
        return None


def common_type(types: Sequence[str | None], parser: str) -> str | None:
    """The type that holds the values of all of these; None where it is not known, or there is none."""
    first = types[0]
    if first is None or all(kind == first for kind in types):
        return first
    parsed = [parse_type(kind, parser) if kind is not None else None for kind in types]
    order = [kind.this for kind in parsed if kind is not None]
    if len(order) < len(types) or not all(kind in _WIDTH for kind in order):
        return None
    widest = max(range(len(order)), key=lambda place: _WIDTH[order[place]])
    return types[widest]


# Numbers without a scale, from narrow to wide: what each holds, those behind it hold too.
_WIDTH = {
    kind: place
    for place, kind in enumerate(
        (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.FLOAT, exp.DType.DOUBLE)
    )
}
_FAMILIES = (
    ("number", frozenset(exp.DataType.NUMERIC_TYPES)),
    ("text", frozenset(exp.DataType.TEXT_TYPES)),
    ("time", frozenset(exp.DataType.TEMPORAL_TYPES)),
    ("boolean", frozenset({exp.DType.BOOLEAN})),
)


def type_family(text: str | None, parser: str) -> str | None:
    """`number`, `text`, `time`, `boolean`, or the type's own name: types of one family compare with each other."""
    kind = parse_type(text, parser) if text else None
    if kind is None or kind.this in (exp.DType.UNKNOWN, exp.DType.NULL, exp.DType.USERDEFINED):
        return None
    return next((name for name, kinds in _FAMILIES if kind.this in kinds), str(kind.this.value).lower())


def holds(wide: str, narrow: str, parser: str) -> bool:
    """Whether a column of one type takes every value of another; in doubt it does."""
    if same_name(wide, narrow):
        return True
    outer, inner = parse_type(wide, parser), parse_type(narrow, parser)
    if outer is None or inner is None:
        return True
    families = type_family(wide, parser), type_family(narrow, parser)
    if families[0] != families[1]:
        return None in families or families[0] == "text"
    if outer.this in _WIDTH and inner.this in _WIDTH:
        return _WIDTH[outer.this] >= _WIDTH[inner.this]
    return True


def same_name(one: str, other: str) -> bool:
    """Whether two types are written alike."""
    return "".join(one.lower().split()) == "".join(other.lower().split())


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
