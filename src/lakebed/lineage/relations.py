"""Columns that can be read, each with the source columns it comes from.

A `Relation` is a table, a CTE, a derived table or a query's result: names in order, and for each the references to
physical columns behind it. Where columns are not known, `unknown` says what a name that is not listed could be.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from lakebed.lineage.data_types import struct_fields

if TYPE_CHECKING:
    from lakebed.lineage.type_inference import SelectOrigin

# (table, column, path into a struct, role, approximate). A bare tuple, because a statement makes thousands.
Ref = tuple[str, str, tuple[str, ...], str, bool]
Refs = tuple[Ref, ...]

NO_REFS: Refs = ()


def with_role(refs: Refs, role: str) -> Refs:
    """The same sources in another role; a value keeps the role that its sources have."""
    if role == "value":
        return refs
    return tuple([(table, column, path, role, approximate) for table, column, path, _, approximate in refs])


def mark_approximate(refs: Iterable[Ref]) -> Refs:
    """The same sources, marked approximate."""
    return tuple([(table, column, path, role, True) for table, column, path, role, _ in refs])


def at_field(refs: Refs, path: tuple[str, ...]) -> Refs:
    """The same sources, at a field below them."""
    return tuple([(table, column, p + path, role, approximate) for table, column, p, role, approximate in refs])


def union(parts: Iterable[Refs]) -> Refs:
    """All sources, each once, in order."""
    return tuple(dict.fromkeys(ref for refs in parts for ref in refs))


class Unknown:
    """What a name that a relation does not list could be."""

    __slots__ = ()

    # fields below a column that is listed: they can be named, but a star does not stand for them
    fields = False

    def lookup(self, key: str, name: str) -> Refs:
        """The sources that a column of this name would have."""
        raise NotImplementedError

    def certain(self) -> bool:
        """Whether there is only one place that the name could come from."""
        return True

    def tables(self) -> tuple[str, ...]:
        """The tables whose columns are not known."""
        return ()


class UnknownTable(Unknown):
    """Further columns of one table."""

    __slots__ = ("table",)

    def __init__(self, table: str) -> None:
        self.table = table

    def lookup(self, key: str, name: str) -> Refs:
        return ((self.table, name, (), "value", False),)

    def tables(self) -> tuple[str, ...]:
        return (self.table,)


class Derived(Unknown):
    """Columns computed from known sources by something whose output names are not known, such as a table function."""

    __slots__ = ("refs",)

    def __init__(self, refs: Refs) -> None:
        self.refs = refs

    def lookup(self, key: str, name: str) -> Refs:
        return self.refs


class Fields(Derived):
    """Fields of the structs that UNNEST returns: `u.city`."""

    __slots__ = ()
    fields = True


class OneOf(Unknown):
    """Columns of a join whose sides are not known: a name comes from one side, and it is not known from which."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Unknown]) -> None:
        self.parts = tuple(parts)

    def lookup(self, key: str, name: str) -> Refs:
        return mark_approximate(union(part.lookup(key, name) for part in self.parts))

    def certain(self) -> bool:
        return False

    def tables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(table for part in self.parts for table in part.tables()))


class AllOf(Unknown):
    """Columns of a set operation: branches match by position, so a lookup by name in a later branch is approximate."""

    __slots__ = ("first", "rest")

    def __init__(self, first: Unknown, rest: Sequence[Unknown]) -> None:
        self.first = first
        self.rest = tuple(rest)

    def lookup(self, key: str, name: str) -> Refs:
        return union([self.first.lookup(key, name), *(mark_approximate(part.lookup(key, name)) for part in self.rest)])

    def certain(self) -> bool:
        return self.first.certain()

    def tables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(table for part in (self.first, *self.rest) for table in part.tables()))


def one_of(unknowns: Sequence[Unknown]) -> Unknown | None:
    """Columns that come from one of these places; None where there is no such place."""
    return OneOf(unknowns) if len(unknowns) > 1 else unknowns[0] if unknowns else None


class Without(Unknown):
    """All columns but the hidden ones, as after a star with EXCEPT."""

    __slots__ = ("base", "hidden")

    def __init__(self, base: Unknown, hidden: frozenset[str]) -> None:
        self.base = base
        self.hidden = hidden

    def lookup(self, key: str, name: str) -> Refs:
        return NO_REFS if key in self.hidden else self.base.lookup(key, name)

    def certain(self) -> bool:
        return self.base.certain()

    def tables(self) -> tuple[str, ...]:
        return self.base.tables()


class Relation:
    """Columns in order, with their sources."""

    __slots__ = (
        "_types",
        "by_key",
        "doubt",
        "keys",
        "names",
        "origin",
        "refs",
        "repeated",
        "table",
        "unknown",
    )

    def __init__(
        self,
        names: list[str],
        keys: list[str],
        refs: list[Refs],
        *,
        unknown: Unknown | None = None,
        table: str | None = None,
        doubt: bool = False,
        types: Callable[[], dict[str, str]] | None = None,
        origin: "SelectOrigin | Relation | list[Relation] | None" = None,
    ) -> None:
        self.names = names
        self.keys = keys
        self.refs = refs
        self.unknown = unknown
        # the physical table, where this is one
        self.table = table
        # imported and implied schema contradict each other: a star over it is approximate
        self.doubt = doubt
        self._types: Callable[[], dict[str, str]] | dict[str, str] | None = types
        # what the columns were made of: a select list, another relation by position, or the branches of a union
        self.origin = origin
        # names that occur twice
        self.repeated: frozenset[str] = frozenset()
        # sources by the key of a name; a name that occurs twice has the sources of both
        self.by_key: dict[str, Refs] = self._index()

    @property
    def types(self) -> dict[str, str] | None:
        """The declared types of a table's columns by their keys; None where this is no table."""
        if callable(self._types):
            # few statements ask for them
            self._types = self._types()
        return self._types

    @property
    def open(self) -> Unknown | None:
        """What a star over this relation cannot list."""
        unknown = self.unknown
        return None if unknown is None or unknown.fields else unknown

    def struct_fields(self, key: str, parser: str, path: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The fields of a struct column, or of a struct inside of it; empty where its type does not list them."""
        types = self.types
        return struct_fields(types[key], parser, path) if types and key in types else ()

    def _index(self) -> dict[str, Refs]:
        index = dict(zip(self.keys, self.refs, strict=True))
        if len(index) < len(self.keys):
            index = {}
            repeated = set()
            for key, refs in zip(self.keys, self.refs, strict=True):
                if key in index:
                    repeated.add(key)
                    index[key] = union([index[key], refs])
                else:
                    index[key] = refs
            self.repeated = frozenset(repeated)
        if self.names != self.keys:
            # an imported name may have been quoted where it was exported: its exact spelling means it, too
            index = {**dict(zip(self.names, self.refs, strict=True)), **index}
        return index

    def renamed(self, names: list[str], keys: list[str]) -> "Relation":
        """The same columns under other names, as an alias with a column list gives them.

        Where columns are not known, neither is which of them is the first: the new names have no sources then.
        """
        count = len(names)
        refs = self.refs if self.unknown is None else []
        refs = refs[:count] + [NO_REFS] * (count - len(refs)) + refs[count:]
        return Relation(
            names + self.names[count : len(refs)],
            keys + self.keys[count : len(refs)],
            refs,
            doubt=self.doubt,
            origin=self if self.unknown is None else None,
        )

    def distinct_names(self) -> "Relation":
        """The same columns with repeated names numbered (a, a_1), as DuckDB does in a derived table."""
        if len(set(self.keys)) == len(self.keys):
            return self
        numbers: dict[str, int] = {}
        taken: set[str] = set()
        names: list[str] = []
        keys: list[str] = []
        for name, key in zip(self.names, self.keys, strict=True):
            if key in taken:
                number = numbers.get(key, 1)
                while f"{key}_{number}" in taken:
                    number += 1
                numbers[key] = number + 1
                name, key = f"{name}_{number}", f"{key}_{number}"
            taken.add(key)
            names.append(name)
            keys.append(key)
        return Relation(names, keys, self.refs, unknown=self.unknown, table=self.table, doubt=self.doubt, origin=self)
