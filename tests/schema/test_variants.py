"""Variant columns: where a type does not fit, a second column has the values, and the next load finds it again."""

import pytest
from tests.support.small_schemas import INT, LONG, TEXT, VARIANT, schema, struct

from lakebed.errors import SchemaIncompatible
from lakebed.schema import iceberg
from lakebed.schema.evolve import (
    Policy,
    RelaxColumn,
    Source,
    plan_evolution,
)
from lakebed.schema.types import (
    Column,
    DataType,
    Date,
    Decimal,
    Float,
    Schema,
)


def test_of_a_column_and_its_variants_one_has_the_new_value() -> None:
    known = schema(id=INT, cost=INT, cost__note=TEXT)
    first = plan_evolution(known, schema(id=INT, cost=TEXT), VARIANT)
    assert first.superseded == ("cost",)
    assert first.final["cost__text"].original == "cost as text"
    second = plan_evolution(first.final, schema(id=INT, cost=INT), VARIANT)
    assert second.superseded == ("cost__text",), "and not a column of the user that is called like one"
    assert plan_evolution(first.final, schema(id=INT, cost=INT)).superseded == ()


@pytest.mark.parametrize(
    ("current", "incoming"), [(Decimal(9, 2), Decimal(9, 4)), (INT, Float(32)), (LONG, Decimal(9, 2))], ids=str
)
def test_between_numbers_nobody_is_told_to_cast(current: DataType, incoming: DataType) -> None:
    with pytest.raises(SchemaIncompatible) as refused:
        plan_evolution(schema(c=current), schema(c=incoming), Policy(rules=iceberg.RULES))
    assert refused.value.remedy is not None
    assert "variant" in refused.value.remedy
    assert "A cast would round" in refused.value.remedy


def test_a_conflict_can_go_to_a_variant_column() -> None:
    current = Schema.of([Column("cost", TEXT, nullable=False, original="lineItem/Cost")])
    plan = plan_evolution(current, schema(cost=Decimal(38, 18)), VARIANT)
    assert plan.final.names == ("cost", "cost__decimal_38_18")
    assert plan.sources == (Source("cost", None), Source("cost__decimal_38_18", "cost"))
    assert plan.relaxations == (RelaxColumn(("cost",)),)
    assert plan.conflicts[0].variant == "cost__decimal_38_18"
    # The original name stays the first column's.
    assert plan.final["cost__decimal_38_18"].original == "lineItem/Cost as decimal(38,18)"


def test_the_next_load_finds_the_variant_column_again() -> None:
    first = plan_evolution(schema(cost=TEXT), schema(cost=Decimal(38, 18)), VARIANT)
    again = plan_evolution(first.final, schema(cost=Decimal(38, 18)), VARIANT)
    assert not again.changes_schema
    assert again.sources == first.sources
    # So does one whose values fit into it, and text goes where it always went.
    assert plan_evolution(first.final, schema(cost=Decimal(18, 2)), VARIANT).sources == first.sources
    text = plan_evolution(first.final, schema(cost=TEXT), VARIANT)
    assert text.sources == (Source("cost", "cost"), Source("cost__decimal_38_18", None))


def test_a_variant_gives_way_to_a_real_column_of_its_name() -> None:
    plan = plan_evolution(schema(a=TEXT), schema(a=INT, a__int32=Date()), VARIANT)
    assert plan.final.names == ("a", "a__int32", "a__int32_1")
    assert {source.column: source.incoming for source in plan.sources} == {
        "a": None,
        "a__int32": "a__int32",
        "a__int32_1": "a",
    }
    assert not plan_evolution(plan.final, schema(a=INT, a__int32=Date()), VARIANT).changes_schema


def test_a_variant_of_a_long_type_has_a_short_name() -> None:
    long = struct(**{f"field_{number}": TEXT for number in range(20)})
    name = plan_evolution(schema(a=TEXT), schema(a=long), VARIANT).final.names[1]
    assert name.startswith("a__struct_")
    assert len(name) < 30
