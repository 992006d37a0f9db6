"""What a run tells its caller: every result has `to_dict()`, which is what `--json` prints."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal

from lakebed.model import EXACT, Delivery, DeliveryState, Totals
from lakebed.schema.evolve import EvolutionPlan


@dataclass(frozen=True, slots=True)
class Difference:
    """A number that is not the same in the source files and in the table."""

    what: str
    source: Decimal
    table: Decimal


@dataclass(frozen=True)
class Reconciliation:
    """Rows and exact sums of the source files against the committed table.

    `source` counts what was to go into the table; rows that were set aside in quarantine are `rejected_rows`.
    """

    source: Totals
    table: Totals
    # What a narrower decimal type took away, by column: the table is right when it differs by just that.
    rounded: Mapping[str, Decimal] = field(default_factory=dict)
    rounded_values: Mapping[str, int] = field(default_factory=dict)
    rejected_rows: int = 0
    # Columns that the source files or earlier loads have brought and that the table no longer has.
    lost_columns: tuple[str, ...] = ()

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Empty when everything adds up to the last digit."""
        found = []
        if self.source.rows != self.table.rows:
            found.append(Difference("rows", Decimal(self.source.rows), Decimal(self.table.rows)))
        for column, expected in self.source.sums.items():
            rounded = EXACT.add(expected, self.rounded.get(column, Decimal(0)))
            if rounded != (actual := self.table.sums.get(column, Decimal(0))):
                found.append(Difference(column, expected, actual))
        if not self.rounded:
            for currency in {**self.source.by_currency, **self.table.by_currency}:
                expected_sums = self.source.by_currency.get(currency, {})
                actual_sums = self.table.by_currency.get(currency, {})
                for column in {**expected_sums, **actual_sums}:
                    expected, actual = expected_sums.get(column, Decimal(0)), actual_sums.get(column, Decimal(0))
                    if expected != actual:
                        found.append(Difference(f"{column} in {currency}", expected, actual))
        return tuple(found)

    @property
    def holds(self) -> bool:
        return not self.differences and not self.lost_columns

    def to_dict(self) -> dict[str, object]:
        return {
            "reconciled": self.holds,
            "rows": {"source": self.source.rows, "table": self.table.rows, "rejected": self.rejected_rows},
            "sums": {
                column: {
                    "source": format(total, "f"),
                    "table": format(self.table.sums.get(column, Decimal(0)), "f"),
                    **(
                        {"rounded": format(self.rounded[column], "f"), "roundedValues": self.rounded_values.get(column)}
                        if column in self.rounded
                        else {}
                    ),
                }
                for column, total in self.source.sums.items()
            },
            "byCurrency": {
                currency: {
                    column: {
                        "source": format(total, "f"),
                        "table": format(self.table.by_currency.get(currency, {}).get(column, Decimal(0)), "f"),
                    }
                    for column, total in sums.items()
                }
                for currency, sums in self.source.by_currency.items()
            },
            "lostColumns": list(self.lost_columns),
            "differences": [
                {"what": one.what, "source": format(one.source, "f"), "table": format(one.table, "f")}
                for one in self.differences
            ],
        }


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """What became of one delivery."""

    payer: str
    report: str
    period: str
    delivery: str
    state: DeliveryState
    complete: bool
    rows: int
    files: int
    added_columns: tuple[str, ...] = ()
    reconciled: bool | None = None
    seconds: float = 0.0
    error: str | None = None
    table: str = ""
    skipped: bool = False  # it was loaded before, so nothing was done
    rejected_rows: int = 0
    warnings: tuple[str, ...] = ()
    rounded: Mapping[str, int] = field(default_factory=dict)
    size_bytes: int = 0  # of its source files
    steps: Mapping[str, float] = field(default_factory=dict)  # seconds of each
    retries: int = 0  # after another writer had committed first

    @classmethod
    def of(cls, delivery: Delivery, table: str, state: DeliveryState) -> "DeliveryReport":
        """What holds for any delivery, loaded or not: nothing is loaded yet."""
        return cls(
            payer=delivery.slice.payer,
            report=delivery.slice.report,
            period=delivery.slice.period,
            delivery=delivery.id,
            state=state,
            complete=delivery.complete,
            rows=0,
            files=len(delivery.files),
            size_bytes=delivery.size_bytes,
            table=table,
        )

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "added_columns": list(self.added_columns), "warnings": list(self.warnings)}


@dataclass(frozen=True, slots=True)
class TableReport:
    """A table that a run loaded into, and how many rows it holds now."""

    table: str
    address: str
    rows: int


@dataclass(frozen=True)
class RunReport:
    """What a run did. `table` and `rows` are those of the one table; with several, `tables` has an entry for each."""

    tables: tuple[TableReport, ...]
    deliveries: tuple[DeliveryReport, ...]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def table(self) -> str | None:
        return self.tables[0].table if len(self.tables) == 1 else None

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def failed(self) -> tuple[DeliveryReport, ...]:
        return tuple(report for report in self.deliveries if report.state == "failed" or report.reconciled is False)

    def to_dict(self) -> dict[str, object]:
        return {
            "table": self.table,
            "rows": self.rows,
            "tables": [asdict(table) for table in self.tables],
            "deliveries": [report.to_dict() for report in self.deliveries],
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file of an ingest: `action` is load, replace, skip or empty, and `reason` says why."""

    path: str
    file: str  # what its rows carry in lakebed_file
    action: str
    reason: str
    rows: int
    dialect: str | None = None


@dataclass(frozen=True)
class IngestReport(RunReport):
    """What an ingest did: one delivery, made of files. Of a dry run it is what it would do.

    `types` are those of the columns that the files brought, as the table has them; `removed` counts rows of files that
    have a new content. With keys, `inserted` and `updated` are those of the merge.
    """

    files: tuple[FileReport, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    loaded: int = 0
    removed: int = 0
    inserted: int | None = None
    updated: int | None = None
    dry_run: bool = False
    plan: EvolutionPlan | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, object]:
        result = {
            **super().to_dict(),
            "files": [asdict(file) for file in self.files],
            "types": dict(self.types),
            "loaded": self.loaded,
            "removed": self.removed,
            "inserted": self.inserted,
            "updated": self.updated,
            "dry_run": self.dry_run,
        }
        return result if self.plan is None else {**result, "plan": self.plan.to_dict()}
