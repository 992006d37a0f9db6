"""Deliveries written by hand, and the pipeline without a JVM: the Arrow engine runs the same kernels as Spark's."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.pipeline.reports import DeliveryReport, RunReport

TYPES = {
    "identity/LineItemId": "String",
    "lineItem/UnblendedCost": "BigDecimal",
    "lineItem/CurrencyCode": "String",
    "resourceTags/user:Environment": "String",
}


def csv_text(*rows: str, header: Sequence[str] = tuple(TYPES), end: str = "\n", separator: str = ",") -> str:
    """A header and these rows."""
    return "".join(f"{line}{end}" for line in (separator.join(header), *rows))


@dataclass(frozen=True)
class Bills:
    """A bucket of deliveries, and the DuckDB file that they are loaded into."""

    folder: Path

    @property
    def target(self) -> str:
        return f"duckdb:{self.folder / 'costs'}"

    def deliver(
        self,
        *texts: str,
        period: str = "2026-09",
        assembly: str = "20261003T000000Z",
        types: Mapping[str, str] = TYPES,
        pack: Callable[[bytes], bytes] = gzip.compress,
    ) -> list[Path]:
        """A delivery with one file for each text, and its manifest; where its files lie."""
        dates = f"{period.replace('-', '')}01-{period[:4]}{int(period[5:]) % 12 + 1:02d}01"
        keys = [f"billing/bill/{dates}/{assembly}/bill-{number:05d}.csv.gz" for number in range(1, len(texts) + 1)]
        paths = [self.folder / "bucket" / key for key in keys]
        for path, text in zip(paths, texts, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(pack(text.encode()))
        manifest = {
            "assemblyId": assembly,
            "account": "111122223333",
            "columns": [
                {"category": name.partition("/")[0], "name": name.partition("/")[2], "type": type_}
                for name, type_ in types.items()
            ],
            "compression": "GZIP",
            "reportName": "bill",
            "billingPeriod": {"start": f"{period.replace('-', '')}01T000000.000Z"},
            "bucket": "bills",
            "reportKeys": keys,
        }
        (paths[0].parent / "bill-Manifest.json").write_text(json.dumps(manifest))
        return paths

    def run(self, **settings: object) -> RunReport:
        return lakebed.run(self.folder / "bucket", self.target, **settings)  # type: ignore[arg-type]

    def load(self, **settings: object) -> DeliveryReport:
        """What became of the one delivery that counts."""
        [report] = self.run(**settings).deliveries
        return report

    def rows(self, columns: str = "*", table: str = "bill") -> list[tuple[object, ...]]:
        with duckdb.connect(str(self.folder / "costs"), read_only=True) as connection:
            return connection.execute(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()

    def execute(self, statement: str) -> None:
        """Somebody else's hand on the table."""
        with duckdb.connect(str(self.folder / "costs")) as connection:
            connection.execute(statement)


@pytest.fixture
def without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_arrow(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def bills(tmp_path: Path, without_java: None) -> Bills:
    return Bills(tmp_path)
