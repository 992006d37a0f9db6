"""Which columns a delivery has: the catalogue of a real report, and how it drifts from month to month."""

from collections.abc import Iterable
from dataclasses import dataclass

from lakebed.errors import ConfigError
from lakebed.source.billing_dictionary import PRODUCT_ATTRIBUTES

TAG = "resourceTags"


@dataclass(frozen=True, slots=True)
class SampleColumn:
    """A column as a CUR manifest lists it."""

    category: str
    name: str
    type: str

    @property
    def original(self) -> str:
        """The name in the CSV header."""
        return f"{self.category}/{self.name}" if self.category else self.name

    @property
    def is_decimal(self) -> bool:
        return self.type in ("BigDecimal", "OptionalBigDecimal")


def _of(category: str, names: str, type_name: str = "OptionalString") -> tuple[SampleColumn, ...]:
    return tuple(SampleColumn(category, name, type_name) for name in names.split())


# What every report has, whatever its width. Rates are text in real manifests, and so they are here.
CORE: tuple[SampleColumn, ...] = (
    *_of("identity", "LineItemId", "String"),
    *_of("identity", "TimeInterval", "Interval"),
    *_of("bill", "InvoiceId"),
    *_of("bill", "InvoicingEntity BillingEntity BillType PayerAccountId", "String"),
    *_of("bill", "BillingPeriodStartDate BillingPeriodEndDate", "DateTime"),
    *_of("lineItem", "UsageAccountId LineItemType", "String"),
    *_of("lineItem", "UsageStartDate UsageEndDate", "DateTime"),
    *_of("lineItem", "ProductCode", "String"),
    *_of("lineItem", "UsageType Operation AvailabilityZone ResourceId"),
    *_of("lineItem", "UsageAmount NormalizationFactor NormalizedUsageAmount", "OptionalBigDecimal"),
    *_of("lineItem", "CurrencyCode UnblendedRate"),
    *_of("lineItem", "UnblendedCost", "BigDecimal"),
    *_of("lineItem", "BlendedRate"),
    *_of("lineItem", "BlendedCost", "BigDecimal"),
    *_of("lineItem", "LineItemDescription TaxType LegalEntity"),
    *_of("product", "ProductName", "String"),
    *_of("product", "group instanceType location productFamily regionCode servicecode sku"),
    *_of("pricing", "RateId currency"),
    *_of("pricing", "publicOnDemandCost", "OptionalBigDecimal"),
    *_of("pricing", "publicOnDemandRate term unit"),
    *_of("reservation", "EffectiveCost", "OptionalBigDecimal"),
    *_of("reservation", "ReservationARN"),
    *_of("savingsPlan", "SavingsPlanEffectiveCost", "OptionalBigDecimal"),
    *_of("savingsPlan", "SavingsPlanARN"),
)

# The long tail, in the order in which a wider report takes them up. Most cells of these are empty, as in life.
TAIL: tuple[SampleColumn, ...] = (
    *_of("discount", "EdpDiscount TotalDiscount", "OptionalBigDecimal"),
    *_of("reservation", "AmortizedUpfrontCostForUsage AmortizedUpfrontFeeForBillingPeriod", "OptionalBigDecimal"),
    *_of(
        "reservation", "AvailabilityZone EndTime ModificationStatus NormalizedUnitsPerReservation NumberOfReservations"
    ),
    *_of("reservation", "RecurringFeeForUsage", "OptionalBigDecimal"),
    *_of("reservation", "StartTime SubscriptionId TotalReservedNormalizedUnits TotalReservedUnits UnitsPerReservation"),
    *_of("reservation", "UnusedAmortizedUpfrontFeeForBillingPeriod UnusedRecurringFee", "OptionalBigDecimal"),
    *_of("reservation", "UnusedNormalizedUnitQuantity UnusedQuantity UpfrontValue"),
    *_of("savingsPlan", "EndTime OfferingType PaymentOption PurchaseTerm Region SavingsPlanRate StartTime"),
    *_of("savingsPlan", "TotalCommitmentToDate UsedCommitment", "OptionalBigDecimal"),
    *_of(
        "savingsPlan",
        "AmortizedUpfrontCommitmentForBillingPeriod RecurringCommitmentForBillingPeriod NetSavingsPlanEffectiveCost",
        "OptionalBigDecimal",
    ),
    *_of("lineItem", "NetUnblendedCost", "OptionalBigDecimal"),
    *_of("reservation", "NetEffectiveCost", "OptionalBigDecimal"),
    *_of("splitLineItem", "ParentResourceId"),
    *_of("splitLineItem", "ReservedUsage SplitCost SplitUsage UnusedCost", "OptionalBigDecimal"),
    *_of("costCategory", "Team Product"),
    *_of("pricing", "LeaseContractLength OfferingClass PurchaseOption RateCode"),
    *_of("product", " ".join(PRODUCT_ATTRIBUTES)),
)

# Names that are nothing but a reserved word of SQL; columns that a billing tool adds come like this, uncategorised.
RESERVED: tuple[SampleColumn, ...] = _of("", "group order")

# Tags that collide when names are made alike: only the case, or only the punctuation, tells them apart.
COLLIDING: tuple[tuple[str, str], ...] = (
    ("user:Environment", "user:environment"),
    ("user:cost-center", "user:cost_center"),
)
STEADY_TAGS: tuple[str, ...] = (
    "aws:createdBy",
    "user:Name",
    "user:owner",
    "user:2nd-level",
    "user:order",
    'user:Team, "Blue"',
    "user:Équipe",
    "user:проект",
)
VANISHING_TAGS: tuple[str, ...] = ("user:legacy-owner", "user:old billing code")
# One more of each appears every month.
APPEARING_TAGS: tuple[str, ...] = (
    "user:data-class",
    "user:k8s/namespace",
    "user:feature flag",
    "user:DataClass",
    "user:carbon",
    "user:workload",
    "user:slo",
    "user:tenant",
)
APPEARING_PRODUCT: tuple[str, ...] = (
    "acceleratorType",
    "tokenType",
    "modelFamily",
    "inferenceTier",
    "quantumDevice",
    "extendedSupportPricingYear",
    "snapshotTier",
    "edgeZone",
)

_CATEGORIES = (
    "identity",
    "bill",
    "lineItem",
    "product",
    "pricing",
    "reservation",
    "discount",
    "savingsPlan",
    "splitLineItem",
    "costCategory",
    "",
    TAG,
)
_ALWAYS_TAGS = (*(name for pair in COLLIDING for name in pair), *STEADY_TAGS, *VANISHING_TAGS)
NARROWEST = len(CORE) + len(RESERVED) + len(_ALWAYS_TAGS)


def first_month_columns(width: int) -> tuple[SampleColumn, ...]:
    """The columns of the first month: exactly `width` of them."""
    if width < NARROWEST:
        raise ConfigError(f"a report of {width} columns is too narrow", remedy=f"Ask for {NARROWEST} or more.")
    fixed = (*CORE, *RESERVED)
    room = width - len(fixed) - len(_ALWAYS_TAGS)
    # A quarter of what is left are tags.
    more_tags = max(room // 4, room - len(TAIL))
    generated = (f"user:app-{number:03d}" for number in range(1, more_tags + 1))
    columns = (*fixed, *TAIL[: room - more_tags], *_tags(_ALWAYS_TAGS), *_tags(generated))
    return in_report_order(columns, swap=False)


def month_columns(width: int, month: int, *, restated: bool = False) -> tuple[SampleColumn, ...]:
    """The columns of a month, counted from 0: some are new, some have gone, and colliding tags change their order."""
    columns = list(first_month_columns(width))
    grown = month + (1 if restated else 0)
    columns += _tags(APPEARING_TAGS[:grown])
    columns += _of("product", " ".join(APPEARING_PRODUCT[:month]))
    gone = {*VANISHING_TAGS[: max(0, month - 1)]} | ({"timeWindow"} if month > 1 else set())
    return in_report_order((column for column in columns if column.name not in gone), swap=month % 2 == 1)


def in_report_order(columns: Iterable[SampleColumn], *, swap: bool) -> tuple[SampleColumn, ...]:
    """Categories in AWS's order; with `swap`, each pair of colliding tags the other way round."""
    ordered = sorted(columns, key=lambda column: _CATEGORIES.index(column.category))
    if swap:
        other = {name: twin for pair in COLLIDING for name, twin in (pair, pair[::-1])}
        ordered = [
            SampleColumn(column.category, other.get(column.name, column.name), column.type) for column in ordered
        ]
    return tuple(ordered)


def _tags(names: Iterable[str]) -> tuple[SampleColumn, ...]:
    return tuple(SampleColumn(TAG, name, "OptionalString") for name in names)


def athena_name(original: str) -> str:
    """The name that AWS's finished formats give a column: an underscore before every capital, all of it lower case."""
    text = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in original)
    text = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in text)
    while "__" in text:
        text = text.replace("__", "_")
    return text.strip("_")
