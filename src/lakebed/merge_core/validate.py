"""The checks that every engine shares: keys exist, types can be compared, schemas unify, no key is NULL."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import pyarrow as pa

from lakebed.errors import AmbiguousColumnCase, InvalidMergeArgument, SchemaError, SchemaIncompatible, UnsupportedType
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec, normalize_keys
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, FormatRules, Policy, plan_evolution
from lakebed.schema.special_names import UNREADABLE
from lakebed.schema.types import Boolean, Date, Integer, List, Map, Null, Schema, Struct, Text, fold
from lakebed.schema.widen import Mismatch, widen


class TableLike(Protocol):
    """What the shared checks need to know of a table: never its rows."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def num_rows(self) -> int: ...


@runtime_checkable
class CountsNulls(Protocol):
    """A table that can say how often a column is NULL, as cheaply as its backend can."""

    def null_count(self, column: str) -> int: ...


@dataclass(frozen=True)
class Unified:
    """A merge whose columns have been brought together: the spec in the table's spelling, and the schema's plan."""

    spec: MergeSpec
    evolution: EvolutionPlan

    @property
    def emptied(self) -> tuple[str, ...]:
        """The columns that an update sets to NULL though the source lacks them."""
        return emptied_columns(self.spec, self.evolution)

    @property
    def delivered(self) -> dict[str, str]:
        """The columns of the table that the source has, and what they are called there."""
        return {source.column: source.incoming for source in self.evolution.sources if source.incoming is not None}


def emptied_columns(spec: MergeSpec, evolution: EvolutionPlan) -> tuple[str, ...]:
    """The columns that an update sets to NULL: what the source lacks, if asked, and what a variant supersedes."""
    return evolution.superseded if spec.keeps_missing else evolution.padded


def unify(
    spec: MergeSpec,
    current: Schema | None,
    incoming: Schema,
    *,
    rules: FormatRules | None = None,
    paths: Sequence[str] = (),
    partition_by: Sequence[str] = (),
) -> Unified:
    """Brings the columns of source and target together, or raises the DatasetMergeError that says why not.

    `current` is None where there is no table. `paths` are partition columns that lie in paths: those have no types of
    their own, so whole numbers, dates and booleans arrive there as text. `partition_by` are all partition columns.
    """
    for side, schema in (("source", incoming), ("target", current)):
        try:
            if schema is not None:
                schema.require_unambiguous(side=side)
        except AmbiguousColumnCase as error:
            raise refusals.ambiguous_case(spec, side=side, names=error.names) from error
    incoming = with_text_paths(current, incoming, paths)
    if current is None:
        incoming = _with_typed_keys(spec, incoming)
    for key in spec.keys:
        if key not in incoming:
            raise refusals.key_missing(spec, side="source", column=key, present=incoming.names)
        if current is not None and key not in current:
            raise refusals.key_missing(spec, side="target", column=key, present=current.names)
        _require_comparable(spec, key, current, incoming)
    policy = Policy(
        add_columns=spec.schema_evolution,
        on_conflict=spec.on_conflict,
        rules=rules or FormatRules(),
        widen_types=spec.schema_evolution,
    )
    try:
        evolution = plan_evolution(current, incoming, policy)
    except SchemaIncompatible as error:
        # Keys are no structs, and their names may have dots.
        if fold(error.column) in {fold(key) for key in spec.keys}:
            raise refusals.key_types(spec, column=error.column, target=error.current, source=error.incoming) from error
        raise refusals.incompatible(spec, error.message, column=error.column, remedy=error.remedy) from error
    except SchemaError as error:
        raise refusals.incompatible(spec, error.message, column=getattr(error, "column", None)) from error
    _refuse_variants(spec, evolution, partition_by)
    final = evolution.final
    if unreadable := UNREADABLE.intersection(final.names):
        name = min(unreadable)
        raise refusals.incompatible(
            spec,
            f"the column {name} has a name that PyArrow keeps for itself: it could not read the table",
            column=name,
            remedy="Rename it in the source.",
        )
    for name in (*spec.dedup_order_by, *spec.partition_by):
        if name not in incoming and name not in final:
            raise InvalidMergeArgument(
                f"there is no column {name} to order or partition by",
                kind="INVALID_KEY_COLUMNS",
                remedy=f"Columns of the source: {', '.join(incoming.names[:20])}.",
                column=name,
                strategy=spec.strategy,
                key_columns=spec.keys,
            )
    for name in spec.dedup_order_by:
        if name not in incoming:
            raise InvalidMergeArgument(
                f"the source has no column {name} to order by",
                kind="INVALID_KEY_COLUMNS",
                remedy=f"Columns of the source: {', '.join(incoming.names[:20])}.",
                column=name,
                strategy=spec.strategy,
                key_columns=spec.keys,
            )
    # A column that holds nothing, and waits for its type, orders nothing.
    order = [final[name].name for name in spec.dedup_order_by if name in final]
    spelled = spec.spelled([final[key].name for key in spec.keys], order)
    return Unified(spelled, evolution)


def validate_keys_and_schema(source: TableLike, target: TableLike | None, key_columns: Sequence[str] | str) -> None:
    """Checks that the key columns exist on both sides, that the schemas unify, and that no key is NULL.

    Tables may be mere descriptors: rows are never asked for. NULLs are counted where a side can count them, which
    pyarrow tables can and anything with a `null_count(column)` can.
    """
    spec = MergeSpec.of(keys=normalize_keys(key_columns))
    try:
        incoming = from_arrow_schema(source.schema)
        current = None if target is None else from_arrow_schema(target.schema)
    except UnsupportedType as error:
        raise refusals.incompatible(spec, error.message, column=error.column, remedy=error.remedy) from error
    unify(spec, current, incoming)
    for key in spec.keys:
        if count := _nulls(source, incoming[key].name):
            raise refusals.null_key(spec, side="source", column=key, count=count)
        if target is not None and current is not None and (count := _nulls(target, current[key].name)):
            raise refusals.null_key(spec, side="target", column=key, count=count)


def _nulls(table: TableLike, column: str) -> int:
    if isinstance(table, pa.Table | pa.RecordBatch):
        return int(table.column(column).null_count)
    return table.null_count(column) if isinstance(table, CountsNulls) else 0


def _require_comparable(spec: MergeSpec, key: str, current: Schema | None, incoming: Schema) -> None:
    arriving = incoming[key]
    if isinstance(arriving.type, List | Map | Struct):
        raise InvalidMergeArgument(
            f"the key column {arriving.name} is {arriving.type}",
            kind="INVALID_KEY_COLUMNS",
            remedy="Keys are single values: merge on a field of it instead.",
            column=arriving.name,
            strategy=spec.strategy,
            key_columns=spec.keys,
        )
    if current is None:
        return
    present = current[key]
    if isinstance(widen(present.type, arriving.type), Mismatch):
        raise refusals.key_types(spec, column=present.name, target=str(present.type), source=str(arriving.type))


def with_text_paths(current: Schema | None, incoming: Schema, paths: Sequence[str]) -> Schema:
    """The incoming columns; those that lie in paths, which have no types of their own, as text where they can be."""
    text = {
        fold(name) for name in paths if current is None or (name in current and isinstance(current[name].type, Text))
    }
    return Schema.of(
        replace(column, type=Text())
        if fold(column.name) in text and isinstance(column.type, Integer | Boolean | Date)
        else column
        for column in incoming
    )


def _with_typed_keys(spec: MergeSpec, incoming: Schema) -> Schema:
    """Keys and partitions of a new table cannot wait for a type: a NULL key is refused, and NULL is a partition."""
    needed = {fold(name) for name in (*spec.keys, *spec.partition_by)}
    return Schema.of(
        replace(column, type=Text()) if fold(column.name) in needed and isinstance(column.type, Null) else column
        for column in incoming
    )


def _refuse_variants(spec: MergeSpec, evolution: EvolutionPlan, partition_by: Sequence[str]) -> None:
    """A key, an order or a partition has one type: rows could not be told apart, ordered or placed by two columns."""
    single = {fold(name) for name in (*spec.keys, *spec.dedup_order_by, *spec.partition_by, *partition_by)}
    for conflict in evolution.conflicts:
        if fold(conflict.path[0]) in single:
            raise refusals.incompatible(
                spec,
                f"column {conflict.path[0]} is {conflict.current} in the table and {conflict.incoming} in the new "
                "data, and a key, an order or a partition cannot have a variant",
                column=conflict.path[0],
                remedy="Give the column the table's type in the source.",
            )
