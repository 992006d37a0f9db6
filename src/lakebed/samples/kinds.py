"""The three kinds of report as lists of cells: CUR as it drifts, CUR 2.0 and FOCUS with their fixed columns."""

from typing import Literal, TypeAlias

from lakebed.samples.columns import CORE, TAG, TAIL, SampleColumn, athena_name
from lakebed.samples.rows import TAGS, Cell
from lakebed.source.billing_dictionary import CUR2_COLUMNS, KNOWN_DECIMALS

SampleKind: TypeAlias = Literal["cur", "cur2", "focus"]
"""Which report a sample is: the Cost and Usage Report, CUR 2.0, or FOCUS 1.0."""
SampleFormat: TypeAlias = Literal["gzip", "zip", "csv", "parquet"]
"""How the data files of a sample are packed."""
SampleLayout: TypeAlias = Literal["new", "overwrite"]
"""Whether each delivery has a folder of its own, or overwrites the files of its month."""

_CUR2_MAPS = {"product": "map:product", "discount": "map:discount", "cost_category": "map:costCategory"}
# CUR 2.0's fixed columns; those that CUR has too hold the same.
_CUR2_KEYS = {athena_name(column.original): column.original for column in (*CORE, *TAIL)} | {
    "bill_payer_account_name": "payer/Name",
    "line_item_usage_account_name": "costCategory/Product",
}
_FOCUS: dict[str, str] = {
    "AvailabilityZone": "lineItem/AvailabilityZone",
    "BilledCost": "lineItem/UnblendedCost",
    "BillingAccountId": "bill/PayerAccountId",
    "BillingAccountName": "payer/Name",
    "BillingCurrency": "lineItem/CurrencyCode",
    "BillingPeriodEnd": "bill/BillingPeriodEndDate",
    "BillingPeriodStart": "bill/BillingPeriodStartDate",
    "ChargeCategory": "lineItem/LineItemType",
    "ChargeDescription": "lineItem/LineItemDescription",
    "ChargePeriodEnd": "lineItem/UsageEndDate",
    "ChargePeriodStart": "lineItem/UsageStartDate",
    "ConsumedQuantity": "lineItem/UsageAmount",
    "ConsumedUnit": "pricing/unit",
    "ContractedCost": "lineItem/BlendedCost",
    "EffectiveCost": "lineItem/UnblendedCost",
    "InvoiceIssuerName": "bill/InvoicingEntity",
    "ListCost": "pricing/publicOnDemandCost",
    "ListUnitPrice": "pricing/publicOnDemandRate",
    "PricingQuantity": "lineItem/UsageAmount",
    "PricingUnit": "pricing/unit",
    "ProviderName": "bill/BillingEntity",
    "PublisherName": "lineItem/LegalEntity",
    "RegionId": "product/regionCode",
    "RegionName": "product/location",
    "ResourceId": "lineItem/ResourceId",
    "ServiceCategory": "product/productFamily",
    "ServiceName": "product/ProductName",
    "SkuId": "product/sku",
    "SkuPriceId": "pricing/RateCode",
    "SubAccountId": "lineItem/UsageAccountId",
    "SubAccountName": "costCategory/Product",
    "x_Operation": "lineItem/Operation",
    "x_ServiceCode": "lineItem/ProductCode",
    "x_UsageType": "lineItem/UsageType",
}
_FOCUS_DECIMALS = ("BilledCost", "ConsumedQuantity", "ContractedCost", "EffectiveCost", "ListCost", "PricingQuantity")
MAPS = (*_CUR2_MAPS, "resource_tags", "Tags")
NUMBER_MAPS = ("discount",)


def cells(kind: SampleKind, columns: tuple[SampleColumn, ...]) -> tuple[Cell, ...]:
    """The cells of a report; `columns` is what a CUR of that month has."""
    if kind == "focus":
        fixed = tuple(Cell(name, key, name in _FOCUS_DECIMALS) for name, key in _FOCUS.items())
        return (*fixed, Cell("Tags", TAGS))
    if kind == "cur2":
        return tuple(_cur2_cell(name) for name in CUR2_COLUMNS)
    # All tags of a line are one ready-made text, and they stand together at the end.
    fixed = tuple(Cell(each.original, each.original, each.is_decimal) for each in columns if each.category != TAG)
    return (*fixed, Cell(TAG, TAGS))


def _cur2_cell(name: str) -> Cell:
    if name == "resource_tags":
        return Cell(name, TAGS)
    if name in _CUR2_MAPS:
        own = frozenset(_CUR2_KEYS[column] for column in CUR2_COLUMNS if column in _CUR2_KEYS)
        return Cell(name, _CUR2_MAPS[name], left_out=own - {"costCategory/Product"})
    return Cell(name, _CUR2_KEYS.get(name, name), name in KNOWN_DECIMALS)


def tags(columns: tuple[SampleColumn, ...]) -> tuple[str, ...]:
    """The names of the tags of a month, in the order of the report."""
    return tuple(column.name for column in columns if column.category == TAG)
