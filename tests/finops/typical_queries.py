"""Ten questions that a bill is asked, in the SQL of Athena, each beside the same in plain Python over the CSV files."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

Line = Mapping[str, str]
COVERED = ("DiscountedUsage", "SavingsPlanCoveredUsage")


@dataclass(frozen=True)
class TypicalQuery:
    name: str
    sql: str
    expected: Callable[[list[Line]], list[tuple[object, ...]]]


def amount(line: Line, column: str) -> Decimal:
    return Decimal(line.get(column) or 0)


def totals(
    lines: Iterable[Line], key: Callable[[Line], tuple[object, ...]], value: Callable[[Line], Decimal]
) -> list[tuple[object, ...]]:
    sums: dict[tuple[object, ...], Decimal] = defaultdict(Decimal)
    for line in lines:
        sums[key(line)] += value(line)
    return [(*group, total) for group, total in sums.items()]


def cost(line: Line) -> Decimal:
    return amount(line, "lineItem/UnblendedCost")


def text(line: Line, column: str) -> str | None:
    return line.get(column) or None


def amortized(line: Line) -> Decimal:
    match line["lineItem/LineItemType"]:
        case "SavingsPlanCoveredUsage":
            return amount(line, "savingsPlan/SavingsPlanEffectiveCost")
        case "SavingsPlanRecurringFee":
            return amount(line, "savingsPlan/TotalCommitmentToDate") - amount(line, "savingsPlan/UsedCommitment")
        case "DiscountedUsage":
            return amount(line, "reservation/EffectiveCost")
        case "RIFee":
            return amount(line, "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod") + amount(
                line, "reservation/UnusedRecurringFee"
            )
        case "SavingsPlanNegation" | "SavingsPlanUpfrontFee":
            return Decimal(0)
        case "Fee" if line.get("reservation/ReservationARN"):
            return Decimal(0)
    return cost(line)


AMORTIZED = """CASE line_item_line_item_type
    WHEN 'SavingsPlanCoveredUsage' THEN savings_plan_savings_plan_effective_cost
    WHEN 'SavingsPlanRecurringFee' THEN savings_plan_total_commitment_to_date - savings_plan_used_commitment
    WHEN 'SavingsPlanNegation' THEN 0
    WHEN 'SavingsPlanUpfrontFee' THEN 0
    WHEN 'DiscountedUsage' THEN reservation_effective_cost
    WHEN 'RIFee' THEN reservation_unused_amortized_upfront_fee_for_billing_period + reservation_unused_recurring_fee
    ELSE CASE WHEN line_item_line_item_type = 'Fee' AND reservation_reservation_a_r_n <> '' THEN 0
         ELSE line_item_unblended_cost END
  END"""
TYPICAL_QUERIES = (
    TypicalQuery(
        "cost by service",
        "SELECT product_product_name, SUM(line_item_unblended_cost) FROM {table}"
        " WHERE year = '2026' AND month = '9' GROUP BY 1",
        lambda lines: totals(
            (line for line in lines if line["month"] == "9"), lambda line: (text(line, "product/ProductName"),), cost
        ),
    ),
    TypicalQuery(
        "cost by account and month",
        "SELECT CONCAT(year, '-', LPAD(month, 2, '0')), line_item_usage_account_id, SUM(line_item_unblended_cost)"
        " FROM {table} GROUP BY 1, 2",
        lambda lines: totals(
            lines, lambda line: (f"2026-{int(line['month']):02d}", line["lineItem/UsageAccountId"]), cost
        ),
    ),
    TypicalQuery(
        "amortized cost by charge type",
        f"SELECT line_item_line_item_type, SUM({AMORTIZED}) FROM {{table}} GROUP BY 1",
        lambda lines: totals(lines, lambda line: (line["lineItem/LineItemType"],), amortized),
    ),
    TypicalQuery(
        "hours of instances that reservations cover",
        "SELECT CASE WHEN reservation_reservation_a_r_n <> '' THEN 'reserved' ELSE pricing_term END,"
        " SUM(line_item_usage_amount) FROM {table} WHERE line_item_product_code = 'AmazonEC2'"
        " AND line_item_usage_type LIKE '%BoxUsage%' AND line_item_line_item_type IN ('Usage', 'DiscountedUsage',"
        " 'SavingsPlanCoveredUsage') GROUP BY 1",
        lambda lines: totals(
            (
                line
                for line in lines
                if line["lineItem/ProductCode"] == "AmazonEC2"
                and "BoxUsage" in line["lineItem/UsageType"]
                and line["lineItem/LineItemType"] in ("Usage", *COVERED)
            ),
            lambda line: ("reserved" if line["reservation/ReservationARN"] else text(line, "pricing/term"),),
            lambda line: amount(line, "lineItem/UsageAmount"),
        ),
    ),
    TypicalQuery(
        "on-demand cost that savings plans cover",
        "SELECT savings_plan_savings_plan_a_r_n, SUM(pricing_public_on_demand_cost),"
        " SUM(savings_plan_savings_plan_effective_cost)"
        " FROM {table} WHERE line_item_line_item_type = 'SavingsPlanCoveredUsage' GROUP BY 1",
        lambda lines: [
            (arn, listed, effective)
            for (arn, listed), (_, effective) in zip(
                *(
                    totals(
                        (line for line in lines if line["lineItem/LineItemType"] == "SavingsPlanCoveredUsage"),
                        lambda line: (text(line, "savingsPlan/SavingsPlanARN"),),
                        lambda line, column=column: amount(line, column),  # type: ignore[misc]
                    )
                    for column in ("pricing/publicOnDemandCost", "savingsPlan/SavingsPlanEffectiveCost")
                ),
                strict=True,
            )
        ],
    ),
    TypicalQuery(
        "spend without an owner",
        "SELECT line_item_product_code, SUM(line_item_unblended_cost) FROM {table}"
        " WHERE COALESCE(resource_tags_user_owner, '') = '' AND line_item_line_item_type = 'Usage' GROUP BY 1",
        lambda lines: totals(
            (
                line
                for line in lines
                if not line["resourceTags/user:owner"] and line["lineItem/LineItemType"] == "Usage"
            ),
            lambda line: (line["lineItem/ProductCode"],),
            cost,
        ),
    ),
    TypicalQuery(
        "data transfer by region",
        "SELECT product_region, line_item_usage_type, SUM(line_item_usage_amount) FROM {table}"
        " WHERE product_product_family = 'Data Transfer'"
        " AND line_item_line_item_type IN ('DiscountedUsage', 'Usage', 'SavingsPlanCoveredUsage') GROUP BY 1, 2",
        lambda lines: totals(
            (
                line
                for line in lines
                if line["product/productFamily"] == "Data Transfer"
                and line["lineItem/LineItemType"] in ("Usage", *COVERED)
            ),
            lambda line: (text(line, "product/regionCode"), line["lineItem/UsageType"]),
            lambda line: amount(line, "lineItem/UsageAmount"),
        ),
    ),
    TypicalQuery(
        "the ten most expensive resources",
        "SELECT line_item_resource_id, SUM(line_item_unblended_cost) AS cost FROM {table}"
        " WHERE line_item_resource_id <> '' AND line_item_line_item_type = 'Usage'"
        " GROUP BY 1 ORDER BY cost DESC, 1 LIMIT 10",
        lambda lines: sorted(
            totals(
                (line for line in lines if line["lineItem/ResourceId"] and line["lineItem/LineItemType"] == "Usage"),
                lambda line: (line["lineItem/ResourceId"],),
                cost,
            ),
            key=lambda row: (-Decimal(str(row[1])), str(row[0])),
        )[:10],
    ),
    TypicalQuery(
        "credits, refunds and tax by day",
        "SELECT DATE_FORMAT(line_item_usage_start_date, '%Y-%m-%d'), line_item_line_item_type,"
        " SUM(line_item_unblended_cost) FROM {table}"
        " WHERE line_item_line_item_type IN ('Credit', 'Refund', 'Tax') GROUP BY 1, 2",
        lambda lines: totals(
            (line for line in lines if line["lineItem/LineItemType"] in ("Credit", "Refund", "Tax")),
            lambda line: (line["lineItem/UsageStartDate"][:10], line["lineItem/LineItemType"]),
            cost,
        ),
    ),
    TypicalQuery(
        "the bill by invoice",
        "SELECT bill_invoice_id, line_item_currency_code, SUM(line_item_unblended_cost) FROM {table}"
        " WHERE bill_payer_account_id = '000123456789' GROUP BY 1, 2",
        lambda lines: totals(lines, lambda line: (text(line, "bill/InvoiceId"), line["lineItem/CurrencyCode"]), cost),
    ),
)
