"""A delivery's columns become a plan: by identity, typed by manifest, never dropping one."""

from collections.abc import Sequence

import pytest

from lakebed.errors import SchemaIncompatible
from lakebed.model import RESERVED_COLUMNS, Delivery, Slice, SourceColumn
from lakebed.pipeline.plan import LoadPlan, plan_load
from lakebed.pipeline.settings import OnConflict
from lakebed.schema.evolve import Policy
from lakebed.schema.types import Decimal, Schema, Timestamp


def delivery(period: str, *columns: str | tuple[str, str]) -> Delivery:
    given = tuple(SourceColumn(*((one, None) if isinstance(one, str) else one)) for one in columns)
    return Delivery(Slice("1", "cur", period), f"d-{period}", "cur", None, given, ())


def planned_load(
    one: Delivery,
    current: Schema | None,
    *,
    known: Sequence[Delivery] = (),
    decimals: str = "38,18",
    on_conflict: OnConflict = "refuse",
    remembered: dict[str, str] | None = None,
) -> LoadPlan:
    policy = Policy(on_conflict=on_conflict)
    return plan_load(one, current, naming="spec", decimals=decimals, policy=policy, known=known, remembered=remembered)


AUGUST = delivery(
    "2026-08",
    ("lineItem/UnblendedCost", "BigDecimal"),
    "resourceTags/user:Environment",
    "resourceTags/user:environment",
)
SEPTEMBER = delivery(
    "2026-09",
    "resourceTags/user:environment",
    "resourceTags/user:Environment",
    ("lineItem/UnblendedCost", "BigDecimal"),
    ("bill/BillType", "String"),
)


def test_a_new_table_has_the_columns_of_every_known_delivery_and_ours() -> None:
    planned = planned_load(
        SEPTEMBER,
        None,
        known=[SEPTEMBER, AUGUST, delivery("2026-07", "product/old")],
    )
    assert planned.evolution.creates
    assert set(planned.evolution.final.names) == {
        "resource_tags_user_environment",
        "resource_tags_user_environment_1",
        "line_item_unblended_cost",
        "bill_bill_type",
        "product_old",
        *RESERVED_COLUMNS,
    }
    assert "product_old" not in planned.columns
    assert planned.sum_columns == ("line_item_unblended_cost",)


def test_colliding_tags_keep_their_columns_whatever_the_order_of_the_header() -> None:
    first = planned_load(AUGUST, None)
    second = planned_load(SEPTEMBER, first.evolution.final)
    by_original = {column.original: column.name for column in second.columns}
    assert by_original["resourceTags/user:Environment"] == "resource_tags_user_environment"
    assert by_original["resourceTags/user:environment"] == "resource_tags_user_environment_1"
    assert second.evolution.added_columns == ("bill_bill_type",)


def test_a_report_that_changes_its_format_keeps_its_columns() -> None:
    first = planned_load(AUGUST, None)
    parquet = delivery("2026-10", ("line_item_unblended_cost", "double"), "resource_tags_user_environment")
    second = planned_load(parquet, first.evolution.final)
    assert not second.evolution.changes_schema
    assert second.columns.names == ("line_item_unblended_cost", "resource_tags_user_environment")


def test_a_table_wider_than_the_setting_stays_exact() -> None:
    first = planned_load(AUGUST, None)
    narrower = planned_load(SEPTEMBER, first.evolution.final, decimals="18,2")
    assert narrower.columns["line_item_unblended_cost"].type == Decimal(38, 18)
    assert not narrower.evolution.widenings


def test_a_type_that_does_not_fit_is_refused_or_kept_beside() -> None:
    first = planned_load(AUGUST, None).evolution.final
    changed = delivery("2026-09", ("lineItem/UnblendedCost", "DateTime"))
    with pytest.raises(SchemaIncompatible, match="line_item_unblended_cost"):
        planned_load(changed, first)
    kept = planned_load(changed, first, on_conflict="variant")
    [column] = kept.columns
    assert column.original == "lineItem/UnblendedCost"
    assert column.name != "line_item_unblended_cost"
    assert column.type == Timestamp()
    again = planned_load(changed, kept.evolution.final, on_conflict="variant")
    assert not again.evolution.changes_schema
    assert again.columns.names == kept.columns.names


def test_a_manifest_that_turns_to_text_follows_the_table_because_its_values_are_text_anyway() -> None:
    first = planned_load(AUGUST, None).evolution.final
    text = planned_load(
        delivery("2026-09", ("lineItem/UnblendedCost", "String")),
        first,
    )
    assert text.columns["line_item_unblended_cost"].type == Decimal(38, 18)


def test_remembered_aliases_are_honoured() -> None:
    table = Schema.of(planned_load(AUGUST, None).evolution.final)
    planned = planned_load(
        delivery("2026-09", "resourceTags/user:env"),
        table,
        remembered={"resourceTags/user:env": "resource_tags_user_environment"},
    )
    assert planned.columns.names == ("resource_tags_user_environment",)
