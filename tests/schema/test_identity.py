"""Identity: an original name has one column, whatever the order, the month, the ledger or the format."""

import itertools

from lakebed.model import PERIOD, RESERVED_COLUMNS
from lakebed.schema.identity import Identities, assign
from lakebed.schema.names import create_column_mapping
from lakebed.schema.types import Column, Schema, Text

COST = "lineItem/UnblendedCost"
ARN = "reservation/ReservationARN"
UPPER = "resourceTags/user:Environment"
LOWER = "resourceTags/user:environment"


def names(identities: Identities, *originals: str) -> list[str]:
    return [identities[original] for original in originals]


def as_table(identities: Identities) -> Schema:
    """What a new ledger finds: the table, each column with the one original that it carries."""
    return Schema.of(
        Column(name, Text(), original=next(iter(identities.originals(name)), None)) for name in identities.names
    )


def test_one_manifest_is_named_as_the_specification_says() -> None:
    header = [COST, UPPER, LOWER, "a/group", "Foo", "foo", "foo_1", "foo"]
    identities = assign(Identities(), header)
    assert list(identities.names) == create_column_mapping(header)


def test_the_order_of_later_headers_changes_nothing() -> None:
    first = assign(Identities(), [UPPER, LOWER, COST])
    for header in itertools.permutations([COST, LOWER, UPPER]):
        assert assign(first, header) == first


def test_absence_in_a_month_changes_nothing() -> None:
    september = assign(assign(Identities(), [UPPER]), [LOWER])
    october = assign(september, [LOWER, UPPER])
    assert names(october, UPPER, LOWER) == ["resource_tags_user_environment", "resource_tags_user_environment_1"]


def test_a_new_ledger_reads_the_same_identities_from_the_table() -> None:
    before = assign(assign(Identities(), [UPPER, LOWER, ARN]), [COST])
    rebuilt = Identities.from_schema(as_table(before))
    assert dict(rebuilt.by_original) == dict(before.by_original)
    assert names(assign(rebuilt, [LOWER, COST]), LOWER, COST) == names(before, LOWER, COST)


def test_a_report_that_becomes_parquet_keeps_its_columns() -> None:
    csv = assign(Identities(), [COST, ARN, UPPER, LOWER])
    finished = ["line_item_unblended_cost", "reservation_reservation_a_r_n", "resource_tags_user_environment"]
    parquet = assign(csv, finished, finished_names=True)
    assert names(parquet, *finished) == [
        "line_item_unblended_cost",
        "reservation_reservation_arn",
        "resource_tags_user_environment",
    ]
    assert parquet.names == csv.names
    assert parquet.originals("line_item_unblended_cost") == (COST, "line_item_unblended_cost")


def test_a_report_that_was_parquet_keeps_its_columns_as_csv() -> None:
    parquet = assign(Identities(), ["line_item_unblended_cost", "reservation_reservation_a_r_n"], finished_names=True)
    csv = assign(parquet, [ARN, COST])
    assert names(csv, COST, ARN) == ["line_item_unblended_cost", "reservation_reservation_a_r_n"]
    assert csv.names == parquet.names


def test_two_tags_never_share_a_column_that_parquet_had_merged() -> None:
    parquet = assign(Identities(), ["resource_tags_user_environment"], finished_names=True)
    csv = assign(parquet, [UPPER, LOWER])
    assert names(csv, UPPER, LOWER) == ["resource_tags_user_environment", "resource_tags_user_environment_1"]
    # Nor one after the other.
    assert names(assign(assign(parquet, [UPPER]), [LOWER]), UPPER, LOWER) == names(csv, UPPER, LOWER)


def test_a_finished_name_prefers_the_tag_itself_to_a_suffix_that_looks_like_it() -> None:
    numbered = "resourceTags/user:environment_1"
    csv = assign(Identities(), [UPPER, LOWER, numbered])
    assert csv[numbered] == "resource_tags_user_environment_1_1"
    parquet = assign(csv, ["resource_tags_user_environment_1"], finished_names=True)
    assert parquet["resource_tags_user_environment_1"] == csv[numbered]


def test_a_finished_name_that_two_columns_could_have_had_goes_to_neither() -> None:
    csv = assign(Identities(), ["x/ARN", "x/A-RN"])
    assert names(csv, "x/ARN", "x/A-RN") == ["x_arn", "x_a_rn"]
    assert assign(csv, ["x_a_r_n"], finished_names=True)["x_a_r_n"] == "x_a_r_n"


def test_plain_headers_that_differ_in_case_stay_two_columns() -> None:
    first = assign(Identities(), ["foo"])
    assert names(assign(first, ["Foo", "foo"]), "Foo", "foo") == ["foo_1", "foo"]
    assert assign(first, ["Foo"])["Foo"] == "foo_1"


def test_two_names_that_looked_like_one_column_part_when_they_come_together() -> None:
    apart = assign(assign(Identities(), ["foo"], finished_names=True), ["Foo"], finished_names=True)
    assert names(apart, "foo", "Foo") == ["foo", "foo"]
    together = assign(apart, ["Foo", "foo"], finished_names=True)
    assert names(together, "foo", "Foo") == ["foo", "foo_1"]
    assert assign(together, ["Foo"], finished_names=True) == together


def test_repeated_headers_are_named_alike_whether_or_not_they_were_told_apart_before() -> None:
    for header in (["a", "a", "a"], ["a", "a#2", "a#3"]):
        assert assign(Identities(), header).names == ("a", "a_1", "a_2")


def test_focus_names_are_one_column_in_csv_and_parquet() -> None:
    csv = assign(Identities(), ["BilledCost", "x_Discounts"])
    parquet = assign(csv, ["BilledCost", "x_discounts"], finished_names=True)
    assert names(parquet, "BilledCost", "x_discounts") == ["billed_cost", "x_discounts"]
    assert parquet.names == csv.names


def test_a_table_of_unknown_origin_is_met_by_name() -> None:
    table = Schema.of([Column("Line_Item_Unblended_Cost", Text()), Column("foo", Text()), Column("foo_1", Text())])
    identities = assign(Identities.from_schema(table), [COST, "Foo", "foo"])
    assert names(identities, COST, "Foo", "foo") == ["Line_Item_Unblended_Cost", "foo", "foo_1"]
    assert identities.names == table.names


def test_a_remark_in_a_table_is_not_an_original() -> None:
    table = Schema.of(
        [
            Column("line_item_unblended_cost", Text(), original="what it cost before discounts"),
            Column("renamed_by_the_user", Text(), original=ARN),
        ]
    )
    identities = assign(Identities.from_schema(table), [COST, ARN])
    assert names(identities, COST, ARN) == ["line_item_unblended_cost", "renamed_by_the_user"]


def test_the_tables_original_comes_before_the_ledgers_aliases() -> None:
    table = Schema.of([Column("line_item_unblended_cost", Text(), original=COST)])
    identities = Identities.from_schema(table, {"line_item_unblended_cost": "line_item_unblended_cost"})
    assert identities.originals("line_item_unblended_cost") == (COST, "line_item_unblended_cost")


def test_our_own_columns_are_never_given_away() -> None:
    table = Schema.of(Column(name, Text()) for name in RESERVED_COLUMNS)
    for finished in (True, False):
        identities = assign(Identities.from_schema(table), [PERIOD, "lakebed/Payer"], finished_names=finished)
        assert not set(identities.by_original.values()) & set(RESERVED_COLUMNS)


def test_aliases_of_a_ledger_join_what_the_table_says() -> None:
    table = Schema.of([Column("line_item_unblended_cost", Text(), original=COST)])
    aliases = {"line_item_unblended_cost": "LINE_ITEM_UNBLENDED_COST", COST: "stale", "a/b": "a_b"}
    identities = Identities.from_schema(table, aliases)
    assert dict(identities.by_original) == {
        COST: "line_item_unblended_cost",
        "line_item_unblended_cost": "line_item_unblended_cost",
        "a/b": "a_b",
    }
    assert identities.names == ("line_item_unblended_cost", "a_b")


def test_athena_naming_is_kept_to() -> None:
    identities = assign(Identities(), [ARN, COST], "athena")
    assert names(identities, ARN, COST) == ["reservation_reservation_a_r_n", "line_item_unblended_cost"]
    # The rule may change later; the names do not.
    assert assign(identities, [ARN], "spec") == identities
