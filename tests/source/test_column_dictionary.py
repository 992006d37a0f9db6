"""AWS's words for types, and the columns known without them."""

import csv

import pytest
from tests.support import SHARED

from lakebed.errors import ConfigError
from lakebed.schema.types import DataType, Decimal, Integer, Map, Text, Timestamp
from lakebed.source.column_dictionary import DATETIME, TEXT_MAP, column_type, known_type, parse_decimals

SAMPLES = SHARED / "samples" / "cur"
EXACT = Decimal(38, 18)

needs_samples = pytest.mark.skipif(
    not SAMPLES.exists(), reason="the samples lie beside the repository in development only"
)


@pytest.mark.parametrize(
    ("declared", "ours"),
    [
        ("String", Text()),
        ("OptionalString", Text()),
        ("BigDecimal", Decimal(18, 2)),
        ("OptionalBigDecimal", Decimal(18, 2)),
        ("DateTime", Timestamp("us")),
        ("Interval", Text()),
        ("SomethingNew", Text()),
    ],
)
def test_the_specifications_table_of_types(declared: str, ours: DataType) -> None:
    assert column_type("x/Y", declared, decimals="18,2") == ours


def test_decimals_are_exact_by_default() -> None:
    assert column_type("lineItem/UnblendedCost", "BigDecimal") == EXACT


@pytest.mark.parametrize("declared", ["BigDecimal", "DateTime", "String", None])
def test_resource_tags_are_always_text(declared: str | None) -> None:
    assert column_type("resourceTags/user:Cost", declared) == Text()


@pytest.mark.parametrize(
    ("original", "ours"),
    [
        ("lineItem/UnblendedCost", EXACT),
        ("lineItem/UsageAmount", EXACT),
        ("lineItem/UsageStartDate", DATETIME),
        ("bill/BillingPeriodEndDate", DATETIME),
        ("pricing/publicOnDemandCost", EXACT),
        ("savingsPlan/SavingsPlanEffectiveCost", EXACT),
        ("line_item_net_unblended_cost", EXACT),
        ("split_line_item_split_cost", EXACT),
        ("resource_tags", TEXT_MAP),
        ("product", TEXT_MAP),
        ("BilledCost", EXACT),
        ("ListUnitPrice", EXACT),
        ("PricingQuantity", EXACT),
        ("ChargePeriodStart", DATETIME),
        ("BillingPeriodEnd", DATETIME),
        ("Tags", TEXT_MAP),
        ("x_Discounts", TEXT_MAP),
        # Text: rates, as real manifests declare them, account numbers, and whatever is not known.
        ("lineItem/UnblendedRate", None),
        ("lineItem/UsageAccountId", None),
        ("identity/TimeInterval", None),
        ("product/region", None),
        ("a/product", None),
    ],
)
def test_what_is_known_without_a_manifest(original: str, ours: DataType | None) -> None:
    assert known_type(original) == ours
    assert column_type(original) == (ours or Text())


def test_the_manifest_is_followed_where_it_has_a_type() -> None:
    assert column_type("lineItem/UnblendedRate", "String") == Text()
    assert column_type("lineItem/UnblendedRate", "BigDecimal") == EXACT
    assert column_type("lineItem/UsageStartDate", "OptionalString") == Text()


@pytest.mark.parametrize(
    ("declared", "ours"),
    [
        ("double", EXACT),
        ("decimal(38,9)", EXACT),
        ("timestamp[ms, tz=UTC]", DATETIME),
        ("map<string, string>", Map(Text(), Text())),
        ("bigint", Integer(64)),
        ("string", Text()),
    ],
)
def test_the_words_of_exports_and_parquet(declared: str, ours: DataType) -> None:
    assert column_type("some_export_column", declared) == ours


@pytest.mark.parametrize("setting", ["39,2", "18", "2,18", "a,b", "0,0", "-1,2", ""])
def test_a_wrong_decimals_setting_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="decimals"):
        parse_decimals(setting)


@needs_samples
def test_the_real_cur_sample() -> None:
    with (SAMPLES / "focus_converters_aws" / "sample-anonymous-aws-export-dataset.csv").open() as file:
        header = next(csv.reader(file))
    types = {original: column_type(original) for original in header}
    for original in ("lineItem/UnblendedCost", "lineItem/UsageAmount", "pricing/publicOnDemandCost"):
        assert types[original] == EXACT
    assert {original for original, type_ in types.items() if type_ == DATETIME} == {
        "bill/BillingPeriodStartDate",
        "bill/BillingPeriodEndDate",
        "lineItem/UsageStartDate",
        "lineItem/UsageEndDate",
    }
    assert types["lineItem/UsageAccountId"] == Text()
