"""What is charged: accounts, services, regions and prices, and from them the kinds of line that a report repeats.

Amounts are integers in units of 1e-11, the finest that real reports show, so that every sum is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias, get_args

SCALE = 11
UNIT: int = 10**SCALE

Amount: TypeAlias = Literal["hours", "volume", "requests", "once"]
# What a line measures; each decimal column of a line shows one of these or a constant.
Measure: TypeAlias = Literal[
    "usage", "normalized", "cost", "list_cost", "effective", "net", "discount", "recurring", "upfront", "split",
    "unused", "unused_upfront", "total", "total_upfront",
]  # fmt: skip
MEASURES: tuple[Measure, ...] = get_args(Measure)
# How lines hang together: a covered line and its negation, a resource and those that share it, and what closes a month.
Role: TypeAlias = Literal["plain", "covered", "negation", "reserved", "parent", "child", "closing"]
# An enterprise discount of so many hundredths, on what is used in dollars, in steps of a millionth.
EDP, EDP_STEP = 9, 10**5


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    name: str
    currency: str
    legal_entity: str
    team: str


@dataclass(frozen=True, slots=True)
class Sku:
    service: str
    product: str
    family: str
    usage_type: str
    operation: str
    unit: str
    price: int
    amount: Amount
    weight: int
    instance: str = ""
    factor: int = 0
    group: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Charge:
    """One kind of line: everything in it but amounts, times, resource and tags. `measured` says which columns vary."""

    values: Mapping[str, str]
    measured: Mapping[str, Measure]
    currency: str
    price: int
    factor: int
    sign: int
    amount: Amount
    resource: str
    weight: int
    account: str
    role: Role = "plain"
    discounted: bool = False  # the enterprise discount applies

    @property
    def kind(self) -> str:
        return self.values["lineItem/LineItemType"]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is counted of such a line, each once."""
        return tuple(measure for measure in MEASURES if measure in self.measured.values())


ACCOUNTS: tuple[Account, ...] = (
    Account("000123456789", "payer", "USD", "Amazon Web Services, Inc.", "platform"),
    Account("012345678901", "web-prod", "USD", "Amazon Web Services, Inc.", "web"),
    Account("210987654321", "web-staging", "USD", "Amazon Web Services, Inc.", "web"),
    Account("345678901234", "data-prod", "USD", "Amazon Web Services, Inc.", "data"),
    Account("456789012345", "ml-research", "USD", "Amazon Web Services, Inc.", "research"),
    Account("007007007007", "eu-sovereign", "EUR", "Amazon Web Services EMEA SARL", "europe"),
)
REGIONS: tuple[tuple[str, str, str], ...] = (
    ("us-east-1", "US East (N. Virginia)", ""),
    ("us-west-2", "US West (Oregon)", "USW2-"),
    ("eu-central-1", "EU (Frankfurt)", "EUC1-"),
    ("ap-southeast-2", "Asia Pacific (Sydney)", "APS2-"),
)


def _price(text: str) -> int:
    whole, _, part = text.partition(".")
    return int(whole) * UNIT + int(part.ljust(SCALE, "0"))


_EC2, _S3, _RDS = "Amazon Elastic Compute Cloud", "Amazon Simple Storage Service", "Amazon Relational Database Service"
SKUS: tuple[Sku, ...] = (
    Sku("AmazonEC2", _EC2, "Compute Instance", "BoxUsage:m6i.xlarge", "RunInstances", "Hrs", _price("0.192"), "hours",
        22, "m6i.xlarge", 8, "EC2-Instance", "i-0"),
    Sku("AmazonEC2", _EC2, "Compute Instance", "BoxUsage:c7g.2xlarge", "RunInstances", "Hrs", _price("0.29"), "hours",
        14, "c7g.2xlarge", 16, "EC2-Instance", "i-0"),
    Sku("AmazonEC2", _EC2, "Compute Instance", "BoxUsage:g5.2xlarge", "RunInstances", "Hrs", _price("1.212"),
        "hours", 5, "g5.2xlarge", 16, "EC2-Instance", "i-0"),
    Sku("AmazonEC2", _EC2, "Storage", "EBS:VolumeUsage.gp3", "CreateVolume-Gp3", "GB-Mo", _price("0.08"), "volume", 18,
        group="EBS Storage", resource="vol-0"),
    Sku("AmazonEC2", _EC2, "NAT Gateway", "NatGateway-Bytes", "NatGateway", "GB", _price("0.045"), "volume", 9,
        group="NGW:NatGateway", resource="arn:aws:ec2:natgateway/nat-0"),
    Sku("AWSDataTransfer", "AWS Data Transfer", "Data Transfer", "DataTransfer-Out-Bytes", "RunInstances", "GB",
        _price("0.09"), "volume", 12, resource="i-0"),
    Sku("AmazonS3", _S3, "Storage", "TimedStorage-ByteHrs", "StandardStorage", "GB-Mo", _price("0.023"), "volume", 14,
        group="S3 Standard, frequent access", resource="bucket-"),
    Sku("AmazonS3", _S3, "API Request", "Requests-Tier1", "PutObject", "Requests", _price("0.000005"), "requests", 12,
        group="S3-API-Tier1", resource="bucket-"),
    Sku("AmazonS3", _S3, "API Request", "Requests-Tier2", "GetObject", "Requests", _price("0.0000004"), "requests", 12,
        group="S3-API-Tier2", resource="bucket-"),
    Sku("AmazonRDS", _RDS, "Database Instance", "InstanceUsage:db.r6g.2xlarge", "CreateDBInstance:0014", "Hrs",
        _price("0.899"), "hours", 10, "db.r6g.2xlarge", 16, resource="arn:aws:rds:db:db-"),
    Sku("AmazonRDS", _RDS, "Database Storage", "RDS:GP3-Storage", "CreateDBInstance:0014", "GB-Mo", _price("0.115"),
        "volume", 6, resource="arn:aws:rds:db:db-"),
    Sku("AWSLambda", "AWS Lambda", "Serverless", "Lambda-GB-Minute", "Invoke", "Minute", _price("0.0006666667"),
        "requests", 14, group="AWS-Lambda-Duration", resource="arn:aws:lambda:function:fn-"),
    Sku("AmazonDynamoDB", "Amazon DynamoDB", "Amazon DynamoDB PayPerRequest Throughput", "WriteRequestUnits",
        "PayPerRequestThroughput", "WriteRequestUnits", _price("0.00000125"), "requests", 8, group="DDB-WriteUnits",
        resource="arn:aws:dynamodb:table/t-"),
    Sku("AmazonCloudWatch", "AmazonCloudWatch", "Metric", "CW:MetricMonitorUsage", "MetricStorage", "Metrics",
        _price("0.02"), "volume", 7, group="Metric"),
    Sku("AmazonBedrock", "Amazon Bedrock", "Amazon Bedrock", "InputTokenCount", "InvokeModel", "1K tokens",
        _price("0.00025"), "requests", 6, resource="arn:aws:bedrock:model/m-"),
    Sku("AWSQueueService", "Amazon Simple Queue Service", "API Request", "Requests-RBP", "Send", "Requests",
        _price("0.0000004"), "requests", 6, group="SQS-APIRequest-Tier1", resource="arn:aws:sqs:queue-"),
)  # fmt: skip
SUPPORT = Sku("AWSSupportBusiness", "AWS Support (Business)", "", "Dollar", "", "Dollar", _price("1"), "once", 1)


MARKETPLACE = Sku("a1b2c3sellerproduct", "Observability Suite", "", "MP:Hosts", "Metered", "Units", _price("0.35"),
                  "volume", 3, resource="arn:aws:marketplace:contract/agmt-")  # fmt: skip
TASK = Sku("AmazonECS", "Amazon Elastic Container Service", "Compute", "ECS-EC2-vCPU-Hours", "ECSTask-EC2",
           "vCPU-Hours", _price("0"), "hours", 1, resource="arn:aws:ecs:task/cluster/")  # fmt: skip
SELLER = "Observability Inc."


def charges(rng: Random, *, credits: str, period: str, whole: bool) -> tuple[Charge, ...]:
    """Every kind of line of one delivery, but for those that close the month.

    `credits` is what those of a first delivery are multiplied by. Without `whole` nothing hangs together with other
    lines: there is no room for what closes a month.
    """
    lines: list[Charge] = []
    for account in ACCOUNTS:
        homes = REGIONS[2:3] if account.currency == "EUR" else REGIONS
        for sku in SKUS:
            region = homes[rng.randrange(len(homes))]
            lines.append(_usage(account, sku, region, "Usage", rng, period))
        compute = SKUS[rng.randrange(2)]
        reserved = _usage(account, compute, homes[0], "DiscountedUsage", rng, period)
        covered = _usage(account, SKUS[1], homes[0], "SavingsPlanCoveredUsage", rng, period)
        parent = _usage(account, SKUS[0], homes[0], "Usage", rng, period)
        task = _usage(account, TASK, homes[0], "Usage", rng, period)
        if whole:
            # A line that goes with the one before it is never drawn by itself.
            lines += (reserved, covered, _negation(covered), _parent(parent), _task(task))
        lines.append(_marketplace(account, rng, period))
        lines.append(other_charge(account, SUPPORT, "Fee", 1, weight=1, period=period))
        lines.append(other_charge(account, SKUS[0], "Credit", -1, weight=2, period=period, times=credits))
        lines.append(other_charge(account, SKUS[9], "Refund", -1, weight=1, period=period))
    return tuple(lines)


def _negation(covered: Charge) -> Charge:
    """What takes the cost of covered usage back: the plan has paid for it."""
    values = {**covered.values, "lineItem/LineItemType": "SavingsPlanNegation"}
    values["lineItem/LineItemDescription"] = f"SavingsPlanNegation used by {values['lineItem/UsageAccountId']}"
    for name in ("lineItem/ResourceId", "pricing/publicOnDemandRate"):
        values.pop(name, None)
    measured = {name: measure for name, measure in covered.measured.items() if measure in ("usage", "cost", "net")}
    return replace(covered, values=values, measured=measured, sign=-1, weight=0, role="negation", resource="")


def _parent(usage: Charge) -> Charge:
    """An instance whose cost is split between the tasks on it."""
    return replace(usage, role="parent", weight=2)


def _task(usage: Charge) -> Charge:
    values = {**usage.values, "lineItem/UnblendedRate": "0.0", "lineItem/UnblendedCost": "0.0"}
    values |= {"lineItem/BlendedCost": "0.0", "lineItem/NetUnblendedCost": "0.0", "pricing/publicOnDemandCost": "0.0"}
    measured: dict[str, Measure] = {
        "lineItem/UsageAmount": "usage",
        "splitLineItem/SplitUsage": "usage",
        "splitLineItem/ReservedUsage": "usage",
        "splitLineItem/SplitCost": "split",
        "splitLineItem/UnusedCost": "unused",
    }
    return replace(usage, values=values, measured=measured, role="child", weight=0, discounted=False)


def _marketplace(account: Account, rng: Random, period: str) -> Charge:
    sold = _usage(account, MARKETPLACE, REGIONS[0], "Usage", rng, period)
    values = {
        **sold.values,
        "bill/BillingEntity": "AWS Marketplace",
        "lineItem/LegalEntity": SELLER,
        "bill/InvoiceId": invoice(account, period, number=7),
    }
    measured = {name: measure for name, measure in sold.measured.items() if measure != "discount"}
    return replace(sold, values=values, measured=measured, weight=2, discounted=False)


def _usage(account: Account, sku: Sku, region: tuple[str, str, str], kind: str, rng: Random, period: str) -> Charge:
    code, location, prefix = region
    sku_id = "".join(rng.choices("ABCDEFGHJKMNPQRSTUVWXYZ23456789", k=16))
    rate = decimal_text(sku.price)
    description = f"${rate} per {sku.unit} for {sku.usage_type} in {location}"
    if sku.service == "AmazonS3":
        # Marketplace and S3 descriptions do come with line breaks, quotes and commas.
        description = f'${rate} per {sku.unit} - first 50 TB / month,\nthen "tiered" ({location})'
    values = {
        **bill(account, period),
        "lineItem/LineItemType": kind,
        "lineItem/ProductCode": sku.service,
        "lineItem/UsageType": prefix + sku.usage_type,
        "lineItem/Operation": sku.operation,
        "lineItem/AvailabilityZone": f"{code}{'abc'[rng.randrange(3)]}" if sku.factor else "",
        "lineItem/NormalizationFactor": f"{sku.factor}.0" if sku.factor else "",
        "lineItem/UnblendedRate": rate,
        "lineItem/BlendedRate": rate,
        "lineItem/LineItemDescription": description,
        "product/ProductName": sku.product,
        "product/group": sku.group,
        "product/groupDescription": f"{sku.group}: see price list, section {sku.weight}" if sku.group else "",
        "product/instanceType": sku.instance,
        "product/instanceTypeFamily": sku.instance.partition(".")[0],
        "product/location": location,
        "product/locationType": "AWS Region",
        "product/productFamily": sku.family,
        "product/region": code,
        "product/regionCode": code,
        "product/servicecode": sku.service,
        "product/servicename": sku.product,
        "product/sku": sku_id,
        "product/usagetype": prefix + sku.usage_type,
        "product/operation": sku.operation,
        "product/vcpu": "4" if sku.instance else "",
        "product/memory": "16 GiB" if sku.instance else "",
        "product/operatingSystem": "Linux" if sku.instance else "",
        "product/tenancy": "Shared" if sku.instance else "",
        "product/currentGeneration": "Yes" if sku.instance else "",
        "product/storageClass": "General Purpose" if sku.service == "AmazonS3" else "",
        "product/volumeType": "General Purpose" if "gp3" in sku.usage_type.lower() else "",
        "pricing/RateCode": f"{sku_id}.JRTCXWQKTY.6YS6EN2CT7",
        "pricing/RateId": f"00{rng.randrange(10**9):09d}",
        "pricing/currency": account.currency,
        "pricing/publicOnDemandRate": rate,
        "pricing/term": "OnDemand",
        "pricing/unit": sku.unit,
        "group": sku.group,
        "order": f"{sku.weight:05d}",
    }
    discounted = kind == "Usage" and account.currency == "USD"
    measured: dict[str, Measure] = {
        "lineItem/UsageAmount": "usage",
        "lineItem/UnblendedCost": "cost",
        "lineItem/BlendedCost": "cost",
        "lineItem/NetUnblendedCost": "net",
        "pricing/publicOnDemandCost": "list_cost",
    }
    if discounted:
        measured |= {"discount/EdpDiscount": "discount", "discount/TotalDiscount": "discount"}
    if sku.factor:
        measured["lineItem/NormalizedUsageAmount"] = "normalized"
    plan = f"{sku.service.lower()}/{account.id}/{sku_id.lower()}"
    role: Role = "plain"
    if kind == "DiscountedUsage":
        role = "reserved"
        values |= {"pricing/term": "Reserved", "reservation/ReservationARN": f"arn:aws:ec2:reserved-instances/{plan}"}
        # What is reserved costs nothing where it is used.
        free = ("lineItem/UnblendedRate", "lineItem/UnblendedCost", "lineItem/BlendedCost", "lineItem/NetUnblendedCost")
        values |= dict.fromkeys(free, "0.0")
        measured = {name: measure for name, measure in measured.items() if name not in free}
        measured |= {
            "reservation/EffectiveCost": "effective",
            "reservation/NetEffectiveCost": "effective",
            "reservation/RecurringFeeForUsage": "recurring",
            "reservation/AmortizedUpfrontCostForUsage": "upfront",
        }
    elif kind == "SavingsPlanCoveredUsage":
        role = "covered"
        values["savingsPlan/SavingsPlanARN"] = f"arn:aws:savingsplans::savingsplan/{plan}"
        values["savingsPlan/OfferingType"] = "ComputeSavingsPlans"
        measured |= {
            "savingsPlan/SavingsPlanEffectiveCost": "effective",
            "savingsPlan/NetSavingsPlanEffectiveCost": "effective",
        }
    return Charge(
        values=values,
        measured=measured,
        currency=account.currency,
        price=sku.price,
        factor=sku.factor,
        sign=1,
        amount=sku.amount,
        resource=sku.resource,
        weight=max(1, sku.weight * (3 if account.name.endswith("-prod") else 1)) if kind == "Usage" else 3,
        account=account.id,
        role=role,
        discounted=discounted,
    )


def other_charge(
    account: Account,
    sku: Sku,
    kind: str,
    sign: int,
    *,
    weight: int,
    period: str,
    more: Mapping[str, str] | None = None,
    times: str = "1",
) -> Charge:
    """Fees, taxes, credits and refunds: no resource, no rate, one amount."""
    values = {
        **bill(account, period),
        "lineItem/LineItemType": kind,
        "lineItem/ProductCode": sku.service,
        "lineItem/LineItemDescription": f'{kind} for "{sku.product}", as agreed',
        "lineItem/TaxType": "VAT" if kind == "Tax" else "",
        "product/ProductName": sku.product,
        "product/servicecode": sku.service,
        "pricing/currency": account.currency,
        **({"bill/BillType": "Refund"} if kind == "Refund" else {}),
        **(more or {}),
    }
    measured: dict[str, Measure] = {
        "lineItem/UsageAmount": "usage",
        "lineItem/UnblendedCost": "cost",
        "lineItem/BlendedCost": "cost",
        "lineItem/NetUnblendedCost": "net",
    }
    return Charge(values, measured, account.currency, _price(times), 0, sign, "once", "", weight, account.id)


def bill(account: Account, period: str) -> dict[str, str]:
    """What every line of an account has."""
    return {
        "bill/InvoiceId": invoice(account, period, number=1),
        "bill/InvoicingEntity": account.legal_entity,
        "bill/BillingEntity": "AWS",
        "bill/BillType": "Anniversary",
        "lineItem/UsageAccountId": account.id,
        "lineItem/CurrencyCode": account.currency,
        "lineItem/LegalEntity": account.legal_entity,
        "costCategory/Team": account.team,
        "costCategory/Product": account.name,
    }


def invoice(account: Account, period: str, *, number: int) -> str:
    """One invoice a month for each entity that writes them, and one of the marketplace."""
    entity = 2 if account.currency == "EUR" else 1
    return f"{period.replace('-', '')}{entity}{number:03d}"


def decimal_text(units: int) -> str:
    """An amount as AWS writes it: `4.0E-7` below a thousandth, plain with up to eleven decimals above."""
    if units == 0:
        return "0.0"
    sign, size = ("-", -units) if units < 0 else ("", units)
    if size < 10 ** (SCALE - 3):
        digits = str(size)
        return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}E-{SCALE + 1 - len(digits)}"
    whole, part = divmod(size, UNIT)
    return f"{sign}{whole}.{f'{part:011d}'.rstrip('0') or '0'}"
