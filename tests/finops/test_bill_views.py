"""What the views of a bill are made of: plans without an engine."""

import pytest

from lakebed.errors import SchemaError
from lakebed.finops.bill_columns import find_bill_columns
from lakebed.finops.bill_views import plan_athena, plan_cur2
from lakebed.finops.projection import OutputColumn, Projection
from lakebed.schema.names import Naming, create_column_mapping
from lakebed.schema.types import Column, DataType, Decimal, Float, Map, Schema, Text, Timestamp
from lakebed.source.billing_dictionary import CUR2_COLUMNS, CUR_COLUMNS

MONEY, TEXTS = Decimal(38, 18), Map(Text(), Text())
CUR: dict[str, DataType] = {
    "bill/BillingPeriodStartDate": Timestamp(),
    "lineItem/UnblendedCost": MONEY,
    "lineItem/UsageType": Text(),
    "product/ProductName": Text(),
    "product/regionCode": Text(),
    "product/newThing": Text(),
    "reservation/ReservationARN": Text(),
    "reservation/UnusedQuantity": Text(),
    "discount/EdpDiscount": MONEY,
    "costCategory/Team": Text(),
    "resourceTags/user:Environment": Text(),
    "resourceTags/user:environment": Text(),
    "order": Text(),
}
CUR2: dict[str, DataType] = {
    "line_item_unblended_cost": MONEY,
    "line_item_usage_type": Text(),
    "product": TEXTS,
    "product_region_code": Text(),
    "discount": Map(Text(), Float(64)),
    "resource_tags": TEXTS,
    "cost_category": TEXTS,
}
PERIOD = Column("lakebed_period", Text())


def table(columns: dict[str, DataType], naming: Naming = "spec") -> Schema:
    names = create_column_mapping(list(columns), naming)
    loaded = [
        Column(name, type_, original=original) for name, (original, type_) in zip(names, columns.items(), strict=True)
    ]
    return Schema.of([*loaded, PERIOD])


def column(plan: Projection, name: str) -> OutputColumn:
    [found] = [one for one in plan.columns if one.name == name]
    return found


@pytest.mark.parametrize("naming", ["spec", "athena"])
def test_athena_names_do_not_depend_on_the_naming_of_the_table(naming: Naming) -> None:
    plan = plan_athena(find_bill_columns(table(CUR, naming), table="t"))
    arn = column(plan, "reservation_reservation_a_r_n")
    assert arn.originals == ("reservation/ReservationARN",)
    assert arn.expression == (
        '"reservation_reservation_arn"' if naming == "spec" else '"reservation_reservation_a_r_n"'
    )
    assert len(set(plan.names)) == len(plan.names)
    assert set(CUR_COLUMNS) <= set(plan.names)


def test_what_a_report_lacks_is_null_of_its_type() -> None:
    plan = plan_athena(find_bill_columns(table(CUR), table="t"))
    assert column(plan, "savings_plan_used_commitment").expression == "CAST(NULL AS DECIMAL(38, 18))"
    assert column(plan, "line_item_usage_end_date").expression == "CAST(NULL AS TIMESTAMPNTZ)"
    assert column(plan, "product_volume_type").expression == "CAST(NULL AS TEXT)"
    assert "line_item_unblended_cost" not in plan.empty_columns
    assert {"savings_plan_used_commitment", "product_volume_type"} <= set(plan.empty_columns)


def test_amounts_are_as_exact_as_the_costs_of_the_table() -> None:
    narrow = {**CUR, "lineItem/UnblendedCost": Decimal(18, 2)}
    plan = plan_athena(find_bill_columns(table(narrow), table="t"))
    assert column(plan, "savings_plan_used_commitment").type == Decimal(18, 2)


def test_athena_reads_renamed_columns_and_the_month() -> None:
    plan = plan_athena(find_bill_columns(table(CUR), table="t"))
    assert column(plan, "product_region").expression == '"product_region_code"'
    assert column(plan, "year").expression == """SPLIT_PART("lakebed_period", '-', 1)"""
    # A number that the report declares as text, as manifests do.
    unused = column(plan, "reservation_unused_quantity")
    assert unused.expression == """CAST(NULLIF("reservation_unused_quantity", '') AS DECIMAL(38, 18))"""


def test_athena_keeps_what_the_dictionary_does_not_know() -> None:
    plan = plan_athena(find_bill_columns(table(CUR), table="t"))
    assert column(plan, "product_new_thing").originals == ("product/newThing",)
    assert column(plan, "order_col").originals == ("order",)
    assert column(plan, "resource_tags_user_environment").originals == ("resourceTags/user:Environment",)
    assert column(plan, "resource_tags_user_environment_1").originals == ("resourceTags/user:environment",)


def test_cur2_gathers_single_columns_into_maps() -> None:
    plan = plan_cur2(find_bill_columns(table(CUR), table="t"))
    assert set(CUR2_COLUMNS) <= set(plan.names)
    assert column(plan, "product").expression == (
        "BILL_MAP('product_name', NULLIF(\"product_product_name\", ''), 'new_thing', NULLIF(\"product_new_thing\", ''))"
    )
    # Two tags that CUR 2.0 has one key for: the first that has a value.
    assert column(plan, "resource_tags").expression == (
        "BILL_MAP('user_environment', COALESCE(NULLIF(\"resource_tags_user_environment\", ''), "
        "NULLIF(\"resource_tags_user_environment_1\", '')))"
    )
    assert column(plan, "discount").type == Map(Text(), Float(64))
    assert column(plan, "discount").expression == "BILL_MAP('edp_discount', CAST(\"discount_edp_discount\" AS DOUBLE))"
    assert column(plan, "product_region_code").expression == '"product_region_code"'
    assert "product_new_thing" not in plan.names


def test_athena_takes_entries_out_of_maps() -> None:
    keys = {"resource_tags": ["user_owner", "user_Name"], "product": ["product_name", "brandNew"], "discount": ["edp"]}
    plan = plan_athena(find_bill_columns(table(CUR2), table="t", keys=keys))
    assert column(plan, "product_product_name").expression == """BILL_ENTRY("product", 'product_name')"""
    assert column(plan, "product_volume_type").expression == """BILL_ENTRY("product", 'volume_type')"""
    assert column(plan, "product_brand_new").expression == """BILL_ENTRY("product", 'brandNew')"""
    assert column(plan, "resource_tags_user_name").expression == """BILL_ENTRY("resource_tags", 'user_Name')"""
    assert column(plan, "discount_edp").type == Float(64)
    assert column(plan, "product_region").expression == (
        """COALESCE(BILL_ENTRY("product", 'region'), "product_region_code")"""
    )
    assert not {"product", "discount", "resource_tags"} & set(plan.names)


def test_cur2_of_cur2_is_itself() -> None:
    plan = plan_cur2(find_bill_columns(table(CUR2), table="t"))
    assert column(plan, "resource_tags").expression == '"resource_tags"'
    assert column(plan, "bill_payer_account_name").expression == "CAST(NULL AS TEXT)"


def test_a_table_of_both_formats_has_the_values_of_both() -> None:
    """A report that changed from CUR to CUR 2.0: the costs are one column, the rest lies here or there."""
    both = {name: type_ for name, type_ in CUR.items() if name not in ("lineItem/UnblendedCost", "lineItem/UsageType")}
    schema = table({**CUR2, **both})
    bill = find_bill_columns(schema, table="t")
    assert column(plan_athena(bill), "product_product_name").expression == (
        """COALESCE("product_product_name", BILL_ENTRY("product", 'product_name'))"""
    )
    assert column(plan_cur2(bill), "cost_category").expression == (
        """COALESCE("cost_category", BILL_MAP('team', NULLIF("cost_category_team", '')))"""
    )


@pytest.mark.parametrize("columns", [{"BilledCost": MONEY, "Tags": TEXTS}, {"id": Text()}])
def test_what_is_no_bill_is_refused(columns: dict[str, DataType]) -> None:
    with pytest.raises(SchemaError, match=r"no table of a Cost and Usage Report.*lineItem/UnblendedCost"):
        find_bill_columns(table(columns), table="t")
