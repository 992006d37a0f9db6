"""Every kind of step that a plan can have becomes a line of the history."""

from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.types import Column, DataType, Decimal, Integer, List, Map, Schema, Struct, Text
from lakebed.state.records import SchemaChange, schema_changes


def schema(**types: DataType) -> Schema:
    return Schema.of(Column(name, type_) for name, type_ in types.items())


def test_a_table_that_is_created_names_its_columns() -> None:
    [change] = schema_changes(plan_evolution(None, Schema.of([Column("cost", Decimal(38, 18), original="Cost")])))
    assert change == SchemaChange("created", "cost", "decimal(38,18)", original="Cost")


def test_columns_that_are_added_and_widened() -> None:
    plan = plan_evolution(schema(id=Integer(32)), schema(id=Integer(64), tag=Text()))
    assert schema_changes(plan) == (
        SchemaChange("added", "tag", "text"),
        SchemaChange("widened", "id", "int64", type_before="int32"),
    )


def test_a_required_column_that_may_be_null_from_now_on_is_relaxed() -> None:
    inner = Struct((Column("code", Text(), nullable=False),))
    current = Schema.of([Column("id", Integer(64), nullable=False), Column("lines", List(inner))])
    incoming = schema(lines=List(Struct((Column("code", Text()),))))
    assert schema_changes(plan_evolution(current, incoming)) == (
        SchemaChange("relaxed", "id", "int64"),
        SchemaChange("relaxed", "lines.element.code", "text"),
    )


def test_a_column_beside_the_one_that_does_not_fit_is_a_variant_once() -> None:
    policy = Policy(on_conflict="variant")
    plan = plan_evolution(schema(cost=Decimal(38, 18)), schema(cost=List(Text()), tag=Text()), policy)
    assert [(change.kind, change.type_after) for change in schema_changes(plan)] == [
        ("added", "text"),
        ("variant", "list<text>"),
    ]
    assert schema_changes(plan)[1].column == plan.conflicts[0].variant
    again = plan_evolution(plan.final, schema(cost=List(Text())), policy)
    assert again.conflicts
    assert schema_changes(again) == ()


def test_what_may_be_null_inside_a_map_is_named_by_its_place() -> None:
    required, relaxed = (Map(Text(), Struct((Column("n", Integer(64), nullable=free),))) for free in (False, True))
    [change] = schema_changes(plan_evolution(schema(m=required), schema(m=relaxed)))
    assert change == SchemaChange("relaxed", "m.value.n", "int64")
