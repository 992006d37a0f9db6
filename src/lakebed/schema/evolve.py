"""The evolution plan: what a table's schema becomes when new data arrives.

A plan can add, widen and relax. It has no step that drops or narrows, so nothing that interprets plans can do either.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from lakebed.errors import SchemaError, SchemaIncompatible
from lakebed.model import Lacking
from lakebed.schema.names import UniqueNames
from lakebed.schema.types import Column, DataType, List, Map, Schema, Struct, fold
from lakebed.schema.unknown import without_unknown
from lakebed.schema.widen import ANY_FORMAT, ELEMENT, KEY, VALUE, Mismatch, storable, widen
from lakebed.schema.widen import FormatRules as FormatRules
from lakebed.schema.widen import Path as Path

# Between a column's name and the type of its variant: `cost__decimal_38_18`.
_VARIANT = "__"
# Between a column's original name and the type of its variant, in what the table keeps as the variant's original.
_NOTE = " as "


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column, or with a longer path a field inside a struct, that the table did not have.

    Inside lists and maps the path says `element`, `key` or `value`.
    """

    path: Path
    column: Column


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """A column whose type grows without losing a value. Structs, lists and maps never appear: what is in them does."""

    path: Path
    before: DataType
    after: DataType


@dataclass(frozen=True, slots=True)
class RelaxColumn:
    """A required column that becomes optional, because new rows may lack it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Conflict:
    """A column whose incoming type cannot be brought together with the current one, and the column that takes it."""

    path: Path
    current: DataType
    incoming: DataType
    reason: str
    variant: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column of the final table comes from in the incoming data; None is NULL padding."""

    column: str
    incoming: str | None


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants done where there is a choice.

    `add_columns` False refuses a column or field that the table does not have; `widen_types` False refuses a type that
    would have to grow. Neither keeps a table from being created.
    """

    add_columns: bool = True
    on_conflict: Literal["refuse", "variant"] = "refuse"
    rules: FormatRules = ANY_FORMAT
    widen_types: bool = True


@dataclass(frozen=True)
class EvolutionPlan:
    """(current, incoming, policy) -> what changes, what stays, and where each column's values come from.

    `conflicts` were solved by variant columns; under the policy `refuse` there is no plan with a conflict. `waiting`
    are columns and fields that hold nothing yet: they are created with their first real type. `superseded` are columns
    whose values the incoming data brings under another type: of a column and its variants a row has a value in one.
    Where a plan was applied, `retries` is how often that was tried again because another writer had committed first.
    """

    current: Schema | None
    incoming: Schema
    adds: tuple[AddColumn, ...]
    widenings: tuple[WidenColumn, ...]
    relaxations: tuple[RelaxColumn, ...]
    conflicts: tuple[Conflict, ...]
    final: Schema
    sources: tuple[Source, ...]
    waiting: tuple[Path, ...] = ()
    superseded: tuple[str, ...] = ()
    retries: int = field(default=0, compare=False)

    @property
    def creates(self) -> bool:
        """The table does not exist yet."""
        return self.current is None

    @property
    def changes_schema(self) -> bool:
        return bool(self.creates or self.adds or self.widenings or self.relaxations)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The new columns and fields by their dotted names; none where the table is created."""
        return () if self.creates else tuple(".".join(add.path) for add in self.adds)

    @property
    def reshaped(self) -> frozenset[str]:
        """The columns, folded, that were there and whose type changes: widened, or a struct in them gained a field."""
        if self.creates:
            return frozenset()
        added = (add.path for add in self.adds if len(add.path) > 1)
        return frozenset(fold(path[0]) for path in (*added, *(step.path for step in self.widenings)))

    @property
    def renamed_sources(self) -> tuple[Column, ...]:
        """The columns that were there before, and of which the table is to keep an original that it did not."""
        before = self.current or Schema()
        return tuple(
            column
            for column in self.final
            if (present := before.get(column.name)) is not None
            and (present.original, present.aliases) != (column.original, column.aliases)
        )

    @property
    def padded(self) -> tuple[str, ...]:
        """The columns that the incoming data lacks; its rows have NULL there."""
        return tuple(source.column for source in self.sources if source.incoming is None)

    @property
    def padded_fields(self) -> dict[str, Lacking]:
        """What the incoming data lacks inside the structs that it has, by column; lists and maps are values."""
        found = {}
        for source in self.sources:
            if source.incoming is None:
                continue
            lacking = _lacking(self.final[source.column].type, self.incoming[source.incoming].type)
            if lacking:
                found[source.column] = lacking
        return found

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that the table had, which are all there still."""
        return () if self.current is None else self.current.names

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the plan as canonical JSON: equal plans have equal hashes, on every machine."""
        canonical = json.dumps(self._facts(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints of a plan."""
        return {**self._facts(), "hash": self.hash, "retries": self.retries}

    def _facts(self) -> dict[str, object]:
        return {
            "creates": self.creates,
            "changes_schema": self.changes_schema,
            "adds": [{"path": list(add.path), **_column_facts(add.column)} for add in self.adds],
            "widenings": [
                {"path": list(step.path), "before": str(step.before), "after": str(step.after)}
                for step in self.widenings
            ],
            "relaxations": [{"path": list(step.path)} for step in self.relaxations],
            "conflicts": [
                {
                    "path": list(conflict.path),
                    "current": str(conflict.current),
                    "incoming": str(conflict.incoming),
                    "reason": conflict.reason,
                    "variant": conflict.variant,
                }
                for conflict in self.conflicts
            ],
            "columns": [{"name": column.name, **_column_facts(column)} for column in self.final],
            "sources": {source.column: source.incoming for source in self.sources},
            "padded": list(self.padded),
            # Most plans have none of these, and keep the hash that they had before there were any.
            **({"waiting": [list(path) for path in self.waiting]} if self.waiting else {}),
            **({"superseded": list(self.superseded)} if self.superseded else {}),
        }

    def describe(self) -> str:
        """The plan for a person: one line per step."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.describe()

    def _lines(self) -> Iterator[str]:
        if self.creates:
            yield f"create the table with {len(self.final)} columns"
        elif not self.changes_schema:
            yield "the schema stays as it is"
        for add in self.adds:
            yield f"add     {'.'.join(add.path)} {add.column.type}{_from(add.column)}"
        for step in self.widenings:
            yield f"widen   {'.'.join(step.path)} from {step.before} to {step.after}"
        for relaxation in self.relaxations:
            yield f"relax   {'.'.join(relaxation.path)}: it may be NULL from now on"
        for conflict in self.conflicts:
            yield (
                f"variant {conflict.variant} takes {'.'.join(conflict.path)}: {conflict.incoming} does not fit "
                f"{conflict.current} ({conflict.reason})"
            )
        for path in self.waiting:
            yield f"wait    {'.'.join(path)}: it holds nothing yet, and is created with its first real type"
        if self.padded:
            yield f"NULL    in new rows: {', '.join(self.padded)}"


def plan_evolution(current: Schema | None, incoming: Schema, policy: Policy | None = None) -> EvolutionPlan:
    """What the table becomes so that it holds every row it has and every row that arrives.

    Raises SchemaIncompatible where that cannot be, and AmbiguousColumnCase where two columns of one side differ only in
    case. Planning again on the result changes nothing.
    """
    policy = policy or Policy()
    incoming.require_unambiguous(side="source")
    if current is None:
        return _plan_creation(incoming, policy.rules)
    current.require_unambiguous(side="target")
    return _Planner(current, incoming, policy).plan()


def _plan_creation(incoming: Schema, rules: FormatRules) -> EvolutionPlan:
    waiting: list[Path] = []
    final = Schema.of(_stored(column, rules) for column in _known(incoming, None, waiting))
    if not final.columns and incoming.columns:
        raise SchemaError(
            f"none of the {len(incoming)} columns holds a value yet, so that no type is known to create a table with",
            remedy="Give one of them a type in the source, or create the table with `lakebed evolve`.",
        )
    return EvolutionPlan(
        current=None,
        incoming=incoming,
        adds=tuple(AddColumn((column.name,), column) for column in final),
        widenings=(),
        relaxations=(),
        conflicts=(),
        final=final,
        sources=tuple(Source(column.name, column.name) for column in final),
        waiting=tuple(waiting),
    )


def _known(incoming: Schema, current: Schema | None, waiting: list[Path]) -> Iterator[Column]:
    """The incoming columns without what waits for a type, which is noted in `waiting`."""
    for column in incoming:
        present = None if current is None else current.get(column.name)
        type_, paths = without_unknown(column.type, None if present is None else present.type, (column.name,))
        waiting += paths
        if type_ is not None:
            yield column if type_ == column.type else replace(column, type=type_)


class _Planner:
    """Brings two schemas together, column by column."""

    def __init__(self, current: Schema, incoming: Schema, policy: Policy) -> None:
        self._current = current
        self._incoming = incoming
        self._policy = policy
        self._final: dict[str, Column] = {fold(column.name): column for column in current}
        self._sources: dict[str, str] = {}
        self._conflicts: list[tuple[Column, Column, Mismatch]] = []

    def plan(self) -> EvolutionPlan:
        waiting: list[Path] = []
        for arriving in _known(self._incoming, self._current, waiting):
            if (present := self._current.get(arriving.name)) is not None:
                self._match(present, arriving)
            else:
                self._add(replace(arriving, nullable=True), arriving.name)
        # Variants come last: their names must give way to every real column.
        conflicts = tuple(self._variants())
        superseded = tuple(self._superseded()) if self._policy.on_conflict == "variant" else ()
        for key, column in self._final.items():
            if key not in self._sources:
                self._final[key] = replace(column, nullable=True)
        final = Schema.of(self._final.values())
        steps = tuple(_steps_between(self._current, final))
        plan = EvolutionPlan(
            current=self._current,
            incoming=self._incoming,
            adds=tuple(step for step in steps if isinstance(step, AddColumn)),
            widenings=tuple(step for step in steps if isinstance(step, WidenColumn)),
            relaxations=tuple(step for step in steps if isinstance(step, RelaxColumn)),
            conflicts=conflicts,
            final=final,
            sources=tuple(Source(column.name, self._sources.get(fold(column.name))) for column in final),
            waiting=tuple(waiting),
            superseded=superseded,
        )
        self._require_allowed(plan)
        return plan

    def _match(self, present: Column, arriving: Column) -> None:
        type_ = widen(present.type, arriving.type, self._policy.rules)
        if isinstance(type_, Mismatch):
            if self._policy.on_conflict == "refuse":
                raise SchemaIncompatible(
                    column=".".join((present.name, *type_.path)),
                    current=str(type_.current),
                    incoming=str(type_.incoming),
                    reason=type_.reason,
                )
            self._conflicts.append((present, arriving, type_))
            return
        original = present.original if present.original is not None else arriving.original
        aliases = dict.fromkeys((*present.aliases, *arriving.aliases))
        self._final[fold(present.name)] = replace(
            present,
            type=type_,
            nullable=present.nullable or arriving.nullable,
            original=original,
            aliases=tuple(alias for alias in aliases if alias != original),
        )
        self._sources[fold(present.name)] = arriving.name

    def _add(self, column: Column, incoming_name: str) -> None:
        self._final[fold(column.name)] = _stored(column, self._policy.rules)
        self._sources[fold(column.name)] = incoming_name

    def _variants(self) -> Iterator[Conflict]:
        """Sends each value that does not fit to a column of its own, the same one on every later load."""
        names = UniqueNames(column.name for column in self._final.values())
        earlier = _by_prefix(self._final)
        for present, arriving, why in self._conflicts:
            for key in earlier.get(fold(present.name), ()):
                column = self._final[key]
                # Tables of earlier versions have no note beside a variant; its name and type then say what it is.
                ours = self._is_noted(key, present, arriving) or key == fold(_variant_name(present, column.type))
                holds = widen(column.type, arriving.type, self._policy.rules) == column.type
                if ours and holds and key not in self._sources:
                    self._sources[key] = arriving.name
                    name = column.name
                    break
            else:
                name = names.give(_variant_name(present, arriving.type))
                # Not the original itself: that stays the name of the first column.
                note = f"{arriving.original or present.original or present.name}{_NOTE}{arriving.type}"
                self._add(Column(name, arriving.type, original=note), arriving.name)
            yield Conflict((present.name, *why.path), why.current, why.incoming, why.reason, name)

    def _superseded(self) -> Iterator[str]:
        """What is left of a column and its variants, known by their notes, where one of them takes the new values."""
        could_be = _by_prefix(self._final)
        for arriving in self._incoming:
            if (present := self._current.get(arriving.name)) is None:
                continue
            variants = could_be.get(fold(present.name), ())
            for key in (fold(present.name), *(key for key in variants if self._is_noted(key, present, arriving))):
                if key not in self._sources:
                    yield self._final[key].name

    def _is_noted(self, key: str, present: Column, arriving: Column) -> bool:
        """Whether the table says that this column is a variant of that one."""
        notes = tuple(f"{name}{_NOTE}" for name in (present.original, arriving.original, present.name) if name)
        return (self._final[key].original or "").startswith(notes)

    def _require_allowed(self, plan: EvolutionPlan) -> None:
        if plan.adds and not self._policy.add_columns:
            add = plan.adds[0]
            raise SchemaIncompatible(
                column=".".join(add.path),
                current="not there",
                incoming=str(add.column.type),
                reason="schema evolution is off",
                remedy="Allow schema evolution, or leave the column out of the source.",
            )
        if plan.widenings and not self._policy.widen_types:
            step = plan.widenings[0]
            raise SchemaIncompatible(
                column=".".join(step.path),
                current=str(step.before),
                incoming=str(step.after),
                reason="schema evolution is off",
                remedy="Allow schema evolution, or cast the column in the source.",
            )


def _lacking(final: DataType, incoming: DataType) -> Lacking:
    if not isinstance(final, Struct) or not isinstance(incoming, Struct):
        return {}
    arriving = {fold(one.name): one.type for one in incoming.fields}
    found: dict[str, Lacking | None] = {}
    for one in final.fields:
        if (type_ := arriving.get(fold(one.name))) is None:
            found[one.name] = None
        elif inner := _lacking(one.type, type_):
            found[one.name] = inner
    return found


def _variant_name(column: Column, type_: DataType) -> str:
    return f"{column.name}{_VARIANT}{_slug(type_)}"


def _by_prefix(names: Iterable[str]) -> dict[str, list[str]]:
    """The names that could be variants, under each part of them that could be the first column's name."""
    found: dict[str, list[str]] = {}
    for name in names:
        at = name.find(_VARIANT)
        while at > 0:
            found.setdefault(name[:at], []).append(name)
            at = name.find(_VARIANT, at + 1)
    return found


def _stored(column: Column, rules: FormatRules) -> Column:
    """The column in a type that the target's format has."""
    type_ = storable(column.type, rules)
    if type_ is None:
        raise SchemaIncompatible(
            column=column.name,
            current="not there",
            incoming=str(column.type),
            reason="the target's format has no type that holds it",
            remedy="Write it to a target that has this type, or to another type in the source: that a cast loses "
            "nothing is for you to say.",
        )
    return column if type_ == column.type else replace(column, type=type_)


def _slug(type_: DataType) -> str:
    """The type as part of a name: `decimal_38_18`; of a long nested type its kind and a fingerprint."""
    text = str(type_)
    slug = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if len(slug) <= 40:
        return slug
    return f"{slug.partition('_')[0]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _steps_between(before: Schema, after: Schema) -> Iterator[AddColumn | WidenColumn | RelaxColumn]:
    yield from _field_steps((), before.columns, after.columns)


def _field_steps(
    path: Path, before: tuple[Column, ...], after: tuple[Column, ...]
) -> Iterator[AddColumn | WidenColumn | RelaxColumn]:
    known = {fold(column.name): column for column in before}
    for column in after:
        here = (*path, column.name)
        if (old := known.get(fold(column.name))) is None:
            yield AddColumn(here, column)
            continue
        yield from _type_steps(here, old.type, column.type)
        if column.nullable and not old.nullable:
            yield RelaxColumn(here)


def _type_steps(path: Path, before: DataType, after: DataType) -> Iterator[AddColumn | WidenColumn | RelaxColumn]:
    match before, after:
        case (Struct(old), Struct(new)):
            yield from _field_steps(path, old, new)
        case (List(old_element), List(new_element)):
            yield from _type_steps((*path, ELEMENT), old_element, new_element)
        case (Map(old_key, old_value), Map(new_key, new_value)):
            yield from _type_steps((*path, KEY), old_key, new_key)
            yield from _type_steps((*path, VALUE), old_value, new_value)
        case _ if before != after:
            yield WidenColumn(path, before, after)


def _column_facts(column: Column) -> dict[str, object]:
    return {"type": str(column.type), "nullable": column.nullable, "original": column.original}


def _from(column: Column) -> str:
    return f" (from {column.original})" if column.original not in (None, column.name) else ""
