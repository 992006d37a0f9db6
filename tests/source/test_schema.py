"""Deliveries and manifests as a table names and types them, and the two functions that the specification names."""

import csv
import json

import pytest
from tests.support import SHARED

from lakebed.model import Delivery, Slice, SourceColumn
from lakebed.schema.identity import Identities, assign
from lakebed.schema.types import Column, DataType, Decimal, Schema, Text
from lakebed.source.column_dictionary import DATETIME, column_type
from lakebed.source.schema import get_new_columns, get_unified_schema, incoming_schema

SAMPLES = SHARED / "samples" / "cur"
EXACT = Decimal(38, 18)

needs_samples = pytest.mark.skipif(
    not SAMPLES.exists(), reason="the samples lie beside the repository in development only"
)


def manifest(*columns: tuple[str, str, str | None]) -> dict[str, object]:
    return {
        "columns": [
            {"category": category, "name": name} | ({} if type_ is None else {"type": type_})
            for category, name, type_ in columns
        ]
    }


def test_unified_schema_over_all_manifests() -> None:
    august = manifest(
        ("identity", "LineItemId", "String"),
        ("lineItem", "UnblendedCost", "BigDecimal"),
        ("resourceTags", "user:Environment", "OptionalString"),
    )
    september = manifest(
        ("resourceTags", "user:environment", "BigDecimal"),
        ("lineItem", "UsageStartDate", "DateTime"),
        ("resourceTags", "user:Environment", "OptionalString"),
        ("lineItem", "UnblendedCost", "OptionalBigDecimal"),
    )
    assert get_unified_schema([august, september], decimals="18,2") == {
        "identity_line_item_id": "VARCHAR",
        "line_item_unblended_cost": "DECIMAL(18,2)",
        "resource_tags_user_environment": "VARCHAR",
        "resource_tags_user_environment_1": "VARCHAR",
        "line_item_usage_start_date": "TIMESTAMP",
    }


def test_unified_schema_is_text_where_manifests_disagree() -> None:
    first, second = manifest(("lineItem", "X", "DateTime")), manifest(("lineItem", "X", "BigDecimal"))
    assert get_unified_schema([first, second]) == {"line_item_x": "VARCHAR"}
    # Also when a third one agrees with the first.
    assert get_unified_schema([first, second, first]) == {"line_item_x": "VARCHAR"}


def test_unified_schema_of_deliveries_and_of_formats() -> None:
    csv_delivery = Delivery(
        slice=Slice("1", "r", "2026-10"),
        id="a",
        kind="cur",
        manifest=None,
        columns=(SourceColumn("lineItem/UnblendedCost", "BigDecimal"), SourceColumn("reservation/ReservationARN")),
        files=(),
    )
    export = {"columns": [{"name": "line_item_unblended_cost", "type": "double"}, {"name": "resource_tags"}]}
    assert get_unified_schema([csv_delivery, export]) == {
        "line_item_unblended_cost": "DECIMAL(38,18)",
        "reservation_reservation_arn": "VARCHAR",
        "resource_tags": "MAP(VARCHAR, VARCHAR)",
    }


def test_new_columns_are_those_that_the_table_lacks() -> None:
    columns = manifest(
        ("lineItem", "UnblendedCost", "BigDecimal"),
        ("a", "Foo", "String"),
        ("a", "foo", "String"),
        ("a", "New", "DateTime"),
    )["columns"]
    assert isinstance(columns, list)
    assert get_new_columns(["LINE_ITEM_UNBLENDED_COST", "a_foo"], columns) == {
        "a_foo_1": "VARCHAR",
        "a_new": "TIMESTAMP",
    }
    assert get_new_columns(["line_item_unblended_cost", "a_foo", "a_foo_1", "a_new"], columns) == {}


def test_new_columns_keep_to_the_originals_of_a_table() -> None:
    table = Schema.of([Column("a_foo", Text(), original="a/foo")])
    columns = [SourceColumn("a/Foo"), SourceColumn("a/foo")]
    assert get_new_columns(table, columns) == {"a_foo_1": "VARCHAR"}


def test_a_column_of_which_nothing_is_said_has_the_tables_type() -> None:
    table = Schema.of([Column("x_amount", EXACT, original="x/Amount")])
    columns = [SourceColumn("x/Amount"), SourceColumn("x/Other")]
    identities = assign(Identities.from_schema(table), [column.original for column in columns])
    assert incoming_schema(columns, identities, current=table) == Schema.of(
        [Column("x_amount", EXACT, original="x/Amount"), Column("x_other", Text(), original="x/Other")]
    )


@pytest.mark.parametrize(
    ("there", "declared"), [(EXACT, "String"), (DATETIME, "OptionalString"), (Text(), "BigDecimal")]
)
def test_a_declared_type_that_changes_to_or_from_text_follows_the_table(there: DataType, declared: str) -> None:
    table = Schema.of([Column("x_amount", there, original="x/Amount")])
    columns = [SourceColumn("x/Amount", declared)]
    identities = Identities.from_schema(table)
    assert incoming_schema(columns, identities, current=table)["x_amount"].type == there
    strict = incoming_schema(columns, identities, current=table, follow_table=False)
    assert strict["x_amount"].type == column_type("x/Amount", declared)


def test_a_declared_type_that_the_table_cannot_hold_is_left_to_the_plan() -> None:
    table = Schema.of([Column("x_amount", DATETIME, original="x/Amount")])
    columns = [SourceColumn("x/Amount", "BigDecimal")]
    assert incoming_schema(columns, Identities.from_schema(table), current=table)["x_amount"].type == EXACT


@needs_samples
def test_the_real_focus_sample() -> None:
    with (SAMPLES / "focus_sample" / "focus_sample.csv").open() as file:
        header = next(csv.reader(file))
    types = get_unified_schema([{"columns": [{"name": name} for name in header]}])
    assert {name for name, type_ in types.items() if type_ == "DECIMAL(38,18)"} == {
        "billed_cost",
        "consumed_quantity",
        "contracted_cost",
        "contracted_unit_price",
        "effective_cost",
        "list_cost",
        "list_unit_price",
        "pricing_quantity",
    }
    assert [name for name, type_ in types.items() if type_ == "TIMESTAMP"] == [
        "billing_period_end",
        "billing_period_start",
        "charge_period_end",
        "charge_period_start",
    ]
    assert types["tags"] == "MAP(VARCHAR, VARCHAR)"
    assert len(types) == 44


@needs_samples
def test_a_real_manifest_without_types() -> None:
    untyped = json.loads((SAMPLES / "metering_operator_manifest" / "manifest.json").read_text())
    assert len(get_unified_schema([untyped])) == len(untyped["columns"])
