"""What a sample holds, written beside it so that a load can be checked to the last digit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from lakebed.model import Totals
from lakebed.samples.kinds import SampleKind

TRUTH_FILE = "truth.json"


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
