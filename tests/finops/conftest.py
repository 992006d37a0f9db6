"""Deliveries written by hand, loaded on days that the test chooses, without a JVM."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.reports import RunReport

TYPES = {
    "identity/LineItemId": "String",
    "lineItem/UsageAccountId": "String",
    "lineItem/LineItemType": "String",
    "lineItem/ProductCode": "String",
    "lineItem/UnblendedCost": "BigDecimal",
    "lineItem/CurrencyCode": "String",
    "resourceTags/user:team": "OptionalString",
}
TARGETS = {"duckdb": "duckdb:costs.duckdb#bill", "parquet": "parquet:bill", "iceberg": "iceberg:billing.bill"}
PAYER = "111122223333"


@dataclass(frozen=True)
class Line:
    """One line of a bill."""

    cost: Decimal
    currency: str = "USD"
    account: str = "000000000001"
    service: str = "AmazonEC2"
    kind: str = "Usage"
    team: str = ""


@dataclass
class Bucket:
    """A bucket of deliveries, and the day on which they are loaded."""

    folder: Path
    day: datetime = field(default_factory=lambda: datetime(2025, 4, 1, 12, tzinfo=UTC))

    def deliver(
        self,
        period: str,
        assembly: str,
        lines: Sequence[Line],
        *,
        more: Mapping[str, str] | None = None,
        files: int = 1,
    ) -> None:
        """A delivery of a month; `more` are further columns, by original, with the one value that they have."""
        further = more or {}
        year, month = int(period[:4]), int(period[5:])
        end = f"{year + month // 12}{month % 12 + 1:02d}01"
        at = f"billing/bill/{period.replace('-', '')}01-{end}/{assembly}"
        keys = [f"{at}/bill-{number:05d}.csv.gz" for number in range(1, files + 1)]
        for number, key in enumerate(keys):
            rows = [",".join((*TYPES, *further))]
            rows += [
                ",".join(
                    (
                        f"{assembly}-{number}-{place}",
                        line.account,
                        line.kind,
                        line.service,
                        str(line.cost),
                        line.currency,
                        line.team,
                        *further.values(),
                    )
                )
                for place, line in enumerate(lines)
                if place % files == number
            ]
            path = self.folder / "bucket" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))
        manifest = {
            "assemblyId": assembly,
            "account": PAYER,
            "columns": [
                {"category": name.partition("/")[0], "name": name.partition("/")[2], "type": type_}
                for name, type_ in (TYPES | dict.fromkeys(further, "OptionalString")).items()
            ],
            "compression": "GZIP",
            "reportName": "bill",
            "billingPeriod": {"start": f"{period.replace('-', '')}01T000000.000Z"},
            "bucket": "bills",
            "reportKeys": keys,
        }
        (self.folder / "bucket" / at / "bill-Manifest.json").write_text(json.dumps(manifest))

    def run(self, target: str, **settings: object) -> RunReport:
        place = target.rpartition("#")[0] or target.removesuffix(".bill") if ":" in target else target
        report = lakebed.run(self.folder / "bucket", place, table="bill", accept_shrink=True, **settings)  # type: ignore[arg-type]
        assert not report.failed, [one.error for one in report.deliveries]
        return report


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    use_arrow(monkeypatch)
    monkeypatch.chdir(tmp_path)
    made = Bucket(tmp_path)
    monkeypatch.setattr(RunContext, "now", property(lambda _: made.day))
    return made


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return TARGETS[request.param]
