"""The values that an impact analysis returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

ChangeKind = Literal["any", "drop", "rename", "retype"]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """What happens to a column, or without one to a whole table; `any` is whatever its values may do."""

    kind: ChangeKind
    table: str
    column: str | None
    # the new name or type
    to: str | None = None

    @property
    def subject(self) -> str:
        return f"{self.table}.{self.column}" if self.column else self.table

    def __str__(self) -> str:
        words = {"any": "", "drop": "drop ", "rename": "rename ", "retype": "retype "}
        return f"{words[self.kind]}{self.subject}{f' to {self.to}' if self.to else ''}"

    def to_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "table": self.table, "column": self.column, "to": self.to}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement names what changes."""

    # None where a whole file could not be read
    statement_index: int | None
    statement_type: str
    file: str | None
    line: int

    def __str__(self) -> str:
        return f"{self.file or 'script'}:{self.line}"

    def to_dict(self) -> dict[str, object]:
        return {
            "statementIndex": self.statement_index,
            "statementType": self.statement_type,
            "file": self.file,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class ReachedColumn:
    """A column that depends on what changes; without a column, the rows of a table, which a filter or join decides."""

    change: ColumnChange
    table: str | None
    column: str | None
    role: str
    # from what changes to this column, both included
    path: tuple[str, ...]
    place: Place
    approximate: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "change": str(self.change),
            "table": self.table,
            "column": self.column,
            "role": self.role,
            "path": list(self.path),
            "approximate": self.approximate,
            **self.place.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Breakage:
    """A statement that no longer runs, or no longer means the same, once the change is made."""

    change: ColumnChange
    # what the statement names: the column of the change, or one that loses its own by it
    table: str
    column: str | None
    roles: tuple[str, ...]
    reason: str
    place: Place

    def to_dict(self) -> dict[str, object]:
        return {
            "change": str(self.change),
            "table": self.table,
            "column": self.column,
            "roles": list(self.roles),
            "reason": self.reason,
            **self.place.to_dict(),
        }


@dataclass(frozen=True)
class ImpactResult:
    """Everything that changes of columns reach, and what they break."""

    changes: tuple[ColumnChange, ...]
    breaks: tuple[Breakage, ...]
    # what each change reaches; a change may reach all that there is, and most callers look at a part of it
    reached_by_change: tuple[Sequence[ReachedColumn], ...] = field(repr=False)
    # statements that could not be analysed, and may be reached too
    unknown: tuple[Place, ...]

    @cached_property
    def reached(self) -> tuple[ReachedColumn, ...]:
        """Every column that the changes reach."""
        return tuple(one for found in self.reached_by_change for one in found)

    @property
    def reached_count(self) -> int:
        """How many columns the changes reach."""
        return sum(len(found) for found in self.reached_by_change)

    @property
    def breaking(self) -> bool:
        return bool(self.breaks)

    def to_dict(self) -> dict[str, object]:
        return {
            "changes": [change.to_dict() for change in self.changes],
            "breaking": self.breaking,
            "breaks": [one.to_dict() for one in self.breaks],
            "reached": [one.to_dict() for one in self.reached],
            "unknown": [one.to_dict() for one in self.unknown],
        }
