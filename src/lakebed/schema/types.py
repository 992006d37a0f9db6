"""Our own small type system: what a column can be, on every engine and in every format.

Each format's mapping has one home beside this file (`arrow.py`, `duckdb.py`, `spark.py`, `iceberg.py`); nothing else in
Lakebed translates types.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from lakebed.errors import AmbiguousColumnCase

# The key under which field metadata, in Arrow and in Spark, holds a column's original name.
ORIGINAL_KEY = "lakebed.original"

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]


@dataclass(frozen=True, slots=True)
class Null:
    """A column that holds nothing yet: it widens to anything."""

    def __str__(self) -> str:
        return "null"


@dataclass(frozen=True, slots=True)
class Boolean:
    def __str__(self) -> str:
        return "boolean"


@dataclass(frozen=True, slots=True)
class Integer:
    bits: int = 64
    signed: bool = True

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}"


@dataclass(frozen=True, slots=True)
class Float:
    bits: int = 64

    def __str__(self) -> str:
        return f"float{self.bits}"


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Text:
    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes; with a width, always so many of them."""

    width: int | None = None

    def __str__(self) -> str:
        return "binary" if self.width is None else f"binary({self.width})"


@dataclass(frozen=True, slots=True)
class Date:
    def __str__(self) -> str:
        return "date"


@dataclass(frozen=True, slots=True)
class Time:
    unit: TimeUnit = "us"

    def __str__(self) -> str:
        return f"time({self.unit})"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A moment; without a zone it is a wall-clock time, which Lakebed's own columns always hold in UTC."""

    unit: TimeUnit = "us"
    zone: str | None = None

    def __str__(self) -> str:
        return f"timestamp({self.unit}{', ' + self.zone if self.zone else ''})"


@dataclass(frozen=True, slots=True)
class List:
    element: "DataType"

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    key: "DataType"
    value: "DataType"

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple["Column", ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{field.name}: {field.type}' for field in self.fields)}>"


DataType: TypeAlias = (
    Null | Boolean | Integer | Float | Decimal | Text | Binary | Date | Time | Timestamp | List | Map | Struct
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a field of a struct: its name in the table, its type, and the name it had in the source.

    `aliases` are further names that sources have had for it.
    """

    name: str
    type: DataType
    nullable: bool = True
    original: str | None = None
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.type}{'' if self.nullable else ' not null'}"


def fold(name: str) -> str:
    """The form under which two names are the same column."""
    return name.casefold()


@dataclass(frozen=True)
class Schema:
    """The columns of a table in their order. Names are unique without regard to case."""

    columns: tuple[Column, ...] = ()

    @classmethod
    def of(cls, columns: Iterable[Column]) -> "Schema":
        return cls(tuple(columns))

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {fold(column.name): column for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: str) -> bool:
        return fold(name) in self._by_name

    def __getitem__(self, name: str) -> Column:
        return self._by_name[fold(name)]

    def get(self, name: str) -> Column | None:
        """The column of this name, whatever its case, or None."""
        return self._by_name.get(fold(name))

    def require_unambiguous(self, *, side: str) -> None:
        """Raises AmbiguousColumnCase where two columns differ only in case; `side` says whose columns they are."""
        seen: dict[str, str] = {}
        for name in self.names:
            if (other := seen.setdefault(fold(name), name)) is not name:
                raise AmbiguousColumnCase(side=side, names=(other, name))

    def with_columns(self, columns: Iterable[Column]) -> "Schema":
        """This schema with more columns at its end."""
        return replace(self, columns=(*self.columns, *columns))
