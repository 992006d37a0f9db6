"""Identity: which column of a table an original name stands for, decided once and kept.

A CUR header writes `lineItem/UnblendedCost`; Parquet deliveries and CUR 2.0 write `line_item_unblended_cost`, the
finished name. Both are one column: a column can have several originals, and an original has exactly one column.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from lakebed.model import FILE, LOAD, RESERVED_COLUMNS
from lakebed.schema.names import (
    Naming,
    UniqueNames,
    as_written,
    distinct_originals,
    has_finished_names,
    normalize_column_name,
)
from lakebed.schema.types import Schema, fold

_RESERVED = frozenset(fold(name) for name in (*RESERVED_COLUMNS, FILE, LOAD))
# `lineItem/UnblendedCost`, `resourceTags/user:Environment`.
_CATEGORY = re.compile(r"[A-Za-z]+/\S")


@dataclass(frozen=True)
class Identities:
    """The column names of a table and the originals that are known to stand for them.

    `by_original` maps each original to its name; `names` are all names of the table in their order, also those of
    columns whose original is not written down.
    """

    by_original: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    names: tuple[str, ...] = ()

    @classmethod
    def from_schema(cls, schema: Schema, aliases: Mapping[str, str] | None = None) -> "Identities":
        """Reads the identities back out of a table; `aliases` are further originals that a ledger remembers.

        Where the two disagree the table is right. An alias of a column that the table does not have is kept: the column
        was decided on, and its load has yet to commit.
        """
        by_original = {
            column.original: column.name
            for column in schema
            # Only we write several.
            if column.original is not None and (column.aliases or _is_original(column.original, column.name))
        }
        for column in schema:
            for alias in column.aliases:
                # Two names that looked like one column may have parted: then it is the first of another column.
                by_original.setdefault(alias, column.name)
        spelling = {fold(name): name for name in schema.names}
        for original, name in (aliases or {}).items():
            by_original.setdefault(original, spelling.get(fold(name), name))
        return cls.of(by_original, names=schema.names)

    @classmethod
    def of(cls, by_original: Mapping[str, str], names: Sequence[str] = ()) -> "Identities":
        """From pairs of original and name, as a ledger keeps them."""
        every = {fold(name): name for name in reversed((*names, *by_original.values()))}
        ordered = dict.fromkeys(every[fold(name)] for name in (*names, *by_original.values()))
        return cls(MappingProxyType(dict(by_original)), tuple(ordered))

    def __getitem__(self, original: str) -> str:
        return self.by_original[original]

    def __contains__(self, original: str) -> bool:
        return original in self.by_original

    def originals(self, name: str) -> tuple[str, ...]:
        """The originals of a column, the first decided first."""
        return self._originals.get(fold(name), ())

    @cached_property
    def _originals(self) -> dict[str, tuple[str, ...]]:
        grouped: dict[str, tuple[str, ...]] = {}
        for original, name in self.by_original.items():
            grouped[fold(name)] = (*grouped.get(fold(name), ()), original)
        return grouped


def _is_original(text: str, name: str) -> bool:
    """Whether a comment in a table is the original of this column, or a remark.

    A CUR original is known by its category, also where a user renamed the column; any other must explain the name.
    """
    if _CATEGORY.match(text):
        return True
    forms = {normalize_column_name(text, "spec"), normalize_column_name(text, "athena"), fold(text)}
    return any(re.fullmatch(rf"{re.escape(form)}(_\d+)?", fold(name)) for form in forms)


def assign(
    identities: Identities, originals: Iterable[str], naming: Naming = "spec", *, finished_names: bool = False
) -> Identities:
    """The identities with these originals in them: known ones keep their column, the others find one or get a new one.

    `finished_names` says that the source's format delivers names as tables have them (Parquet, CUR 2.0), not a CUR
    header. For one manifest and a new table the names are those of `create_column_mapping`. Two originals of one call
    never share a column.
    """
    header = distinct_originals(originals)
    written = frozenset(header)
    assigned = dict(identities.by_original)
    rivals = _rivals(identities, header)
    for alias in rivals:
        del assigned[alias]
    matcher = _Matcher(identities, claimed=(assigned[original] for original in header if original in assigned))
    # Names that only the table knows may still be claimed, also by a suffix: the table may stem from another loader of
    # the same specification.
    fresh = UniqueNames(name for name in identities.names if not matcher.claimable(name))
    for original in header:
        if original in assigned:
            continue
        text = as_written(original, written)
        name = None if original in rivals else matcher.find(text, naming, finished=finished_names)
        if name is None:
            name = matcher.spelling(fresh.give(normalize_column_name(text, naming)))
        fresh.take(name)
        matcher.claim(name)
        assigned[original] = name
    return Identities.of(assigned, names=identities.names)


def _rivals(identities: Identities, header: Sequence[str]) -> set[str]:
    """Aliases that come together with an earlier original of their column.

    Apart they looked like one column under two names; together they are two columns, and the later one needs its own.
    """
    present = {original for original in header if original in identities}
    rivals: set[str] = set()
    for name in {fold(identities[original]) for original in present}:
        rivals.update([original for original in identities.originals(name) if original in present][1:])
    return rivals


class _Matcher:
    """Finds the column of a table that an unknown original stands for, each column at most once."""

    def __init__(self, identities: Identities, *, claimed: Iterable[str]) -> None:
        self._identities = identities
        self._spelling = {fold(name): name for name in identities.names}
        self._claimed = {fold(name) for name in claimed} | _RESERVED
        self._by_form: dict[str, list[str]] = {}
        for original, name in identities.by_original.items():
            forms = {normalize_column_name(original, "spec"), normalize_column_name(original, "athena"), fold(original)}
            for form in forms:
                self._by_form.setdefault(form, []).append(name)

    def claimable(self, name: str) -> bool:
        """The table has this column, its original is not written down, and it is not Lakebed's own."""
        return not self._identities.originals(name) and fold(name) not in _RESERVED

    def claim(self, name: str) -> None:
        self._claimed.add(fold(name))

    def spelling(self, name: str) -> str:
        return self._spelling.get(fold(name), name)

    def find(self, original: str, naming: Naming, *, finished: bool) -> str | None:
        wanted = list(
            dict.fromkeys(
                (
                    *((fold(original),) if finished else ()),
                    normalize_column_name(original, naming),
                    normalize_column_name(original, "spec"),
                    normalize_column_name(original, "athena"),
                )
            )
        )
        for form in wanted:
            # A column whose original is unknown is known by its name alone.
            if form in self._spelling and self.claimable(form) and form not in self._claimed:
                return self._spelling[form]
        if "/" in original:
            return self._by_header(wanted)
        return self._by_finished_name(wanted) if finished else None

    def _by_finished_name(self, wanted: Sequence[str]) -> str | None:
        """For `line_item_unblended_cost`: the column that has this name, or would have had it."""
        for form in wanted:
            named = self._spelling.get(form)
            candidates = [name for name in self._by_form.get(form, ()) if fold(name) not in self._claimed]
            if named in candidates:
                return named
            if len(set(candidates)) == 1:
                return candidates[0]
        # The name itself may only be a suffix that parted two others: it counts when nothing fits better.
        for form in wanted:
            named = self._spelling.get(form)
            if named is not None and form not in self._claimed:
                return named
        return None

    def _by_header(self, wanted: Sequence[str]) -> str | None:
        """For `lineItem/UnblendedCost`: the column that so far is only known by that finished name."""
        for form in wanted:
            candidates = {
                name
                for name in self._by_form.get(form, ())
                if fold(name) not in self._claimed and has_finished_names(self._identities.originals(name))
            }
            if len(candidates) == 1:
                return candidates.pop()
        return None
