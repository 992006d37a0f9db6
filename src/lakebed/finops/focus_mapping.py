"""The mapping of a bill to FOCUS as data: for each column its expression, its reason, and who says so.

Expressions are in the small SQL of `projection`, in three steps. `CLASSED` reads the columns of the bill by AWS's names
and `part`: 'charge' for the row of a line, 'unused' for the second row of a commitment's fee. `PRICED` reads those too,
and `FOCUS_1_2` all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lakebed.finops.focus_services import OTHER, SERVICES
from lakebed.finops.projection import OutputColumn, Projection, cast_text, literal_text, null_text
from lakebed.model import RESERVED_COLUMNS
from lakebed.schema.types import DataType, Decimal, Float, Text, Timestamp

FocusVersion: TypeAlias = Literal["1.2", "1.3"]
"""Which version of FOCUS the columns have."""
FOCUS_VERSIONS: tuple[FocusVersion, ...] = ("1.2", "1.3")
Authority: TypeAlias = Literal["FOCUS", "AWS", "derived"]

MONEY, RATE, TEXT, MOMENT = Decimal(38, 18), Float(64), Text(), Timestamp()
# Lines that become no row, and lines that become two.
NETTED = "COALESCE(line_item_line_item_type, '') = 'SavingsPlanNegation'"
SPLIT = "line_item_line_item_type IN ('RIFee', 'SavingsPlanRecurringFee')"


@dataclass(frozen=True, slots=True)
class FocusColumn:
    """One column of FOCUS: what it is made of, why, and on whose word. Without an expression CUR does not say it."""

    name: str
    type: DataType
    expression: str | None
    reason: str
    authority: Authority

    @property
    def output(self) -> OutputColumn:
        if self.expression is None:
            return OutputColumn(self.name, self.type, null_text(self.type))
        text = cast_text(self.expression, self.type) if self.type == MONEY else self.expression
        return OutputColumn(self.name, self.type, text, ("bill",))


def _first(*columns: str) -> str:
    return f"COALESCE({', '.join(columns)})"


def _present(column: str) -> str:
    return f"NULLIF({column}, '')"


def _is_type(*types: str) -> str:
    return f"line_item_line_item_type IN ({', '.join(map(literal_text, types))})"


_COVERED = _is_type("SavingsPlanCoveredUsage", "DiscountedUsage")
_PLAN, _RESERVATION = _present("savings_plan_savings_plan_a_r_n"), _present("reservation_reservation_a_r_n")
_COMMITMENT_FEE = (
    f"({_is_type('RIFee', 'SavingsPlanRecurringFee', 'SavingsPlanUpfrontFee')}"
    f" OR (line_item_line_item_type = 'Fee' AND {_RESERVATION} IS NOT NULL))"
)
_UNUSED_PLAN = _first("savings_plan_total_commitment_to_date - savings_plan_used_commitment", "0")
_UNUSED_RESERVATION = (
    f"{_first('reservation_unused_amortized_upfront_fee_for_billing_period', '0')}"
    f" + {_first('reservation_unused_recurring_fee', '0')}"
)
_ISSUED_BY_AWS = "(bill_invoicing_entity LIKE 'Amazon%' OR bill_invoicing_entity LIKE 'AWS%')"
_SERVICE_CODE = _first(_present("line_item_product_code"), _present("product_servicecode"))


def _service(position: int) -> str:
    """The category or the subcategory of the service, which the product code says."""
    cases: dict[str, list[str]] = {}
    for code, category in SERVICES.items():
        cases.setdefault(category[position], []).append(literal_text(code))
    whens = " ".join(
        f"WHEN {_SERVICE_CODE} IN ({', '.join(codes)}) THEN {literal_text(name)}" for name, codes in cases.items()
    )
    return f"CASE {whens} ELSE {literal_text(OTHER[position])} END"


def _columns(pairs: Iterable[tuple[str, DataType, str]]) -> Projection:
    return Projection(
        tuple(
            OutputColumn(name, type_, cast_text(text, type_) if type_ == MONEY else text, ("bill",))
            for name, type_, text in pairs
        )
    )


# What a line is.
CLASSED = _columns(
    [
        (
            "category",
            TEXT,
            "CASE WHEN part = 'unused' THEN 'Usage'"
            f" WHEN {_is_type('Fee', 'RIFee', 'SavingsPlanUpfrontFee', 'SavingsPlanRecurringFee')} THEN 'Purchase'"
            " WHEN line_item_line_item_type = 'Tax' THEN 'Tax' WHEN line_item_line_item_type = 'Credit' THEN 'Credit'"
            " ELSE 'Usage' END",
        ),
        ("correction", TEXT, "CASE WHEN bill_bill_type = 'Refund' THEN 'Correction' END"),
        ("net_cost", MONEY, _first("line_item_net_unblended_cost", "line_item_unblended_cost", "0")),
        ("marketplace", TEXT, "CASE WHEN bill_billing_entity = 'AWS Marketplace' THEN 'yes' ELSE 'no' END"),
        ("commitment", TEXT, _first(_PLAN, _RESERVATION)),
        ("commitment_kind", TEXT, f"CASE WHEN {_PLAN} IS NOT NULL THEN 'plan' WHEN {_RESERVATION} IS NOT NULL THEN 'reservation' END"),
        (
            "quantity",
            MONEY,
            f"CASE WHEN part = 'unused' AND {_PLAN} IS NOT NULL THEN {_UNUSED_PLAN}"
            " WHEN part = 'unused' THEN COALESCE(reservation_unused_quantity, 0)"
            " ELSE COALESCE(line_item_usage_amount, 0) END",
        ),
        (
            "unit",
            TEXT,
            "CASE pricing_unit WHEN 'Hrs' THEN 'Hours' WHEN 'hours' THEN 'Hours' WHEN 'GB-Mo' THEN 'GB-Months'"
            " WHEN 'Minute' THEN 'Minutes' WHEN '1K tokens' THEN '1000 Tokens'"
            f" ELSE {_first(_present('pricing_unit'), literal_text('Units'))} END",
        ),
        ("sku", TEXT, _first(
            _present("product_sku"),
            f"CONCAT({_first(_SERVICE_CODE, literal_text('AWS'))}, ':', "
            f"{_first(_present('line_item_usage_type'), 'line_item_line_item_type')})",
        )),
        ("rate", TEXT, _first(_present("pricing_rate_code"), _present("pricing_rate_id"))),
        ("region", TEXT, _first(_present("product_region_code"), _present("product_region"))),
        ("is_discount", TEXT, "CASE WHEN line_item_line_item_type LIKE '%Discount' THEN 'yes' ELSE 'no' END"),
    ]
)  # fmt: skip
_PRICED_BY_UNIT = "category IN ('Usage', 'Purchase') AND correction IS NULL"
# What it costs.
PRICED = _columns(
    [
        (
            "billed",
            MONEY,
            "CASE WHEN part = 'unused' OR marketplace = 'yes' OR line_item_line_item_type = 'SavingsPlanCoveredUsage'"
            " THEN 0 ELSE net_cost END",
        ),
        (
            "effective",
            MONEY,
            f"CASE WHEN part = 'unused' AND commitment_kind = 'plan' THEN {_UNUSED_PLAN}"
            f" WHEN part = 'unused' THEN {_UNUSED_RESERVATION}"
            " WHEN line_item_line_item_type = 'SavingsPlanCoveredUsage' THEN"
            f" {_first('savings_plan_net_savings_plan_effective_cost', 'savings_plan_savings_plan_effective_cost', '0')}"
            " WHEN line_item_line_item_type = 'DiscountedUsage' THEN"
            f" {_first('reservation_net_effective_cost', 'reservation_effective_cost', '0')}"
            f" WHEN {_COMMITMENT_FEE} OR marketplace = 'yes' THEN 0 ELSE net_cost END",
        ),
        (
            "contracted",
            MONEY,
            "CASE WHEN part = 'unused' OR quantity = 0 AND category IN ('Usage', 'Purchase') AND correction IS NULL THEN 0"
            f" WHEN is_discount = 'yes' THEN 0 WHEN {_COVERED} THEN {_first('pricing_public_on_demand_cost', 'line_item_unblended_cost', '0')}"
            " ELSE net_cost END",
        ),
        (
            "listed",
            MONEY,
            "CASE WHEN part = 'unused' OR quantity = 0 AND category IN ('Usage', 'Purchase') AND correction IS NULL THEN 0"
            " WHEN is_discount = 'yes' THEN 0 WHEN category = 'Usage' THEN"
            f" {_first('pricing_public_on_demand_cost', 'line_item_unblended_cost', '0')} ELSE net_cost END",
        ),
        (
            "commitment_quantity",
            MONEY,
            "CASE WHEN commitment IS NULL THEN NULL WHEN commitment_kind = 'reservation' OR part = 'unused' THEN quantity"
            " WHEN line_item_line_item_type = 'SavingsPlanCoveredUsage' THEN"
            f" {_first('savings_plan_net_savings_plan_effective_cost', 'savings_plan_savings_plan_effective_cost', '0')}"
            " WHEN line_item_line_item_type = 'SavingsPlanRecurringFee' THEN"
            f" {_first('savings_plan_total_commitment_to_date', '0')} ELSE net_cost END",
        ),
    ]
)


def _unit_price(cost: str) -> str:
    """What one unit costs: the rates of a bill show one tier only. Doubles: a quotient has no last digit."""
    return (
        f"CASE WHEN {_PRICED_BY_UNIT} THEN CASE WHEN quantity = 0 THEN CAST(0 AS DOUBLE)"
        f" ELSE CAST({cost} AS DOUBLE) / CAST(quantity AS DOUBLE) END END"
    )


def _where_priced(text: str) -> str:
    return f"CASE WHEN {_PRICED_BY_UNIT} THEN {text} END"


_COMMITTED = "commitment IS NOT NULL AND category = 'Usage'"
_CURRENCY = "line_item_currency_code"
FOCUS_1_2: tuple[FocusColumn, ...] = (
    FocusColumn("AvailabilityZone", TEXT, _present("line_item_availability_zone"), "the zone of the line", "FOCUS"),
    FocusColumn("BilledCost", MONEY, "billed", "the net cost where the report has it, else the unblended cost; 0 on usage that a savings plan covers, whose negation takes the cost back and becomes no row, on the unused part of a commitment, and on what a marketplace seller invoices", "derived"),
    FocusColumn("BillingAccountId", TEXT, "bill_payer_account_id", "the payer", "AWS"),
    FocusColumn("BillingAccountName", TEXT, _first(_present("bill_payer_account_name"), "bill_payer_account_id"), "CUR 2.0 has the name; for CUR it is the id, since it must not be NULL", "derived"),
    FocusColumn("BillingAccountType", TEXT, "'Payer Account'", "AWS's word", "AWS"),
    FocusColumn("BillingCurrency", TEXT, _CURRENCY, "", "AWS"),
    FocusColumn("BillingPeriodEnd", MOMENT, "bill_billing_period_end_date", "exclusive, UTC", "FOCUS"),
    FocusColumn("BillingPeriodStart", MOMENT, "bill_billing_period_start_date", "UTC", "FOCUS"),
    FocusColumn("CapacityReservationId", TEXT, None, "not in CUR", "AWS"),
    FocusColumn("CapacityReservationStatus", TEXT, None, "not in CUR", "AWS"),
    FocusColumn("ChargeCategory", TEXT, "category", "fees are purchases; tax and credits are their own; everything else, discounts and refunds too, is usage: a refund has the category of what is refunded", "FOCUS"),
    FocusColumn("ChargeClass", TEXT, "correction", "a bill of the type Refund corrects an earlier one", "derived"),
    FocusColumn("ChargeDescription", TEXT, "line_item_line_item_description", "", "FOCUS"),
    FocusColumn("ChargeFrequency", TEXT, "CASE WHEN part = 'unused' THEN 'Usage-Based' WHEN line_item_line_item_type IN ('RIFee', 'SavingsPlanRecurringFee') THEN 'Recurring' WHEN category IN ('Purchase', 'Tax', 'Credit') THEN 'One-Time' ELSE 'Usage-Based' END", "a purchase is never usage-based; bill/BillType is too coarse", "FOCUS"),
    FocusColumn("ChargePeriodEnd", MOMENT, "line_item_usage_end_date", "exclusive, UTC", "FOCUS"),
    FocusColumn("ChargePeriodStart", MOMENT, "line_item_usage_start_date", "UTC", "FOCUS"),
    FocusColumn("CommitmentDiscountCategory", TEXT, "CASE commitment_kind WHEN 'plan' THEN 'Spend' WHEN 'reservation' THEN 'Usage' END", "a plan commits to money, a reservation to hours", "FOCUS"),
    FocusColumn("CommitmentDiscountId", TEXT, "commitment", "the ARN of the plan, else of the reservation", "FOCUS"),
    FocusColumn("CommitmentDiscountName", TEXT, None, "not in CUR", "AWS"),
    FocusColumn("CommitmentDiscountQuantity", MONEY, "commitment_quantity", "money of a plan, units of a reservation", "FOCUS"),
    FocusColumn("CommitmentDiscountStatus", TEXT, f"CASE WHEN part = 'unused' THEN 'Unused' WHEN {_COMMITTED} THEN 'Used' END", "the unused part of a commitment is a row of its own, since a purchase must have no effective cost", "derived"),
    FocusColumn("CommitmentDiscountType", TEXT, "CASE commitment_kind WHEN 'plan' THEN 'Savings Plan' WHEN 'reservation' THEN 'Reserved Instances' END", "AWS's words", "AWS"),
    FocusColumn("CommitmentDiscountUnit", TEXT, f"CASE commitment_kind WHEN 'plan' THEN {_CURRENCY} WHEN 'reservation' THEN unit END", "as the quantity", "FOCUS"),
    FocusColumn("ConsumedQuantity", MONEY, "CASE WHEN category = 'Usage' AND correction IS NULL AND part = 'charge' THEN quantity END", "what was used; NULL on what is not usage, and on unused commitments", "FOCUS"),
    FocusColumn("ConsumedUnit", TEXT, "CASE WHEN category = 'Usage' AND correction IS NULL AND part = 'charge' THEN unit END", "Hrs, GB-Mo, Minute and 1K tokens as FOCUS writes them, others as AWS does", "derived"),
    FocusColumn("ContractedCost", MONEY, "contracted", "CUR has no such column: the net cost, or on covered usage what it would have cost on demand; 0 on the line of a discount, since a unit price must not be negative, and on usage of no quantity", "derived"),
    FocusColumn("ContractedUnitPrice", RATE, _unit_price("contracted"), "cost by quantity", "derived"),
    FocusColumn("EffectiveCost", MONEY, "effective", "of covered usage its share of the commitment (net where the report has it), of a commitment's purchase 0, of its second row what was not used, else the billed cost", "FOCUS"),
    FocusColumn("InvoiceId", TEXT, _present("bill_invoice_id"), "NULL until the month is invoiced", "FOCUS"),
    FocusColumn("InvoiceIssuerName", TEXT, f"CASE WHEN marketplace = 'yes' THEN {_first(_present('line_item_legal_entity'), _present('bill_invoicing_entity'))} WHEN {_ISSUED_BY_AWS} OR bill_invoicing_entity IS NULL THEN 'AWS' ELSE bill_invoicing_entity END", "AWS, or the seller of a marketplace: the validator takes any other name than the provider's for a third party; the legal entity is in x_InvoicingEntity", "derived"),
    FocusColumn("ListCost", MONEY, "listed", "the public on-demand cost; of what has none its own cost; a discount has none", "FOCUS"),
    FocusColumn("ListUnitPrice", RATE, _unit_price("listed"), "cost by quantity: pricing/publicOnDemandRate shows one tier", "derived"),
    FocusColumn("PricingCategory", TEXT, _where_priced(f"CASE WHEN {_COMMITTED} THEN 'Committed' WHEN category = 'Usage' AND line_item_usage_type LIKE '%SpotUsage%' THEN 'Dynamic' ELSE 'Standard' END"), "committed is what a commitment covers, not its purchase; spot is dynamic", "FOCUS"),
    FocusColumn("PricingCurrency", TEXT, _first(_present("pricing_currency"), _CURRENCY), "", "AWS"),
    FocusColumn("PricingCurrencyContractedUnitPrice", RATE, _unit_price("contracted"), "AWS bills in the currency of its prices", "derived"),
    FocusColumn("PricingCurrencyEffectiveCost", MONEY, "effective", "AWS bills in the currency of its prices", "derived"),
    FocusColumn("PricingCurrencyListUnitPrice", RATE, _unit_price("listed"), "AWS bills in the currency of its prices", "derived"),
    FocusColumn("PricingQuantity", MONEY, _where_priced("quantity"), "the usage amount; of an unused commitment what was not used", "FOCUS"),
    FocusColumn("PricingUnit", TEXT, _where_priced("unit"), "as ConsumedUnit; Units where AWS has none", "derived"),
    FocusColumn("ProviderName", TEXT, "'AWS'", "", "AWS"),
    FocusColumn("PublisherName", TEXT, _first(_present("line_item_legal_entity"), "'AWS'"), "the seller of record", "FOCUS"),
    FocusColumn("RegionId", TEXT, "region", "product/regionCode, which older reports call product/region", "AWS"),
    FocusColumn("RegionName", TEXT, f"CASE WHEN region IS NOT NULL THEN {_first(_present('product_location'), 'region')} END", "", "AWS"),
    FocusColumn("ResourceId", TEXT, _present("line_item_resource_id"), "", "FOCUS"),
    FocusColumn("ResourceName", TEXT, None, "CUR has ids only", "AWS"),
    FocusColumn("ResourceType", TEXT, f"CASE WHEN {_present('line_item_resource_id')} IS NOT NULL THEN {_first(_present('product_product_family'), _SERVICE_CODE)} END", "the product family is the closest", "derived"),
    FocusColumn("ServiceCategory", TEXT, _service(0), "by the product code, from a list in the package", "derived"),
    FocusColumn("ServiceName", TEXT, _first(_present("product_product_name"), _SERVICE_CODE, "'AWS'"), "the name of the product, else its code", "AWS"),
    FocusColumn("ServiceSubcategory", TEXT, _service(1), "by the product code, from a list in the package", "derived"),
    FocusColumn("SkuId", TEXT, _where_priced("sku"), "product/sku; of a line without one its product code and usage type", "derived"),
    FocusColumn("SkuMeter", TEXT, _where_priced(_first(_present("line_item_usage_type"), "line_item_line_item_type")), "the usage type", "AWS"),
    FocusColumn("SkuPriceDetails", TEXT, _where_priced("BILL_JSON(BILL_MAP('InstanceType', NULLIF(product_instance_type, ''), 'InstanceSeries', NULLIF(product_instance_type_family, ''), 'OperatingSystem', NULLIF(product_operating_system, ''), 'StorageClass', NULLIF(product_storage_class, '')))"), "attributes that FOCUS has a key for", "derived"),
    FocusColumn("SkuPriceId", TEXT, _where_priced("CONCAT(sku, '.', COALESCE(rate, 'none'))"), "the SKU and the code of the rate: one price belongs to one SKU", "derived"),
    FocusColumn("SubAccountId", TEXT, "line_item_usage_account_id", "", "AWS"),
    FocusColumn("SubAccountName", TEXT, _first(_present("line_item_usage_account_name"), "line_item_usage_account_id"), "CUR 2.0 has the name; for CUR it is the id, since it must not be NULL", "derived"),
    FocusColumn("SubAccountType", TEXT, "'Member Account'", "AWS's word", "AWS"),
    FocusColumn("Tags", TEXT, "BILL_JSON(tags)", "tags and cost categories as one JSON object under the keys that the report has; those of CUR 2.0 are lower case", "FOCUS"),
)  # fmt: skip
OF_AWS: tuple[FocusColumn, ...] = (
    FocusColumn("x_InvoicingEntity", TEXT, "bill_invoicing_entity", "the legal entity behind InvoiceIssuerName", "AWS"),
    FocusColumn("x_LineItemType", TEXT, "line_item_line_item_type", "what the line is to AWS", "AWS"),
    FocusColumn("x_MarketplaceCost", MONEY, "CASE WHEN marketplace = 'yes' THEN net_cost ELSE 0 END", "what BilledCost leaves out: together they are the invoice", "derived"),
    FocusColumn("x_Operation", TEXT, "line_item_operation", "as in AWS's own export", "AWS"),
    FocusColumn("x_ServiceCode", TEXT, "product_servicecode", "as in AWS's own export", "AWS"),
)  # fmt: skip
ADDED_IN_1_3: tuple[FocusColumn, ...] = (
    FocusColumn("AllocatedMethodDetails", TEXT, None, "not derived", "FOCUS"),
    FocusColumn("AllocatedMethodId", TEXT, None, "not derived", "FOCUS"),
    FocusColumn("AllocatedResourceId", TEXT, None, "not derived", "FOCUS"),
    FocusColumn("AllocatedResourceName", TEXT, None, "not derived", "FOCUS"),
    FocusColumn("AllocatedTags", TEXT, None, "not derived", "FOCUS"),
    FocusColumn("ContractApplied", TEXT, None, "not derived", "FOCUS"),
    FocusColumn("HostProviderName", TEXT, _first(_present("line_item_legal_entity"), "'AWS'"), "PublisherName, which 1.3 deprecates", "FOCUS"),
    FocusColumn("ServiceProviderName", TEXT, "'AWS'", "ProviderName, which 1.3 deprecates", "FOCUS"),
)  # fmt: skip


def focus_columns(version: FocusVersion) -> tuple[FocusColumn, ...]:
    """FOCUS's columns of a version in the order of their names, then those of AWS."""
    added = ADDED_IN_1_3 if version == "1.3" else ()
    return (*sorted((*FOCUS_1_2, *added), key=lambda column: column.name), *OF_AWS)


def focus_projection(version: FocusVersion) -> Projection:
    """The last step: FOCUS's columns and ours."""
    ours = (OutputColumn(name, TEXT, name, ("bill",)) for name in RESERVED_COLUMNS)
    return Projection((*(column.output for column in focus_columns(version)), *ours))
