"""The three kinds of report as lists of cells: CUR as it drifts, CUR 2.0 and FOCUS with their fixed columns."""

from typing import Literal, TypeAlias

from lakebed.samples.columns import CORE, TAG, SampleColumn, athena_name
from lakebed.samples.rows import TAGS, Cell

SampleKind: TypeAlias = Literal["cur", "cur2", "focus"]
"""Which report a sample is: the Cost and Usage Report, CUR 2.0, or FOCUS 1.0."""
SampleFormat: TypeAlias = Literal["gzip", "zip", "csv", "parquet"]
"""How the data files of a sample are packed."""
SampleLayout: TypeAlias = Literal["new", "overwrite"]
"""Whether each delivery has a folder of its own, or overwrites the files of its month."""

_CUR2_MAPS = {"product": "map:product", "discount": "map:discount", "cost_category": "map:costCategory"}
_CUR2_MORE = {
    "bill_payer_account_name": "payer/Name",
    "line_item_usage_account_name": "costCategory/Product",
    "product_region_code": "product/regionCode",
    "product_servicecode": "product/servicecode",
    "product_product_family": "product/productFamily",
    "product_sku": "product/sku",
    "pricing_rate_code": "pricing/RateCode",
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


def cells(kind: SampleKind, columns: tuple[SampleColumn, ...]) -> tuple[Cell, ...]:
    """The cells of a report; `columns` is what a CUR of that month has."""
    if kind == "focus":
        fixed = tuple(Cell(name, key, name in _FOCUS_DECIMALS) for name, key in _FOCUS.items())
        return (*fixed, Cell("Tags", TAGS))
    if kind == "cur2":
        core = [Cell(athena_name(column.original), column.original, column.is_decimal) for column in CORE]
        core = [cell for cell in core if not cell.header.startswith("product_")]
        more = [Cell(name, key) for name, key in _CUR2_MORE.items()]
        maps = [Cell(name, key) for name, key in _CUR2_MAPS.items()]
        return tuple(sorted((*core, *more, *maps, Cell("resource_tags", TAGS)), key=lambda cell: cell.header))
    # All tags of a line are one ready-made text, and they stand together at the end.
    fixed = tuple(Cell(each.original, each.original, each.is_decimal) for each in columns if each.category != TAG)
    return (*fixed, Cell(TAG, TAGS))


def tags(kind: SampleKind, columns: tuple[SampleColumn, ...]) -> tuple[str, ...]:
    """The names of the tags of a month, in the order of the report."""
    names = tuple(column.name for column in columns if column.category == TAG)
    return names if kind == "cur" else tuple(name.replace(":", "_") for name in names)
