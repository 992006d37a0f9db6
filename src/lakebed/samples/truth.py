"""What a sample holds, written beside it so that a load can be checked to the last digit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from lakebed.model import Totals
from lakebed.samples.charges import SCALE
from lakebed.samples.kinds import SampleKind
from lakebed.samples.rows import SampleTally, Sheet

TRUTH_FILE = "truth.json"


@dataclass(frozen=True)
class BillTruth:
    """What a delivery is as a bill: costs by what is invoiced, and each commitment with what was used of it.

    It adds up: net costs of an invoice are its costs, covered usage and its negation are nothing together, and what a
    commitment costs in the month is what was used of it and what was not.
    """

    line_item_types: Mapping[str, tuple[int, Decimal]] = field(default_factory=dict)  # rows and unblended cost
    invoices: Mapping[str, Decimal] = field(default_factory=dict)
    savings_plans: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    reservations: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return {
            "line_item_types": {
                kind: {"rows": rows, "unblended_cost": format(cost, "f")}
                for kind, (rows, cost) in self.line_item_types.items()
            },
            "invoices": _texts(self.invoices),
            "savings_plans": {arn: _texts(sums) for arn, sums in self.savings_plans.items()},
            "reservations": {arn: _texts(sums) for arn, sums in self.reservations.items()},
        }


def bill_truth(sheet: Sheet, tally: SampleTally) -> BillTruth:
    """The bill that was counted."""
    types: dict[str, tuple[int, Decimal]] = {}
    invoices: dict[str, Decimal] = {}
    plans: dict[str, dict[str, Decimal]] = {}
    reservations: dict[str, dict[str, Decimal]] = {}
    for index, (line, rows) in enumerate(zip(sheet.lines, tally.rows, strict=True)):
        if not rows:
            continue
        sums = {name: Decimal(units).scaleb(-SCALE) for name, units in tally.sums([index]).items()}
        cost = sums["cost"] if line.measured.get("lineItem/UnblendedCost") else Decimal(0)
        known, before = types.get(line.kind, (0, Decimal(0)))
        types[line.kind] = (known + rows, before + cost)
        invoice = line.values["bill/InvoiceId"]
        invoices[invoice] = invoices.get(invoice, Decimal(0)) + cost
        if plan := line.values.get("savingsPlan/SavingsPlanARN"):
            found = plans.setdefault(plan, {})
            match line.kind:
                case "SavingsPlanCoveredUsage":
                    found |= {"covered": cost, "effective": sums["effective"]}
                case "SavingsPlanNegation":
                    found["negation"] = cost
                case "SavingsPlanRecurringFee":
                    found |= {"commitment": sums["total"], "used": sums["effective"]}
                    found["unused"] = sums["total"] - sums["effective"]
        if reservation := line.values.get("reservation/ReservationARN"):
            found = reservations.setdefault(reservation, {})
            if line.kind == "DiscountedUsage":
                found |= {"effective": sums["effective"], "recurring": sums["recurring"], "upfront": sums["upfront"]}
            elif line.kind == "RIFee":
                found |= {"fee": cost, "unused_recurring": sums["unused"], "unused_upfront": sums["unused_upfront"]}
                found["amortized_upfront"] = sums["total_upfront"]
    return BillTruth(types, invoices, plans, reservations)


@dataclass(frozen=True)
class DeliveryTruth:
    """One delivery: what its files hold. Sums are of every decimal column, by its name in the file."""

    payer: str
    report: str
    period: str
    delivery: str
    current: bool
    manifest: str
    files: tuple[str, ...]
    columns: tuple[str, ...]
    totals: Totals
    bill: BillTruth = field(default_factory=BillTruth)

    def to_dict(self) -> dict[str, object]:
        return {
            "payer": self.payer,
            "report": self.report,
            "period": self.period,
            "delivery": self.delivery,
            "current": self.current,
            "rows": self.totals.rows,
            "manifest": self.manifest,
            "files": list(self.files),
            "sums": _texts(self.totals.sums),
            "by_currency": {code: _texts(sums) for code, sums in self.totals.by_currency.items()},
            "bill": self.bill.to_dict(),
            "columns": list(self.columns),
        }


@dataclass(frozen=True)
class SampleTruth:
    """All deliveries of a sample in the order in which they were made."""

    folder: Path
    kind: SampleKind
    seed: int
    deliveries: tuple[DeliveryTruth, ...]

    @property
    def current(self) -> tuple[DeliveryTruth, ...]:
        """The delivery of each month that counts."""
        return tuple(delivery for delivery in self.deliveries if delivery.current)

    def to_dict(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "seed": self.seed,
            "deliveries": [delivery.to_dict() for delivery in self.deliveries],
        }

    def write(self) -> None:
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
        (self.folder / TRUTH_FILE).write_text(text + "\n", encoding="utf-8")


def _texts(sums: Mapping[str, Decimal]) -> dict[str, str]:
    return {name: format(amount, "f") for name, amount in sums.items()}
