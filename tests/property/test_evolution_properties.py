"""The six correctness properties of the never-drop specification, that evolving twice changes nothing, and that
widening never loses a value."""

import decimal
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import duckdb as duckdb_engine
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.schema import promote
from pyiceberg.types import DecimalType, IcebergType
from tests.support.schema_strategies import NAMES, UNITS, decimals, scalars, schemas, simple_schemas, types

from lakebed.datasets.column_lists import (
    detect_schema_changes,
    insert_clause,
    refreshed_columns,
    select_clause,
    select_columns,
)
from lakebed.errors import SchemaIncompatible
from lakebed.schema import duckdb, iceberg, spark
from lakebed.schema.arrow import to_arrow
from lakebed.schema.evolve import (
    AddColumn,
    EvolutionPlan,
    FormatRules,
    Policy,
    RelaxColumn,
    WidenColumn,
    plan_evolution,
)
from lakebed.schema.types import (
    Column,
    DataType,
    Decimal,
    Float,
    Integer,
    List,
    Map,
    Null,
    Schema,
    Struct,
    Text,
    Time,
    Timestamp,
    fold,
)
from lakebed.schema.unknown import without_unknown
from lakebed.schema.widen import ANY_FORMAT, ELEMENT, KEY, Mismatch, widen

RULES = st.sampled_from([ANY_FORMAT, duckdb.RULES, spark.RULES, iceberg.RULES])
POLICIES = st.builds(Policy, on_conflict=st.just("variant"), rules=RULES)
name_lists = st.lists(NAMES | st.text(min_size=1, max_size=5), max_size=8, unique_by=fold)
# Types that often widen with one another.
FAMILIES: list[st.SearchStrategy[DataType]] = [
    st.builds(Integer, st.sampled_from([8, 16, 32, 64]), st.booleans()) | decimals,
    st.builds(Integer, st.sampled_from([8, 16, 32, 64]), st.booleans()) | st.builds(Float, st.sampled_from([32, 64])),
    decimals,
    st.builds(Timestamp, UNITS, st.just("UTC")),
    st.builds(Timestamp, UNITS),
    st.builds(Time, UNITS),
    scalars,
]
any_schemas = schemas | simple_schemas


def planned(current: Schema | None, incoming: Schema, policy: Policy) -> EvolutionPlan:
    """The plan, where there is one: what a format cannot hold at all is refused, which other tests show."""
    assume(current is not None or any(without_unknown(column.type, None, ())[0] for column in incoming))
    try:
        return plan_evolution(current, incoming, policy)
    except SchemaIncompatible:
        assume(False)
        raise


def folded(names: object) -> list[str]:
    return [fold(str(name)) for name in names]  # type: ignore[attr-defined]


def waiting_columns(plan: EvolutionPlan) -> list[str]:
    """The columns that hold nothing yet: they have no place before they have a type."""
    return [path[0] for path in plan.waiting if len(path) == 1]


def known_part(current: Schema, column: Column) -> DataType:
    present = current.get(column.name)
    known, _ = without_unknown(column.type, None if present is None else present.type, (column.name,))
    return Null() if known is None else known


# Property 1 to 6.


@given(any_schemas, any_schemas, POLICIES)
def test_property_1_every_column_of_the_target_remains(current: Schema, incoming: Schema, policy: Policy) -> None:
    plan = planned(current, incoming, policy)
    assert plan.final.names[: len(current)] == current.names
    for column in current:
        grown = plan.final[column.name]
        assert grown.nullable or not column.nullable
        assert holds(grown.type, column.type)


@given(any_schemas, any_schemas, POLICIES)
def test_property_2_every_column_of_the_source_has_a_place(current: Schema, incoming: Schema, policy: Policy) -> None:
    plan = planned(current, incoming, policy)
    placed = [source.incoming for source in plan.sources if source.incoming is not None]
    assert sorted([*placed, *waiting_columns(plan)]) == sorted(incoming.names)
    for source in plan.sources:
        if source.incoming is not None:
            assert holds(plan.final[source.column].type, known_part(current, incoming[source.incoming]))
    variants = {fold(conflict.path[0]) for conflict in plan.conflicts}
    for column in incoming:
        if fold(column.name) not in variants and column.name not in waiting_columns(plan):
            assert column.name in plan.final


@given(name_lists, name_lists)
def test_property_3_refreshed_is_the_union_and_never_a_difference(target: list[str], source: list[str]) -> None:
    new, removed = detect_schema_changes(target, source)
    refreshed = refreshed_columns(target, new)
    assert refreshed == target + new
    assert set(folded(refreshed)) == set(folded(target)) | set(folded(source))
    assert set(folded(removed)) == set(folded(target)) - set(folded(source))


@given(any_schemas, any_schemas, POLICIES)
def test_property_3_holds_for_plans(current: Schema, incoming: Schema, policy: Policy) -> None:
    plan = planned(current, incoming, policy)
    variants = [conflict.variant for conflict in plan.conflicts]
    arriving = [name for name in incoming.names if name not in waiting_columns(plan)]
    expected = set(folded(current.names)) | set(folded(arriving)) | set(folded(variants))
    assert set(folded(plan.final.names)) == expected
    assert len(plan.final) == len(expected)


@given(name_lists, name_lists)
def test_property_4_what_the_source_lacks_is_null(target: list[str], source: list[str]) -> None:
    present = set(folded(source))
    for name, expression in zip(target, select_columns(target, source), strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        assert expression == (quoted if fold(name) in present else f"NULL AS {quoted}")


@given(any_schemas, any_schemas, POLICIES)
def test_property_4_holds_for_plans(current: Schema, incoming: Schema, policy: Policy) -> None:
    plan = planned(current, incoming, policy)
    lacking = [name for name in current.names if name not in incoming]
    assert set(lacking) <= set(plan.padded)
    clause = select_clause(plan)
    for name in plan.padded:
        quoted = '"' + name.replace('"', '""') + '"'
        assert f"NULL AS {quoted}" in clause
        assert plan.final[name].nullable


@given(name_lists, name_lists)
def test_property_5_insert_and_select_have_as_many_columns(target: list[str], source: list[str]) -> None:
    refreshed = refreshed_columns(target, detect_schema_changes(target, source).new_columns)
    assert len(refreshed) == len(select_columns(refreshed, source))


@given(current=simple_schemas, incoming=simple_schemas)
def test_property_5_holds_where_duckdb_runs_the_statement(
    connection: duckdb_engine.DuckDBPyConnection, current: Schema, incoming: Schema
) -> None:
    plan = planned(current, incoming, Policy(on_conflict="variant", rules=duckdb.RULES))
    assume(len(incoming) and len(plan.final))
    connection.execute(f"CREATE OR REPLACE TABLE target ({duckdb.to_duckdb_columns(plan.final)})")
    optional = Schema.of(replace(column, nullable=True) for column in incoming)
    connection.execute(f"CREATE OR REPLACE TABLE source ({duckdb.to_duckdb_columns(optional)})")
    statement = f"INSERT INTO target ({insert_clause(plan)}) SELECT {select_clause(plan)} FROM source"
    assert connection.execute(statement).fetchone() == (0,)


@given(any_schemas, any_schemas, POLICIES)
def test_property_6_adding_widening_and_relaxing_is_all_there_is(
    current: Schema, incoming: Schema, policy: Policy
) -> None:
    plan = planned(current, incoming, policy)
    assert _shape(_apply(current, plan)) == _shape(plan.final)


# And beyond the specification.


@given(st.none() | any_schemas, any_schemas, POLICIES)
def test_evolving_twice_changes_nothing(current: Schema | None, incoming: Schema, policy: Policy) -> None:
    first = planned(current, incoming, policy)
    second = plan_evolution(first.final, incoming, policy)
    assert not second.changes_schema
    assert second.final == first.final
    assert second.sources == first.sources


@given(any_schemas, any_schemas, any_schemas, POLICIES)
def test_a_plan_is_a_function_of_its_input(a: Schema, b: Schema, c: Schema, policy: Policy) -> None:
    plan = planned(a, b, policy)
    again = plan_evolution(a, b, policy)
    assert plan == again
    assert plan.hash == again.hash
    assert str(plan) == str(again)
    planned(plan.final, c, policy)


@given(any_schemas, any_schemas)
def test_refusing_and_varying_agree_on_what_is_a_conflict(current: Schema, incoming: Schema) -> None:
    varied = plan_evolution(current, incoming, Policy(on_conflict="variant"))
    if varied.conflicts:
        with pytest.raises(SchemaIncompatible):
            plan_evolution(current, incoming)
    else:
        assert plan_evolution(current, incoming) == varied


def test_widening_never_loses_a_value() -> None:
    widened: Counter[bool] = Counter()

    @given(st.one_of(st.tuples(family, family) for family in FAMILIES), st.data(), RULES)
    def check(pair: tuple[DataType, DataType], data: st.DataObject, rules: FormatRules) -> None:
        wider = widen(*pair, rules)
        widened[not isinstance(wider, Mismatch) and pair[0] != wider] += 1
        if isinstance(wider, Mismatch):
            return
        for narrow in pair:
            values = data.draw(_arrays(narrow))
            there = values.cast(to_arrow(wider), safe=True)
            assert there.cast(values.type, safe=True).equals(values)

    check()
    assert widened[True] > widened.total() / 10


# What Iceberg promotes, what it does not, and the same inside of structs, lists and maps.
narrow_types = st.sampled_from([Integer(32), Float(32), Decimal(9, 2)])
wide_types = st.sampled_from([Integer(32), Integer(64), Float(32), Float(64), Decimal(18, 2), Decimal(18, 4), Text()])
NESTED: list[Callable[[DataType], DataType]] = [
    lambda inner: inner,
    lambda inner: Struct((Column("x", inner),)),
    List,
    lambda inner: Map(Text(), inner),
]
widening_pairs = st.lists(
    st.tuples(narrow_types, wide_types, st.sampled_from(NESTED)).map(lambda t: (t[2](t[0]), t[2](t[1]))),
    min_size=1,
    max_size=4,
).map(
    lambda pairs: tuple(
        Schema.of(Column(f"c{number}", pair[side]) for number, pair in enumerate(pairs)) for side in (0, 1)
    )
)


def test_what_widens_on_iceberg_is_what_iceberg_promotes() -> None:
    widened: Counter[bool] = Counter()

    @given(widening_pairs | st.tuples(any_schemas, any_schemas))
    def check(pair: tuple[Schema, Schema]) -> None:
        current, incoming = pair
        table = planned(None, current, Policy(rules=iceberg.RULES)).final
        steps = planned(table, incoming, Policy(on_conflict="variant", rules=iceberg.RULES)).widenings
        widened[bool(steps)] += 1
        for step in steps:
            before, after = _iceberg_type(step.before), _iceberg_type(step.after)
            assert before != after
            assert promote(before, after) == after
            if isinstance(before, DecimalType) and isinstance(after, DecimalType):
                # PyIceberg lets a scale change, which other readers then misread.
                assert before.scale == after.scale

    check()
    assert widened[True] > widened.total() / 5


@given(types, types)
def test_widening_is_wide_enough_for_both_and_stays_there(current: DataType, incoming: DataType) -> None:
    wider = widen(current, incoming)
    if not isinstance(wider, Mismatch):
        assert widen(wider, current) == wider
        assert widen(wider, incoming) == wider


@given(types)
def test_widening_with_itself_and_with_nothing_changes_nothing(type_: DataType) -> None:
    assert widen(type_, type_) == type_
    assert widen(type_, Null()) == type_


@given(types, types)
def test_whether_two_types_widen_does_not_depend_on_the_side(a: DataType, b: DataType) -> None:
    assert isinstance(widen(a, b), Mismatch) == isinstance(widen(b, a), Mismatch)


def _iceberg_type(type_: DataType) -> IcebergType:
    metadata = iceberg.to_iceberg_schema(Schema.of([Column("c", type_)]))
    return IcebergSchema.model_validate(metadata).find_type("c")


def holds(wide: DataType, narrow: DataType) -> bool:
    """Every value of the narrow type is one of the wide type; fields that the narrow one lacks are allowed."""
    return widen(wide, narrow) == _optional(wide) or widen(wide, narrow) == wide


def _optional(type_: DataType) -> DataType:
    match type_:
        case Struct(fields):
            return Struct(tuple(replace(field, type=_optional(field.type), nullable=True) for field in fields))
        case List(element):
            return List(_optional(element))
        case Map(key, value):
            return Map(_optional(key), _optional(value))
        case _:
            return type_


def _arrays(type_: DataType) -> st.SearchStrategy[pa.Array]:
    """Arrays of values that the type can hold; moments from 1700 to 2200, which nanoseconds reach."""
    arrow = to_arrow(type_)
    match type_:
        case Integer(bits, signed):
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            values: st.SearchStrategy[object] = st.sampled_from([low, high]) | st.integers(low, high)
        case Timestamp(unit, _):
            factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
            values = st.integers(-8_520_336_000 * factor, 7_258_118_400 * factor)
        case _:
            return _arrays_of(arrow)
    return st.lists(st.none() | values, max_size=4).map(lambda items: pa.array(items, arrow))


def _arrays_of(arrow: pa.DataType) -> st.SearchStrategy[pa.Array]:
    if pa.types.is_decimal(arrow):
        limit = 10**arrow.precision - 1
        integers = st.sampled_from([-limit, limit]) | st.integers(-limit, limit)
        with decimal.localcontext(prec=60):
            values: st.SearchStrategy[object] = integers.map(
                lambda digits: decimal.Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -arrow.scale))
            )
    elif pa.types.is_floating(arrow):
        values = st.floats(width=arrow.bit_width, allow_nan=False)
    elif pa.types.is_boolean(arrow):
        values = st.booleans()
    elif pa.types.is_string(arrow):
        values = st.text(max_size=5)
    elif pa.types.is_binary(arrow):
        values = st.binary(max_size=5)
    elif pa.types.is_date(arrow):
        values = st.dates()
    else:
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[arrow.unit]
        integers_type = pa.int32() if arrow.bit_width == 32 else pa.int64()
        ticks = st.lists(st.integers(0, 86_400 * per_second - 1), max_size=4)
        return ticks.map(lambda items: pa.array(items, integers_type).cast(arrow))
    return st.lists(st.none() | values, max_size=4).map(lambda items: pa.array(items, arrow))


def _apply(current: Schema, plan: EvolutionPlan) -> Schema:
    """Interprets the steps of a plan, and nothing else of it."""
    columns = current.columns
    for step in (*plan.widenings, *plan.relaxations, *plan.adds):
        columns = _apply_to_fields(columns, step.path, step)
    return Schema(columns)


def _apply_to_fields(
    fields: tuple[Column, ...], path: tuple[str, ...], step: AddColumn | WidenColumn | RelaxColumn
) -> tuple[Column, ...]:
    name, *rest = path
    if not rest and isinstance(step, AddColumn):
        return (*fields, step.column)
    changed = []
    for field in fields:
        if field.name != name:
            changed.append(field)
        elif not rest and isinstance(step, RelaxColumn):
            changed.append(replace(field, nullable=True))
        else:
            changed.append(replace(field, type=_apply_to_type(field.type, tuple(rest), step)))
    return tuple(changed)


def _apply_to_type(type_: DataType, path: tuple[str, ...], step: AddColumn | WidenColumn | RelaxColumn) -> DataType:
    match type_:
        case _ if not path:
            assert isinstance(step, WidenColumn)
            assert step.before == type_
            return step.after
        case Struct(fields):
            return Struct(_apply_to_fields(fields, path, step))
        case List(element):
            assert path[0] == ELEMENT
            return List(_apply_to_type(element, path[1:], step))
        case Map(key, value) if path[0] == KEY:
            return Map(_apply_to_type(key, path[1:], step), value)
        case Map(key, value):
            return Map(key, _apply_to_type(value, path[1:], step))
        case _:
            raise AssertionError(f"{path} leads nowhere in {type_}")


def _shape(schema: Schema) -> Schema:
    """Without the top columns' originals, which a plan fills in where the table had none."""
    return Schema.of(replace(column, original=None) for column in schema)
