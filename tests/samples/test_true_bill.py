"""A sample is a true bill: what hangs together in a real one adds up to the last digit, and truth.json says so."""

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from lakebed.samples import DeliveryTruth, SampleSpec, SampleTruth, make_sample
from lakebed.samples.columns import athena_name
from lakebed.source.billing_dictionary import CUR2_COLUMNS

SPEC = SampleSpec(months=2, rows=1_400, files=2)
COMMITMENTS = {"SavingsPlanCoveredUsage", "SavingsPlanNegation", "SavingsPlanRecurringFee", "DiscountedUsage", "RIFee"}
UPFRONT = {"SavingsPlanUpfrontFee", "Fee"}
EVERY_TYPE = COMMITMENTS | UPFRONT | {"Usage", "Credit", "Refund", "Tax", "EdpDiscount", "BundledDiscount"}
Line = Mapping[str, str]


def lines_of(truth: SampleTruth, delivery: DeliveryTruth) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for file in delivery.files:
        text = gzip.decompress((truth.folder / file).read_bytes()).decode()
        found += csv.DictReader(io.StringIO(text, newline=""))
    return found


def total(lines: list[dict[str, str]], column: str, **where: str) -> Decimal:
    kind, arn = where.get("kind"), where.get("arn")
    return sum(
        (
            Decimal(line[column] or 0)
            for line in lines
            if kind in (None, line["lineItem/LineItemType"])
            and arn in (None, line["savingsPlan/SavingsPlanARN"], line["reservation/ReservationARN"])
        ),
        Decimal(0),
    )


@pytest.mark.parametrize("seed", range(1, 21))
def test_the_identities_hold(seed: int, tmp_path: Path) -> None:
    truth = make_sample(tmp_path, seed=seed, spec=SPEC)
    stored = json.loads((tmp_path / "truth.json").read_text())["deliveries"]
    kinds: set[str] = set()
    for delivery, written in zip(truth.deliveries, stored, strict=True):
        lines = lines_of(truth, delivery)
        assert written["bill"] == delivery.bill.to_dict()
        kinds |= require_types(delivery, lines)
        require_plans(delivery, lines)
        require_reservations(delivery, lines)
        require_invoices(delivery, lines)
        require_split_costs(lines)
    assert kinds == EVERY_TYPE


def require_types(delivery: DeliveryTruth, lines: list[dict[str, str]]) -> set[str]:
    found = {line["lineItem/LineItemType"] for line in lines}
    assert {
        kind: (
            sum(line["lineItem/LineItemType"] == kind for line in lines),
            total(lines, "lineItem/UnblendedCost", kind=kind),
        )
        for kind in found
    } == delivery.bill.line_item_types
    negative = ("Credit", "Refund", "EdpDiscount", "BundledDiscount", "SavingsPlanNegation")
    for line in lines:
        cost = Decimal(line["lineItem/UnblendedCost"])
        assert cost <= 0 if line["lineItem/LineItemType"] in negative else cost >= 0
    return found


def require_plans(delivery: DeliveryTruth, lines: list[dict[str, str]]) -> None:
    cost = "lineItem/UnblendedCost"
    covered, negated = (total(lines, cost, kind=kind) for kind in ("SavingsPlanCoveredUsage", "SavingsPlanNegation"))
    assert covered == -negated
    pairs: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for line in lines:
        if line["lineItem/LineItemType"] in ("SavingsPlanCoveredUsage", "SavingsPlanNegation"):
            hour = (line["lineItem/UsageAccountId"], line["lineItem/UsageType"], line["identity/TimeInterval"])
            pairs[hour] += Decimal(line[cost])
    assert set(pairs.values()) <= {Decimal(0)}
    assert len(delivery.bill.savings_plans) == 6
    for arn, sums in delivery.bill.savings_plans.items():
        [fee] = [
            line
            for line in lines
            if line["savingsPlan/SavingsPlanARN"] == arn and line["lineItem/LineItemType"] == "SavingsPlanRecurringFee"
        ]
        commitment, used = (Decimal(fee[f"savingsPlan/{name}"]) for name in ("TotalCommitmentToDate", "UsedCommitment"))
        assert used == total(lines, "savingsPlan/SavingsPlanEffectiveCost", arn=arn, kind="SavingsPlanCoveredUsage")
        assert (sums["commitment"], sums["used"], sums["unused"]) == (commitment, used, commitment - used)
        assert commitment - used > 0
        prepaid = Decimal(fee["savingsPlan/AmortizedUpfrontCommitmentForBillingPeriod"])
        assert Decimal(fee[cost]) == Decimal(fee["savingsPlan/RecurringCommitmentForBillingPeriod"])
        assert Decimal(fee[cost]) + prepaid == commitment


def require_reservations(delivery: DeliveryTruth, lines: list[dict[str, str]]) -> None:
    assert len(delivery.bill.reservations) == 6
    for arn in delivery.bill.reservations:
        [fee] = [
            line
            for line in lines
            if line["reservation/ReservationARN"] == arn and line["lineItem/LineItemType"] == "RIFee"
        ]
        used, recurring, upfront = (
            total(lines, f"reservation/{name}", arn=arn, kind="DiscountedUsage")
            for name in ("EffectiveCost", "RecurringFeeForUsage", "AmortizedUpfrontCostForUsage")
        )
        assert used == recurring + upfront
        assert Decimal(fee["lineItem/UnblendedCost"]) == recurring + Decimal(fee["reservation/UnusedRecurringFee"])
        assert Decimal(fee["reservation/AmortizedUpfrontFeeForBillingPeriod"]) == upfront + Decimal(
            fee["reservation/UnusedAmortizedUpfrontFeeForBillingPeriod"]
        )


def require_invoices(delivery: DeliveryTruth, lines: list[dict[str, str]]) -> None:
    unblended: dict[str, Decimal] = defaultdict(Decimal)
    net: dict[str, Decimal] = defaultdict(Decimal)
    issuers: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        invoice = line["bill/InvoiceId"]
        unblended[invoice] += Decimal(line["lineItem/UnblendedCost"])
        net[invoice] += Decimal(line["lineItem/NetUnblendedCost"])
        issuers[invoice].add(f"{line['bill/BillingEntity']}, {line['bill/InvoicingEntity']}")
        if line["discount/TotalDiscount"]:
            assert Decimal(line["lineItem/NetUnblendedCost"]) == Decimal(line["lineItem/UnblendedCost"]) + Decimal(
                line["discount/TotalDiscount"]
            )
    assert unblended == net == delivery.bill.invoices
    assert all(len(names) == 1 for names in issuers.values())
    assert len(issuers) >= 3


def require_split_costs(lines: list[dict[str, str]]) -> None:
    parents: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for line in lines:
        if parent := line["splitLineItem/ParentResourceId"]:
            assert Decimal(line["lineItem/UnblendedCost"]) == 0
            shared = Decimal(line["splitLineItem/SplitCost"]) + Decimal(line["splitLineItem/UnusedCost"])
            parents[parent, line["identity/TimeInterval"]].append(shared)
    assert parents
    for (parent, hour), shares in parents.items():
        own = [
            Decimal(line["lineItem/UnblendedCost"])
            for line in lines
            if line["lineItem/ResourceId"] == parent and line["identity/TimeInterval"] == hour
        ]
        assert sum(own) == sum(shares)


def test_cur_and_cur2_agree_row_for_row(tmp_path: Path) -> None:
    cur = make_sample(tmp_path / "cur", spec=SPEC)
    cur2 = make_sample(tmp_path / "cur2", spec=SampleSpec(months=2, rows=1_400, files=2, kind="cur2"))
    for one, other in zip(cur.deliveries, cur2.deliveries, strict=True):
        assert other.columns == CUR2_COLUMNS
        assert one.bill == other.bill
        for ours, theirs in zip(lines_of(cur, one), lines_of(cur2, other), strict=True):
            maps = {
                name: json.loads(theirs[name]) for name in ("product", "resource_tags", "cost_category", "discount")
            }
            for original, value in ours.items():
                name = athena_name(original)
                category, _, rest = original.partition("/")
                if name in theirs:
                    assert theirs[name] == value, original
                elif category == "product" and value:
                    assert maps["product"][athena_name(rest)] == value, original
                elif category == "discount" and value:
                    assert maps["discount"][athena_name(rest)] == float(value), original
                elif category == "resourceTags" and value:
                    assert athena_name(rest) in maps["resource_tags"]


def test_a_small_sample_has_nothing_that_hangs_together(tmp_path: Path) -> None:
    [delivery] = make_sample(tmp_path, spec=SampleSpec(months=1, rows=40, restate=False)).deliveries
    assert set(delivery.bill.line_item_types) <= {"Usage", "Fee", "Credit", "Refund"}
    assert delivery.bill.savings_plans == delivery.bill.reservations == {}
