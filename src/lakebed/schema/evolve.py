"""The evolution plan: what a table's schema becomes when new data arrives.

A plan can add, widen and relax. It has no step that drops or narrows, so nothing that interprets plans can do either.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lakebed.schema.types import Column, DataType, Schema

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column, or with a longer path a field inside a struct, that the table did not have."""

    path: Path
    column: Column


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """A column whose type grows without losing a value."""

    path: Path
    before: DataType
    after: DataType


@dataclass(frozen=True, slots=True)
class RelaxColumn:
    """A required column that becomes optional, because new rows may lack it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Conflict:
    """A column whose incoming type cannot be brought together with the current one."""

    path: Path
    current: DataType
    incoming: DataType
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column of the final table comes from in the incoming data; None is NULL padding."""

    column: str
    incoming: str | None


@dataclass(frozen=True, slots=True)
class FormatRules:
    """What a target's format can express; what it cannot is refused before any write."""

    decimal_scale_may_grow: bool = True
    integer_to_decimal: bool = True
    integer_to_float: bool = True
    unsigned_integers: bool = True
    small_integers: bool = True
    nanoseconds: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants done where there is a choice."""

    add_columns: bool = True
    on_conflict: Literal["refuse", "variant"] = "refuse"
    rules: FormatRules = FormatRules()


@dataclass(frozen=True)
class EvolutionPlan:
    """(current, incoming, policy) -> what changes, what stays, and where each column's values come from."""

    current: Schema | None
    incoming: Schema
    adds: tuple[AddColumn, ...]
    widenings: tuple[WidenColumn, ...]
    relaxations: tuple[RelaxColumn, ...]
    conflicts: tuple[Conflict, ...]
    final: Schema
    sources: tuple[Source, ...]

    @property
    def creates(self) -> bool:
        """The table does not exist yet."""
        return self.current is None

    @property
    def changes_schema(self) -> bool:
        return bool(self.creates or self.adds or self.widenings or self.relaxations)
