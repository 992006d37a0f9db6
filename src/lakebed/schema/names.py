"""Column names: the specification's normalisation, Athena's as a second choice, and the one way to part duplicates.

Everything that names columns goes through `UniqueNames`: the unified schema, the mapping of a header, new columns, CSV
loading and identity.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TypeAlias, assert_never

# Workers apply this rule too, so it lives with what they run; here is where planners look for it.
from lakebed.kernels.header import distinct_originals as distinct_originals
from lakebed.model import FILE, LOAD, RESERVED_COLUMNS
from lakebed.schema.types import fold

Naming: TypeAlias = Literal["spec", "athena"]
NAMINGS: tuple[Naming, ...] = ("spec", "athena")

# The specification's list and no other word: every statement quotes its names anyway.
RESERVED_WORDS = frozenset(
    {
        "group",
        "order",
        "select",
        "from",
        "where",
        "join",
        "inner",
        "outer",
        "left",
        "right",
        "on",
        "as",
        "and",
        "or",
        "not",
        "in",
        "exists",
        "between",
        "like",
        "is",
        "null",
        "true",
        "false",
        "case",
        "when",
        "then",
        "else",
        "end",
        "union",
        "intersect",
        "except",
        "all",
        "distinct",
        "limit",
        "offset",
        "having",
        "by",
        "asc",
        "desc",
        "create",
        "table",
        "insert",
        "update",
        "delete",
        "alter",
        "drop",
        "user",
        "role",
    }
)

_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_CAPITAL = re.compile(r"([A-Z])")
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")
_UNDERSCORES = re.compile(r"_+")


def normalize_column_name(name: str, naming: Naming = "spec") -> str:
    """The name of a column before duplicates are parted: steps 1 and 2 of the specification.

    >>> normalize_column_name("lineItem/UnblendedCost")
    'line_item_unblended_cost'
    >>> normalize_column_name("reservation/ReservationARN", "athena")
    'reservation_reservation_a_r_n'
    """
    match naming:
        case "spec":
            separated = _CAMEL.sub(r"\1_\2", name)
        case "athena":
            separated = _CAPITAL.sub(r"_\1", name)
        case _:
            assert_never(naming)
    plain = _UNDERSCORES.sub("_", _NOT_ALPHANUMERIC.sub("_", separated.lower())).strip("_")
    if not plain:
        return "unknown_column"
    if plain[0].isdigit():
        return f"col_{plain}"
    if plain in RESERVED_WORDS:
        return f"{plain}_col"
    return plain


class UniqueNames:
    """Step 3: the first of several equal names keeps it, the others get `_1`, `_2`, ...; no name is given twice.

    A suffix never collides with a real name, and Lakebed's own columns are never given to a source's column.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {fold(name) for name in (*RESERVED_COLUMNS, FILE, LOAD, *taken)}
        self._suffixes: dict[str, int] = {}

    def give(self, base: str) -> str:
        """The base itself, or the base with the first free suffix."""
        name = base
        while fold(name) in self._taken:
            suffix = self._suffixes.get(base, 0) + 1
            self._suffixes[base] = suffix
            name = f"{base}_{suffix}"
        self.take(name)
        return name

    def take(self, name: str) -> None:
        """Marks a name that was decided elsewhere."""
        self._taken.add(fold(name))


def create_column_mapping(header: Sequence[str], naming: Naming = "spec") -> list[str]:
    """The column names of one header, position by position.

    >>> create_column_mapping(["Foo", "foo", "foo_1"])
    ['foo', 'foo_1', 'foo_1_1']
    """
    names = UniqueNames()
    return [names.give(normalize_column_name(original, naming)) for original in header]


def has_finished_names(originals: Iterable[str]) -> bool:
    """Whether these are the names of tables, as Parquet and Data Exports deliver them; a CUR's header has categories.

    >>> has_finished_names(["lineItem/UnblendedCost", "tag"])
    False
    """
    return all("/" not in original for original in originals)


def as_written(original: str, header: Collection[str]) -> str:
    """What stood in the file for an original of this header: `a` for the `a#2` that `distinct_originals` made of it."""
    text, mark, number = original.rpartition("#")
    return text if mark and number.isdecimal() and text in header else original
