"""What closes a month: fees of commitments, discounts and tax, which follow from the lines before them.

Each line is one kind, with one row. Its amounts are exact sums of what was delivered, so that a bill adds up as a real
one does: what plans and reservations cost is what was used of them and what was not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakebed.samples.charges import ACCOUNTS, SKUS, UNIT, Account, Charge, Measure, other_charge

# Amounts that are not sums are in cents, as invoices are.
CENT = UNIT // 100
TAX_PERCENT, BUNDLED_PERCENT = 19, 5
_LAMBDA = next(sku for sku in SKUS if sku.service == "AWSLambda")


@dataclass(frozen=True)
class Closing:
    """A line that closes a month: its kind, and the lines whose amounts it follows from, by their indexes."""

    charge: Charge
    of: tuple[int, ...]


def closings(charges: Sequence[Charge], period: str, *, first_month: bool) -> tuple[Closing, ...]:
    """The lines that close a month of these charges; what is paid upfront is paid in the first."""
    made: list[Closing] = []
    for account in ACCOUNTS:
        own = [index for index, charge in enumerate(charges) if charge.account == account.id]
        for index in own:
            charge = charges[index]
            if charge.role == "covered":
                made += _plan_fees(account, charge, index, period, upfront=account.team != "web", first=first_month)
            if charge.role == "reserved":
                made += _reservation_fees(account, charge, index, period, first=first_month)
        discounted = tuple(index for index in own if charges[index].discounted)
        if discounted:
            made.append(Closing(_closing(account, 0, "EdpDiscount", period, net=False), discounted))
        lambdas = tuple(index for index in own if charges[index].values["lineItem/ProductCode"] == _LAMBDA.service)
        made.append(Closing(_closing(account, SKUS.index(_LAMBDA), "BundledDiscount", period), lambdas))
        made.append(Closing(_closing(account, 6, "Tax", period), tuple(own)))
    return tuple(made)


def closing_amounts(closing: Closing, counted: Mapping[Measure, int]) -> dict[Measure, int]:
    """The amounts of a closing line, from the sums of the lines that it follows from."""
    values = closing.charge.values
    match closing.charge.kind:
        case "EdpDiscount":
            return {"cost": counted["discount"], "net": 0}
        case "BundledDiscount":
            taken = -_cents(counted["cost"] * BUNDLED_PERCENT // 100)
            return {"cost": taken, "net": taken}
        case "Tax":
            tax = _cents(max(0, counted["net"]) * TAX_PERCENT // 100)
            return {"cost": tax, "net": tax}
        case "SavingsPlanRecurringFee" | "SavingsPlanUpfrontFee":
            used = counted["effective"]
            # A commitment is a round sum, and never quite used up.
            total = (used // UNIT + 1) * UNIT
            prepaid = total // 2 if values["savingsPlan/PaymentOption"] == "Partial Upfront" else 0
            cost = prepaid * 12 if closing.charge.kind == "SavingsPlanUpfrontFee" else total - prepaid
            recurring = total - prepaid
            return {
                "cost": cost,
                "net": cost,
                "total": total,
                "effective": used,
                "upfront": prepaid,
                "recurring": recurring,
            }
        case _:
            unused = _cents(counted["recurring"] // 8) + CENT
            unused_upfront = _cents(counted["upfront"] // 8) + CENT
            recurring, upfront = counted["recurring"] + unused, counted["upfront"] + unused_upfront
            cost = recurring if closing.charge.kind == "RIFee" else upfront * 12
            return {
                "cost": cost,
                "net": cost,
                "unused": unused,
                "unused_upfront": unused_upfront,
                "total_upfront": upfront,
            }


def _cents(amount: int) -> int:
    return amount // CENT * CENT


def _closing(
    account: Account, sku: int, kind: str, period: str, *, net: bool = True, more: Mapping[str, str] | None = None
) -> Charge:
    charge = other_charge(account, SKUS[sku], kind, 1, weight=0, period=period, more=more)
    # Without `net` the net costs of other lines hold it already.
    values = charge.values if net else {**charge.values, "lineItem/NetUnblendedCost": "0.0"}
    hidden = () if net else ("lineItem/NetUnblendedCost",)
    measured = {name: measure for name, measure in charge.measured.items() if name not in hidden}
    return replace(charge, values=values, measured=measured, role="closing")


def _plan_fees(
    account: Account, covered: Charge, index: int, period: str, *, upfront: bool, first: bool
) -> list[Closing]:
    more = {
        "savingsPlan/SavingsPlanARN": covered.values["savingsPlan/SavingsPlanARN"],
        "savingsPlan/OfferingType": covered.values["savingsPlan/OfferingType"],
        "savingsPlan/PaymentOption": "Partial Upfront" if upfront else "No Upfront",
        "savingsPlan/PurchaseTerm": "1yr",
        "savingsPlan/StartTime": "2026-01-01T00:00:00.000Z",
        "savingsPlan/EndTime": "2026-12-31T23:59:59.000Z",
        "lineItem/UsageType": "ComputeSP:1yrNoUpfront" if not upfront else "ComputeSP:1yrPartialUpfront",
        "product/ProductName": "Savings Plans for AWS Compute usage",
        "lineItem/ProductCode": "ComputeSavingsPlans",
        "product/servicecode": "ComputeSavingsPlans",
    }
    shown: dict[str, Measure] = {
        "savingsPlan/TotalCommitmentToDate": "total",
        "savingsPlan/UsedCommitment": "effective",
        "savingsPlan/AmortizedUpfrontCommitmentForBillingPeriod": "upfront",
        "savingsPlan/RecurringCommitmentForBillingPeriod": "recurring",
    }
    fee = _closing(account, 1, "SavingsPlanRecurringFee", period, more=more)
    fees = [Closing(replace(fee, measured={**fee.measured, **shown}), (index,))]
    if upfront and first:
        fees.append(Closing(_closing(account, 1, "SavingsPlanUpfrontFee", period, more=more), (index,)))
    return fees


def _reservation_fees(account: Account, reserved: Charge, index: int, period: str, *, first: bool) -> list[Closing]:
    more = {
        "reservation/ReservationARN": reserved.values["reservation/ReservationARN"],
        "reservation/SubscriptionId": f"90{index:06d}",
        "reservation/NumberOfReservations": "1",
        "reservation/StartTime": "2026-01-01T00:00:00.000Z",
        "reservation/EndTime": "2026-12-31T23:59:59.000Z",
        "reservation/ModificationStatus": "Original",
        "pricing/term": "Reserved",
        "pricing/PurchaseOption": "Partial Upfront",
        "pricing/LeaseContractLength": "1yr",
        "pricing/OfferingClass": "standard",
        "lineItem/UsageType": reserved.values["lineItem/UsageType"].replace("BoxUsage", "HeavyUsage"),
        "lineItem/Operation": reserved.values["lineItem/Operation"],
        "product/region": reserved.values["product/region"],
        "product/regionCode": reserved.values["product/regionCode"],
        "product/instanceType": reserved.values["product/instanceType"],
    }
    shown: dict[str, Measure] = {
        "reservation/UnusedRecurringFee": "unused",
        "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod": "unused_upfront",
        "reservation/AmortizedUpfrontFeeForBillingPeriod": "total_upfront",
    }
    fee = _closing(account, 0, "RIFee", period, more=more)
    fees = [Closing(replace(fee, measured={**fee.measured, **shown}), (index,))]
    if first:
        fees.append(Closing(_closing(account, 0, "Fee", period, more=more), (index,)))
    return fees
