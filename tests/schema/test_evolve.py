"""Evolution: what is added, widened and relaxed, what is refused, and the specification's four unit tests."""

from dataclasses import fields

import pytest
from tests.support.small_schemas import INT, LONG, TEXT, schema, struct

from lakebed.datasets.column_lists import (
    SchemaChanges,
    detect_schema_changes,
    insert_clause,
    refreshed_columns,
    select_clause,
    select_columns,
)
from lakebed.errors import AmbiguousColumnCase, SchemaError, SchemaIncompatible
from lakebed.schema import duckdb, iceberg, spark
from lakebed.schema.evolve import (
    AddColumn,
    EvolutionPlan,
    FormatRules,
    Policy,
    RelaxColumn,
    Source,
    WidenColumn,
    plan_evolution,
)
from lakebed.schema.types import (
    Binary,
    Boolean,
    Column,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    List,
    Map,
    Null,
    Schema,
    Struct,
    Time,
    Timestamp,
)
from lakebed.schema.widen import Mismatch, widen

# The specification's unit tests, 1 to 4.


def test_column_detection() -> None:
    assert detect_schema_changes(["a", "b", "c"], ["a", "b", "d"]) == (["d"], ["c"])


def test_case_insensitive_comparison() -> None:
    assert detect_schema_changes(["CustomerID"], ["customerid"]) == SchemaChanges([], [])


def test_refreshed_column_calculation() -> None:
    assert refreshed_columns(["a", "b"], ["c"]) == ["a", "b", "c"]


def test_null_padding() -> None:
    assert ", ".join(select_columns(["a", "b", "c"], ["a", "c"])) == '"a", NULL AS "b", "c"'


def test_the_specifications_data_model() -> None:
    target, source = ["customerid", "name", "placeholder5"], ["customerid", "name", "placeholder6"]
    changes = detect_schema_changes(target, source)
    refreshed = refreshed_columns(target, changes.new_columns)
    assert refreshed == ["customerid", "name", "placeholder5", "placeholder6"]
    assert (
        ", ".join(select_columns(refreshed, source)) == '"customerid", "name", NULL AS "placeholder5", "placeholder6"'
    )


def test_several_cycles_keep_every_column() -> None:
    table = plan_evolution(None, schema(a=INT, b=INT)).final
    for incoming in (schema(a=INT, c=INT), schema(a=INT, d=INT)):
        table = plan_evolution(table, incoming).final
    assert table.names == ("a", "b", "c", "d")


# Plans.


def test_a_new_table_takes_what_comes() -> None:
    incoming = Schema.of([Column("id", LONG, nullable=False), Column("cost", TEXT, original="lineItem/Cost")])
    plan = plan_evolution(None, incoming)
    assert plan.creates
    assert plan.final == incoming
    assert plan.added_columns == ()
    assert plan.sources == (Source("id", "id"), Source("cost", "cost"))


def test_a_column_of_the_source_is_added_and_may_be_null() -> None:
    plan = plan_evolution(
        schema(a=INT), Schema.of([Column("b", TEXT, nullable=False, original="x/B"), Column("a", INT)])
    )
    assert plan.adds == (AddColumn(("b",), Column("b", TEXT, original="x/B")),)
    assert plan.added_columns == ("b",)
    assert plan.final.names == ("a", "b")


def test_a_column_that_the_source_lacks_is_padded_and_relaxed() -> None:
    current = Schema.of([Column("a", INT), Column("b", TEXT, nullable=False)])
    plan = plan_evolution(current, schema(a=INT))
    assert plan.relaxations == (RelaxColumn(("b",)),)
    assert plan.padded == ("b",)
    assert plan.kept == ("a", "b")
    assert select_clause(plan) == '"a", NULL AS "b"'
    assert insert_clause(plan) == '"a", "b"'


def test_names_compare_without_case_and_the_targets_spelling_stays() -> None:
    plan = plan_evolution(schema(CustomerID=INT), schema(customerid=INT))
    assert not plan.changes_schema
    assert plan.sources == (Source("CustomerID", "customerid"),)
    assert select_clause(plan) == '"customerid" AS "CustomerID"'


@pytest.mark.parametrize("side", ["source", "target"])
def test_columns_of_one_side_that_differ_only_in_case_are_refused(side: str) -> None:
    both, one = schema(a=INT, A=INT), schema(a=INT)
    with pytest.raises(AmbiguousColumnCase) as refused:
        plan_evolution(*((both, one) if side == "target" else (one, both)))
    assert refused.value.side == side


def test_nested_fields_are_added_and_widened_where_they_are() -> None:
    current = schema(s=struct(a=INT), l=List(struct(x=INT)), m=Map(TEXT, struct(y=INT)))
    incoming = schema(s=struct(b=TEXT), l=List(struct(x=LONG, z=Date())), m=Map(TEXT, struct(y=INT, n=struct(q=INT))))
    plan = plan_evolution(current, incoming)
    assert [add.path for add in plan.adds] == [("s", "b"), ("l", "element", "z"), ("m", "value", "n")]
    assert plan.added_columns == ("s.b", "l.element.z", "m.value.n")
    assert plan.widenings == (WidenColumn(("l", "element", "x"), INT, LONG),)
    assert plan.final["s"].type == struct(a=INT, b=TEXT)


def test_a_required_field_that_new_rows_lack_is_relaxed() -> None:
    current = Schema.of([Column("s", Struct((Column("a", INT, nullable=False), Column("b", INT))))])
    plan = plan_evolution(current, schema(s=struct(b=INT)))
    assert plan.relaxations == (RelaxColumn(("s", "a")),)


def test_a_key_that_is_a_struct_does_not_grow() -> None:
    with pytest.raises(SchemaIncompatible, match="which keys are equal"):
        plan_evolution(schema(m=Map(struct(a=INT), TEXT)), schema(m=Map(struct(a=INT, b=INT), TEXT)))


def test_without_evolution_a_new_column_is_refused() -> None:
    policy = Policy(add_columns=False)
    with pytest.raises(SchemaIncompatible) as refused:
        plan_evolution(schema(a=INT), schema(a=INT, b=TEXT), policy)
    assert (refused.value.column, refused.value.incoming) == ("b", "text")
    with pytest.raises(SchemaIncompatible):
        plan_evolution(schema(s=struct(a=INT)), schema(s=struct(a=INT, b=INT)), policy)
    assert plan_evolution(schema(a=INT), schema(a=INT), policy).final == schema(a=INT)
    assert plan_evolution(None, schema(a=INT), policy).creates


def test_a_policy_can_refuse_to_widen() -> None:
    with pytest.raises(SchemaIncompatible, match="schema evolution is off"):
        plan_evolution(schema(a=INT), schema(a=LONG), Policy(widen_types=False))


# Widening.


@pytest.mark.parametrize(
    ("current", "incoming", "wider"),
    [
        (INT, LONG, LONG),
        (LONG, INT, LONG),
        (Integer(8), Integer(16), Integer(16)),
        (Integer(32, signed=False), INT, LONG),
        (Integer(8, signed=False), LONG, LONG),
        (Float(32), Float(64), Float(64)),
        (INT, Float(64), Float(64)),
        (Float(32), Integer(16), Float(32)),
        (INT, Float(32), Float(64)),
        (Decimal(18, 2), Decimal(38, 18), Decimal(38, 18)),
        (Decimal(10, 2), Decimal(8, 4), Decimal(12, 4)),
        (Decimal(38, 18), Decimal(18, 2), Decimal(38, 18)),
        (Decimal(38, 18), LONG, Decimal(38, 18)),
        (Decimal(18, 2), LONG, Decimal(21, 2)),
        (INT, Decimal(10, 2), Decimal(12, 2)),
        (Timestamp("us"), Timestamp("ns"), Timestamp("ns")),
        (Timestamp("us", "UTC"), Timestamp("us", "Europe/Berlin"), Timestamp("us", "UTC")),
        (Timestamp("ms", "Asia/Tokyo"), Timestamp("us", "UTC"), Timestamp("us", "Asia/Tokyo")),
        (Time("ms"), Time("us"), Time("us")),
        (Null(), TEXT, TEXT),
        (TEXT, Null(), TEXT),
        (List(Null()), List(INT), List(INT)),
        (Map(INT, TEXT), Map(LONG, TEXT), Map(LONG, TEXT)),
        (Binary(16), Binary(16), Binary(16)),
        (Binary(16), Binary(8), Binary()),
        (Binary(16), Binary(), Binary()),
        (Integer(16, signed=False), Float(32), Float(32)),
        (Decimal(38, 18), Integer(64, signed=False), Decimal(38, 18)),
        (Decimal(4, 2), Integer(64, signed=False), Decimal(22, 2)),
        (Date(), Timestamp("ms"), Timestamp("ms")),
        (Timestamp("ns"), Date(), Timestamp("ns")),
        (struct(a=Date()), struct(a=Timestamp()), struct(a=Timestamp())),
    ],
    ids=str,
)
def test_what_widens(current: DataType, incoming: DataType, wider: DataType) -> None:
    assert widen(current, incoming) == wider


def test_binary_values_of_one_length_stay_where_a_format_cannot_let_them_grow() -> None:
    rules = FormatRules(fixed_binary_may_grow=False)
    assert widen(Binary(16), Binary(16), rules) == Binary(16)
    assert widen(Binary(), Binary(16), rules) == Binary()
    assert isinstance(widen(Binary(16), Binary(8), rules), Mismatch)


@pytest.mark.parametrize(
    ("current", "incoming"),
    [
        (LONG, Float(64)),
        (Float(64), LONG),
        (Integer(64, signed=False), INT),
        (Decimal(38, 0), Decimal(38, 18)),
        (Decimal(38, 30), LONG),
        (Float(64), Decimal(10, 2)),
        (Decimal(10, 2), Float(64)),
        (TEXT, INT),
        (INT, TEXT),
        (TEXT, Binary()),
        (Boolean(), INT),
        (Date(), Timestamp("us", "UTC")),
        (Timestamp("us", "UTC"), Date()),
        (Timestamp("us"), Timestamp("us", "UTC")),
        (Timestamp("us", "UTC"), Timestamp("us")),
        (List(TEXT), TEXT),
        (struct(a=TEXT), Map(TEXT, TEXT)),
        (Decimal(38, 20), Integer(64, signed=False)),
        (Decimal(38, 19), Decimal(21, 1)),
    ],
    ids=str,
)
def test_what_does_not_widen_is_refused_with_both_types(current: DataType, incoming: DataType) -> None:
    assert isinstance(widen(current, incoming), Mismatch)
    with pytest.raises(SchemaIncompatible) as refused:
        plan_evolution(schema(c=current), schema(c=incoming))
    assert refused.value.column == "c"
    assert (refused.value.current, refused.value.incoming) == (str(current), str(incoming))
    assert str(current) in str(refused.value)


def test_a_refusal_names_the_place_inside_a_column() -> None:
    with pytest.raises(SchemaIncompatible) as refused:
        plan_evolution(schema(s=List(struct(a=INT))), schema(s=List(struct(a=TEXT))))
    assert refused.value.column == "s.element.a"


@pytest.mark.parametrize(
    ("current", "incoming"),
    [
        (Decimal(18, 2), Decimal(18, 4)),
        (INT, Decimal(18, 2)),
        (INT, Float(64)),
        (Date(), Timestamp("us")),
        (Timestamp("us"), Timestamp("ns")),
        (Map(INT, TEXT), Map(LONG, TEXT)),
    ],
    ids=str,
)
def test_iceberg_refuses_what_its_format_cannot_express(current: DataType, incoming: DataType) -> None:
    assert not isinstance(widen(current, incoming), Mismatch)
    with pytest.raises(SchemaIncompatible, match="the target's format"):
        plan_evolution(schema(c=current), schema(c=incoming), Policy(rules=iceberg.RULES))


@pytest.mark.parametrize(
    ("current", "incoming", "wider"),
    [
        (INT, LONG, LONG),
        (Float(32), Float(64), Float(64)),
        (Decimal(18, 2), Decimal(20, 2), Decimal(20, 2)),
        # The table's type stays, and every incoming value fits into it.
        (Decimal(38, 18), Decimal(18, 2), Decimal(38, 18)),
        (Decimal(38, 18), LONG, Decimal(38, 18)),
        (Float(64), INT, Float(64)),
        (Timestamp("us"), Timestamp("ms"), Timestamp("us")),
        (Timestamp("us"), Date(), Timestamp("us")),
    ],
    ids=str,
)
def test_iceberg_takes_what_its_format_can_express(current: DataType, incoming: DataType, wider: DataType) -> None:
    assert widen(current, incoming, iceberg.RULES) == wider


@pytest.mark.parametrize(
    ("incoming", "rules", "stored"),
    [
        (Integer(8), iceberg.RULES, INT),
        (Integer(16, signed=False), iceberg.RULES, INT),
        (Integer(32, signed=False), iceberg.RULES, LONG),
        (Integer(64, signed=False), iceberg.RULES, Decimal(20, 0)),
        (List(Null()), iceberg.RULES, List(TEXT)),
        (List(Timestamp("s", "UTC")), iceberg.RULES, List(Timestamp("us", "UTC"))),
        (Integer(8, signed=False), spark.RULES, Integer(16)),
        (Timestamp("ms", "UTC"), duckdb.RULES, Timestamp("us", "UTC")),
        (Timestamp("ms"), duckdb.RULES, Timestamp("ms")),
    ],
    ids=str,
)
def test_a_type_that_a_format_lacks_is_stored_in_one_that_holds_it(
    incoming: DataType, rules: FormatRules, stored: DataType
) -> None:
    assert plan_evolution(None, schema(c=incoming), Policy(rules=rules)).final == schema(c=stored)
    assert plan_evolution(schema(), schema(c=incoming), Policy(rules=rules)).final == schema(c=stored)


@pytest.mark.parametrize("current", [None, schema(a=INT), schema(c=struct(a=INT))])
def test_a_new_column_that_the_format_cannot_hold_is_refused(current: Schema | None) -> None:
    arriving: DataType = Timestamp("ns")
    if current is not None and "c" in current:
        arriving = struct(t=arriving)
    with pytest.raises(SchemaIncompatible, match="the target's format"):
        plan_evolution(current, schema(c=arriving), Policy(rules=iceberg.RULES))


# Columns that hold nothing yet.


@pytest.mark.parametrize("rules", [FormatRules(), iceberg.RULES, duckdb.RULES], ids=["any", "iceberg", "duckdb"])
def test_a_column_that_holds_nothing_waits_for_its_first_real_type(rules: FormatRules) -> None:
    policy = Policy(rules=rules)
    empty = schema(id=LONG, x=Null(), s=struct(a=INT, n=Null()), all_null=struct(n=Null()))
    created = plan_evolution(None, empty, policy)
    assert created.final == schema(id=LONG, s=struct(a=INT))
    assert created.waiting == (("x",), ("s", "n"), ("all_null",))
    assert "wait    s.n: it holds nothing yet" in created.describe()
    assert created.to_dict()["waiting"] == [["x"], ["s", "n"], ["all_null"]]
    again = plan_evolution(created.final, empty, policy)
    assert (again.changes_schema, again.waiting) == (False, created.waiting)
    real = schema(id=LONG, x=Decimal(9, 2), s=struct(a=INT, n=TEXT), all_null=struct(n=INT))
    arrived = plan_evolution(created.final, real, policy)
    assert set(arrived.final) == set(real)
    assert arrived.waiting == ()
    assert plan_evolution(real, empty, policy).waiting == ()


def test_a_table_of_columns_that_hold_nothing_is_not_created() -> None:
    with pytest.raises(SchemaError, match="none of the 2 columns holds a value"):
        plan_evolution(None, schema(a=Null(), b=struct(c=Null())))


# The plan as a value.


def test_a_plan_prints_as_steps() -> None:
    current = Schema.of([Column("id", INT, nullable=False), Column("gone", TEXT)])
    incoming = Schema.of([Column("id", LONG), Column("tag", TEXT, original="resourceTags/user:Tag")])
    assert str(plan_evolution(current, incoming)).splitlines() == [
        "add     tag text (from resourceTags/user:Tag)",
        "widen   id from int32 to int64",
        "relax   id: it may be NULL from now on",
        "NULL    in new rows: gone",
    ]
    assert str(plan_evolution(current, current)) == "the schema stays as it is"


def test_a_plan_has_a_stable_hash() -> None:
    plan = plan_evolution(schema(a=INT), schema(a=LONG, b=TEXT))
    assert plan.hash == plan_evolution(schema(a=INT), schema(a=LONG, b=TEXT)).hash
    assert plan.hash != plan_evolution(schema(a=INT), schema(a=LONG, c=TEXT)).hash
    assert plan.to_dict()["hash"] == plan.hash
    # Pinned: snapshots carry it, and another release must compute the same.
    assert plan.hash == "1cf9e763fca0a16c19b41c30fcb0dd73bddc15914ee918949060389b0cdba10f"


def test_a_plan_has_no_word_for_dropping_or_narrowing() -> None:
    assert {field.name for field in fields(EvolutionPlan)} == {
        "current",
        "incoming",
        "adds",
        "widenings",
        "relaxations",
        "conflicts",
        "final",
        "sources",
        "waiting",
        "superseded",
        "retries",
    }


@pytest.mark.parametrize("arriving", [None, "lineItem/Cost", "line_item_cost", "LineItem/COST"])
def test_the_original_that_a_column_has_is_never_overwritten(arriving: str | None) -> None:
    known = Schema.of([Column("line_item_cost", TEXT, original="lineItem/Cost")])
    plan = plan_evolution(known, Schema.of([Column("line_item_cost", TEXT, original=arriving)]))
    assert plan.final["line_item_cost"].original == "lineItem/Cost"
    assert not plan.changes_schema
    nameless = Schema.of([Column("line_item_cost", TEXT)])
    plan = plan_evolution(nameless, Schema.of([Column("line_item_cost", TEXT, original=arriving)]))
    assert plan.final["line_item_cost"].original == arriving
    # An empty original is one too: a header may be without a name.
    empty = Schema.of([Column("line_item_cost", TEXT, original="")])
    assert plan_evolution(empty, known).final["line_item_cost"].original == ""


def test_only_columns_whose_originals_change_are_described_again() -> None:
    known = Schema.of([Column("a", TEXT, original="A"), Column("b", TEXT), Column("c", TEXT, original="C")])
    arriving = Schema.of([Column("a", TEXT, original="A"), Column("b", TEXT, original="B"), Column("new", TEXT)])
    plan = plan_evolution(known, arriving)
    assert [column.name for column in plan.renamed_sources] == ["b"]
    assert plan_evolution(None, arriving).renamed_sources == ()


def test_a_person_reads_one_line_for_each_step() -> None:
    assert plan_evolution(None, schema(a=INT, b=TEXT)).describe().splitlines() == [
        "create the table with 2 columns",
        "add     a int32",
        "add     b text",
    ]
    assert plan_evolution(schema(a=INT), schema(a=INT)).describe() == "the schema stays as it is"
    changed = plan_evolution(
        schema(a=INT, b=TEXT, c=LONG, d=TEXT),
        schema(a=LONG, b=LONG, e=TEXT, n=Null()),
        Policy(on_conflict="variant"),
    )
    lines = changed.describe().splitlines()
    assert "add     e text" in lines
    assert "widen   a from int32 to int64" in lines
    assert "variant b__int64 takes b: int64 does not fit text (no type holds the values of both)" in lines
    assert "wait    n: it holds nothing yet, and is created with its first real type" in lines
    assert "NULL    in new rows: b, c, d" in lines
