"""Reconciliation adds up what the source files held against what the table holds, number by number."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.errors import StateError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Converted, Delivery, Rounding, Slice, SourceColumn, SourceFile, Totals
from lakebed.pipeline.commit import CommittedLoad
from lakebed.pipeline.plan import plan_load
from lakebed.pipeline.reconcile import ReconciledLoad, ReconcileReport, load_outcome, reconcile, reconcile_load
from lakebed.pipeline.reports import Reconciliation
from lakebed.schema.evolve import Policy
from lakebed.schema.types import Column, Text
from lakebed.schema.widen import FormatRules
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome, LoadRecord, SumRecord
from lakebed.targets.base import Capabilities, Commit, Target
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import BASE, NOVEMBER, OCTOBER, Loader, rows

MONTH = Slice("1", "cur", "2026-09")
FILES = tuple(SourceFile(f"/x/{name}.csv", f"{name}.csv", "csv", "none", 10) for name in "ab")
COST, USAGE, CURRENCY = "line_item_unblended_cost", "line_item_usage_amount", "line_item_currency_code"
COLUMNS = (
    SourceColumn("lineItem/UnblendedCost", "BigDecimal"),
    SourceColumn("lineItem/UsageAmount", "BigDecimal"),
    SourceColumn("lineItem/CurrencyCode", "String"),
)
DELIVERY = Delivery(MONTH, "d1", "cur", "m.json", COLUMNS, FILES)
TOTALS = Totals(
    3,
    {COST: Decimal("3.5"), USAGE: Decimal(7)},
    {"USD": {COST: Decimal("3.0"), USAGE: Decimal(5)}, "EUR": {COST: Decimal("0.5"), USAGE: Decimal(2)}},
)


@dataclass
class CountedTable:
    """A table that answers one question, and remembers what it was asked."""

    answer: Totals
    asked: list[object] = field(default_factory=list)
    capabilities: Capabilities = field(
        default_factory=lambda: Capabilities(made_of_files=False, rules=FormatRules(), partition_in_path=False)
    )

    def totals(
        self, slice_: Slice | None, columns: Sequence[str], *, currency: str | None = None, by: object = None
    ) -> Totals:
        self.asked.append((slice_, tuple(columns), currency))
        return self.answer


LOAD = LoadRecord(
    table="duckdb:costs#cur",
    slice=MONTH,
    delivery="d1",
    state="loaded",
    error=None,
    rows=3,
    files=2,
    seconds=1.0,
    added_columns=(),
    complete=True,
    reconciled=True,
    source_rows=3,
    rejected_rows=0,
    plan_hash=None,
    version="1",
    started_at=datetime(2026, 10, 1, tzinfo=UTC),
    finished_at=datetime(2026, 10, 1, tzinfo=UTC),
)


def committed(source: Totals = TOTALS, **converted: object) -> CommittedLoad:
    plan = plan_load(DELIVERY, None, naming="spec", decimals="38,18", policy=Policy())
    return CommittedLoad(plan, Converted((), source, **converted), Commit("7", 99, 1, 0))  # type: ignore[arg-type]


def reconciled(table: Totals, load: CommittedLoad) -> Reconciliation:
    return reconcile_load(cast(Target, CountedTable(table)), DELIVERY, load, ArrowEngine())


def test_the_table_is_asked_for_the_slice_the_planned_columns_and_the_currency() -> None:
    table = CountedTable(TOTALS)
    found = reconcile_load(cast(Target, table), DELIVERY, committed(), ArrowEngine())
    assert table.asked == [(MONTH, (COST, USAGE), CURRENCY)]
    assert (found.source, found.table, found.rounded, found.rounded_values, found.rejected_rows) == (
        TOTALS, TOTALS, {}, {}, 0,
    )  # fmt: skip
    assert found.holds


def test_only_columns_that_were_rounded_count_as_rounded() -> None:
    rounding = {COST: Rounding(2, Decimal("-0.5")), USAGE: Rounding(0, Decimal(0))}
    table = replace(TOTALS, sums={COST: Decimal("3.0"), USAGE: Decimal(7)})
    found = reconciled(table, committed(rounding=rounding, rejected_rows=4))
    assert (found.rounded, found.rounded_values, found.rejected_rows) == ({COST: Decimal("-0.5")}, {COST: 2}, 4)
    assert found.holds
    assert found.to_dict()["rows"] == {"source": 3, "table": 3, "rejected": 4}
    assert found.to_dict()["sums"] == {
        COST: {"source": "3.5", "table": "3.0", "rounded": "-0.5", "roundedValues": 2},
        USAGE: {"source": "7", "table": "7"},
    }


def test_the_outcome_keeps_every_number_and_every_sum() -> None:
    table = Totals(2, {COST: Decimal("3.25"), USAGE: Decimal(7)}, {"USD": {COST: Decimal("2.75"), USAGE: Decimal(5)}})
    load = committed(rounding={COST: Rounding(1, Decimal("-0.25"))}, rejected_rows=1)
    torn = replace(DELIVERY, missing=("c.csv",))
    outcome = load_outcome(torn, load, reconciled(table, load), 2.5)
    assert (outcome.rows, outcome.files, outcome.seconds, outcome.version) == (2, 2, 2.5, "7")
    assert (outcome.complete, outcome.reconciled, outcome.source_rows, outcome.rejected_rows) == (False, False, 3, 1)
    assert outcome.plan_hash == load.plan.evolution.hash
    assert outcome.identities == dict(load.plan.identities.by_original)
    assert outcome.sums == (
        SumRecord(COST, None, Decimal("3.5"), Decimal("3.25"), Decimal("-0.25")),
        SumRecord(USAGE, None, Decimal(7), Decimal(7), Decimal(0)),
        SumRecord(COST, "USD", Decimal("3.0"), Decimal("2.75")),
        SumRecord(USAGE, "USD", Decimal(5), Decimal(5)),
        SumRecord(COST, "EUR", Decimal("0.5"), Decimal(0)),
        SumRecord(USAGE, "EUR", Decimal(2), Decimal(0)),
    )
    whole = load_outcome(DELIVERY, committed(), reconciled(TOTALS, committed()), 0.0)
    assert (whole.complete, whole.reconciled) == (True, True)


@pytest.mark.parametrize(
    ("complete", "table", "holds"),
    [(True, TOTALS, True), (False, TOTALS, False), (True, replace(TOTALS, rows=2), False), (True, None, False)],
)
def test_a_load_holds_where_it_adds_up_and_nothing_was_missing(
    complete: bool, table: Totals | None, holds: bool
) -> None:
    numbers = None if table is None else Reconciliation(TOTALS, table)
    load = ReconciledLoad.of(replace(LOAD, complete=complete), numbers)
    assert load.holds is holds
    said = load.to_dict()
    assert {name: said[name] for name in ("payer", "report", "period", "delivery", "table", "complete")} == {
        "payer": "1", "report": "cur", "period": "2026-09", "delivery": "d1", "table": "duckdb:costs#cur",
        "complete": complete,
    }  # fmt: skip
    assert said["reconciled"] is holds
    assert ("sums" in said) is (table is not None)


def test_a_report_holds_where_every_load_does() -> None:
    good, bad = ReconciledLoad.of(LOAD, Reconciliation(TOTALS, TOTALS)), ReconciledLoad.of(LOAD, None)
    assert ReconcileReport((good, good)).holds
    assert not ReconcileReport((good, bad)).holds
    assert ReconcileReport((good, bad)).to_dict() == {"reconciled": False, "loads": [good.to_dict(), bad.to_dict()]}


# And with a real table and a real ledger.

ATTO = Decimal("0.000000000000000001")
IN_CURRENCIES = BASE.with_columns([Column(CURRENCY, Text())])


@pytest.fixture
def loaded(tmp_path: Path) -> ParquetTarget:
    """Two months in a table, with the sums that their source files had in the ledger."""
    table = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(table, StorageSettings(), ("lakebed_period",))
    with Ledger.open(tmp_path / "work" / "ledger.db") as ledger:
        for slice_, source_rows in ((OCTOBER, 2), (NOVEMBER, None)):
            version = loader.load(rows(slice_, [1, 2], **{CURRENCY: "USD"}), schema=IN_CURRENCIES).version
            sums = (SumRecord("cost", None, 2 * ATTO, 2 * ATTO), SumRecord("cost", "USD", 2 * ATTO, 2 * ATTO))
            outcome = LoadOutcome(2, 1, 0.0, version, source_rows=source_rows, sums=sums)
            with ledger.claim_load(table.address, slice_) as claim:
                ledger.begin_load(claim, table.address, slice_, "d1")
                ledger.finish_load(claim, table.address, slice_, "d1", outcome)
        with ledger.claim_load(table.address, OCTOBER) as claim:
            ledger.begin_load(claim, table.address, OCTOBER, "d0")
            ledger.fail_load(claim, table.address, OCTOBER, "d0", "broken", seconds=0.0)
    return table


def recheck(table: ParquetTarget, **filters: str) -> ReconcileReport:
    return reconcile(table.address, workdir=Path(table.address.removeprefix("parquet:")).parent / "work", **filters)  # type: ignore[arg-type]


def test_what_the_ledger_has_sums_of_is_added_up_again(loaded: ParquetTarget) -> None:
    november, october = recheck(loaded).loads
    assert (november.slice, november.reconciliation, november.holds) == (NOVEMBER, None, False)
    assert october.reconciliation is not None
    assert (october.slice, october.delivery, october.holds) == (OCTOBER, "d1", True)
    assert october.reconciliation.source == Totals(2, {"cost": 2 * ATTO}, {"USD": {"cost": 2 * ATTO}})
    Loader(loaded, StorageSettings(), ("lakebed_period",)).load(
        rows(OCTOBER, [1, 2, 3], **{CURRENCY: "EUR"}), schema=IN_CURRENCIES, replacing=OCTOBER
    )
    [october] = recheck(loaded, period="2026-10").loads
    assert october.reconciliation is not None
    assert [(one.what, one.source, one.table) for one in october.reconciliation.differences] == [
        ("rows", 2, 3),
        ("cost", 2 * ATTO, 3 * ATTO),
        ("cost in USD", 2 * ATTO, 0),
        ("cost in EUR", 0, 3 * ATTO),
    ]


@pytest.mark.parametrize("named", [{"period": "2026-10"}, {"report": "report"}, {"payer": "payer"}])
def test_filters_choose_loads(loaded: ParquetTarget, named: dict[str, str]) -> None:
    assert {one.slice for one in recheck(loaded, **named).loads} >= {OCTOBER}
    another = {name: "2026-01" if name == "period" else "another" for name in named}
    with pytest.raises(StateError, match="the ledger knows no load into parquet:"):
        recheck(loaded, **another)


def test_a_period_without_a_load_is_named(loaded: ParquetTarget) -> None:
    with pytest.raises(StateError, match="for 2026-01"):
        recheck(loaded, period="2026-01")
    assert [one.slice for one in recheck(loaded, period="2026-10").loads] == [OCTOBER]


def test_a_database_stands_for_all_of_its_tables_and_a_table_for_itself(tmp_path: Path) -> None:
    tables = [f"duckdb:{tmp_path / name}" for name in ("costs#a", "costs#b", "other#a")]
    with Ledger.open(tmp_path / "work" / "ledger.db") as ledger:
        for table in tables:
            with ledger.claim_load(table, OCTOBER) as claim:
                ledger.begin_load(claim, table, OCTOBER, "d1")
                ledger.finish_load(claim, table, OCTOBER, "d1", LoadOutcome(2, 1, 0.0, "1"))

    def covered(target: str, table: str | None = None) -> list[str]:
        found = reconcile(f"duckdb:{tmp_path / target}", table=table, workdir=tmp_path / "work").loads
        return sorted(one.table for one in found)

    assert covered("costs") == tables[:2]
    assert covered("costs", "b") == tables[1:2]
    assert covered("costs#a") == tables[:1]
    assert covered("other") == tables[2:]
    with pytest.raises(StateError):
        covered("costs", "c")
