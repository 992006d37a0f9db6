"""FOCUS of a bill: it adds up to the bill, every line is in it as it must be, and months follow their deliveries."""

import json
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.finops.loaded_bills import TABLE, LoadedBill, load_bill
from tests.support.arrow_runs import use_arrow
from typer.testing import CliRunner, Result

import lakebed
from lakebed.cli import build
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError, SchemaError
from lakebed.finops.focus_mapping import FOCUS_1_2, FocusColumn, focus_columns
from lakebed.finops.focus_services import OTHER, SERVICES
from lakebed.finops.projection import DIALECTS
from lakebed.lineage.imports import load_schema
from lakebed.samples import SampleSpec, make_sample
from lakebed.samples.columns import athena_name
from lakebed.schema.types import Float

CATEGORIES = {
    "AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases", "Developer Tools",
    "Multicloud", "Identity", "Integration", "Internet of Things", "Management and Governance", "Media", "Migration",
    "Mobile", "Networking", "Security", "Storage", "Web", "Other", "End User Computing",
}  # fmt: skip
# Quotients: engines agree on them but for the last bits.
RATES = tuple(column.name for column in FOCUS_1_2 if isinstance(column.type, Float))
# What CUR lacks (of attributes of products this one has half), and what CUR 2.0 spells otherwise.
NOT_ALIKE = ("BillingAccountName", "SubAccountName", "SkuPriceDetails", "Tags", "lakebed_delivery")


@cache
def focus_of(kind: lakebed.SampleKind) -> pa.Table:
    """FOCUS of a sample, made and kept by DuckDB."""
    bill = load_bill(kind)
    goal = f"{bill.target.partition('#')[0]}#focus"
    done = lakebed.focus(bill.target, to=goal, workdir=bill.workdir)
    assert [one.action for one in done.slices] == ["written", "written"]
    table = lakebed.read(goal, workdir=bill.workdir)
    assert isinstance(table, pa.Table)
    return table


def asked(rows: pa.Table, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        connection.register("focus", rows)
        return connection.execute(query).fetchall()


def invoke(*arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(build(words), words)


@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_every_invoice_adds_up(kind: lakebed.SampleKind) -> None:
    found = dict(
        asked(focus_of(kind), "SELECT InvoiceId, sum(BilledCost) + sum(x_MarketplaceCost) FROM focus GROUP BY 1")
    )
    assert found == {
        invoice: amount
        for delivery in load_bill(kind).truth.current
        for invoice, amount in delivery.bill.invoices.items()
    }
    sold = asked(focus_of(kind), "SELECT sum(BilledCost) FROM focus WHERE InvoiceIssuerName NOT LIKE 'AWS'")
    assert sold == [(0,)]


@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_a_commitment_costs_what_was_used_and_what_was_not(kind: lakebed.SampleKind) -> None:
    found = {
        (period, commitment): (used, unused)
        for period, commitment, used, unused in asked(
            focus_of(kind),
            "SELECT lakebed_period, CommitmentDiscountId,"
            " coalesce(sum(EffectiveCost) FILTER (CommitmentDiscountStatus = 'Used'), 0),"
            " sum(EffectiveCost) FILTER (CommitmentDiscountStatus = 'Unused')"
            " FROM focus WHERE CommitmentDiscountId IS NOT NULL AND ChargeCategory = 'Usage' GROUP BY 1, 2",
        )
    }
    expected = {}
    for delivery in load_bill(kind).truth.current:
        for arn, sums in delivery.bill.savings_plans.items():
            assert sums.get("effective", 0) + sums["unused"] == sums["commitment"]
            expected[delivery.period, arn] = (sums["used"], sums["unused"])
        for arn, sums in delivery.bill.reservations.items():
            unused = sums["unused_recurring"] + sums["unused_upfront"]
            expected[delivery.period, arn] = (sums.get("effective", Decimal(0)), unused)
    assert found == expected
    purchases = (
        "SELECT sum(EffectiveCost) FROM focus WHERE ChargeCategory = 'Purchase' AND CommitmentDiscountId IS NOT NULL"
    )
    assert asked(focus_of(kind), purchases) == [(0,)]


def test_every_line_is_in_exactly_one_class() -> None:
    """Kept as one row, split into two, or netted into the rows that it takes back."""
    found = Counter(
        {
            (period, kind, status): rows
            for period, kind, status, rows in asked(
                focus_of("cur"),
                "SELECT lakebed_period, x_LineItemType, CommitmentDiscountStatus = 'Unused', count(*) FROM focus"
                " GROUP BY ALL",
            )
        }
    )
    expected: Counter[tuple[str, str, bool]] = Counter()
    for delivery in load_bill().truth.current:
        for kind, (rows, _) in delivery.bill.line_item_types.items():
            if kind != "SavingsPlanNegation":
                expected[delivery.period, kind, False] += rows
            if kind in ("RIFee", "SavingsPlanRecurringFee"):
                expected[delivery.period, kind, True] += rows
    assert Counter({(period, kind, bool(unused)): 0 for period, kind, unused in found}) + Counter() == Counter()
    merged: Counter[tuple[str, str, bool]] = Counter()
    for (period, kind, unused), rows in found.items():
        merged[str(period), str(kind), bool(unused)] += rows
    assert merged == expected


def test_cur_and_cur2_give_equal_rows() -> None:
    names = [name for name in focus_of("cur").column_names if name not in NOT_ALIKE]
    ours, theirs = (sorted(map(repr, focus_of(kind).select(names).to_pylist())) for kind in ("cur", "cur2"))
    assert ours == theirs
    keys: dict[str, set[str]] = defaultdict(set)
    for kind in ("cur", "cur2"):
        for text in focus_of(kind).column("Tags").to_pylist():
            keys[kind].update(athena_name(key) for key in json.loads(text))
    assert keys["cur"] == keys["cur2"]
    assert "user:Environment" in {
        key for text in focus_of("cur").column("Tags").to_pylist() for key in json.loads(text)
    }


def test_months_follow_their_deliveries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_arrow(monkeypatch)
    spec = SampleSpec(months=2, rows=400, files=1, columns=120, restate=False)
    make_sample(tmp_path / "bills", spec=spec)
    bill, goal = f"duckdb:{tmp_path}/costs.duckdb#{TABLE}", f"parquet:{tmp_path}/focus"

    def turn() -> list[tuple[str, str]]:
        assert not lakebed.run(tmp_path / "bills", bill, workdir=tmp_path / "work").failed
        return [(one.period, one.action) for one in lakebed.focus(bill, to=goal, workdir=tmp_path / "work").slices]

    assert turn() == [("2026-09", "written"), ("2026-10", "written")]
    assert turn() == [("2026-09", "unchanged"), ("2026-10", "unchanged")]
    restated = make_sample(tmp_path / "bills", spec=SampleSpec(months=2, rows=400, files=1, columns=120)).current
    assert turn() == [("2026-09", "written"), ("2026-10", "unchanged")]
    rows = lakebed.read(goal).to_table()
    found = dict(asked(rows, "SELECT lakebed_period, sum(BilledCost) + sum(x_MarketplaceCost) FROM focus GROUP BY 1"))
    assert found == {delivery.period: sum(delivery.bill.invoices.values()) for delivery in restated}
    again = lakebed.focus(bill, to=goal, version="1.3", workdir=tmp_path / "work")
    assert [one.action for one in again.slices] == ["written", "written"]
    assert set(lakebed.read(goal).to_table().column("ServiceProviderName").to_pylist()) == {"AWS"}
    redone = lakebed.focus(bill, to=goal, version="1.3", redo=True, workdir=tmp_path / "work")
    assert [one.action for one in redone.slices] == ["written", "written"]


def traced(bill: LoadedBill) -> dict[str, set[str]]:
    """The original names behind each column, by the lineage of the printed SQL."""
    sql = lakebed.focus(bill.target, dialect="duckdb", workdir=bill.workdir).sql
    assert sql is not None
    analyzed = lakebed.analyze(sql, dialect="duckdb", schema=load_schema([bill.target], dialect="duckdb"))
    assert [issue for issue in analyzed.issues if issue.severity == "error"] == []
    [statement] = analyzed.statements
    state = lakebed.table.read.open_table(bill.target, workdir=bill.workdir).state()  # type: ignore[attr-defined]
    originals = {column.name: column.original or column.name for column in state.schema}
    found: dict[str, set[str]] = defaultdict(set)
    for edge in statement.column_lineage:
        if edge.target_column and edge.source_column:
            found[edge.target_column].add(originals[edge.source_column])
    return found


def test_lineage_leads_back_to_original_names() -> None:
    found = traced(load_bill())
    assert {"lineItem/UnblendedCost", "lineItem/NetUnblendedCost", "bill/BillingEntity"} <= found["BilledCost"]
    assert {"savingsPlan/SavingsPlanEffectiveCost", "reservation/UnusedRecurringFee"} <= found["EffectiveCost"]
    assert "resourceTags/user:Environment" in found["Tags"]
    assert found["SubAccountId"] == {"lineItem/UsageAccountId"}
    # What the plan says of itself is what lineage finds.
    said = lakebed.focus(load_bill().target, dialect="duckdb").originals
    assert {name: set(originals) for name, originals in said.items() if originals} == found
    constant = {"ProviderName", "BillingAccountType", "SubAccountType"}
    for column in focus_columns("1.2"):
        assert bool(found.get(column.name)) == (column.expression is not None and column.name not in constant), (
            column.name
        )


def test_the_printed_sql_gives_what_is_written() -> None:
    bill = load_bill()
    with duckdb.connect(bill.target.removeprefix("duckdb:").partition("#")[0], read_only=True) as connection:
        sql = lakebed.focus(bill.target, dialect="duckdb", workdir=bill.workdir).sql
        found = connection.sql(str(sql)).to_arrow_table()
    rows = focus_of("cur")
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, rows.select(found.column_names).to_pylist()))


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_spark_gives_what_duckdb_gives(kind: lakebed.SampleKind, spark_local: Session, tmp_path: Path) -> None:
    bill, goal = load_bill(kind, target="parquet"), f"parquet:{tmp_path}/focus"
    done = lakebed.focus(bill.target, to=goal, spark=spark_local.spark, workdir=bill.workdir)
    assert [one.action for one in done.slices] == ["written", "written"]
    rows, same = lakebed.read(goal).to_table(), focus_of(kind)
    names = [name for name in same.column_names if name not in RATES]
    assert sorted(map(repr, rows.select(names).to_pylist())) == sorted(map(repr, same.select(names).to_pylist()))
    for name in RATES:
        ours, theirs = (sorted(value or 0.0 for value in table.column(name).to_pylist()) for table in (rows, same))
        assert ours == pytest.approx(theirs, rel=1e-12)
    again = lakebed.focus(bill.target, to=goal, spark=spark_local.spark, workdir=bill.workdir)
    assert [one.action for one in again.slices] == ["unchanged", "unchanged"]


def test_the_mapping_is_whole() -> None:
    names = [column.name for column in FOCUS_1_2]
    assert (len(names), len(set(names))) == (57, 57)
    assert names == sorted(names)
    assert {category for category, _ in (*SERVICES.values(), OTHER)} <= CATEGORIES
    assert {column.name for column in focus_columns("1.3")} > {column.name for column in focus_columns("1.2")}
    for column in focus_columns("1.3"):
        assert isinstance(column, FocusColumn)
        assert column.reason or column.authority != "derived", column.name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_command_prints(dialect: str) -> None:
    import sqlglot

    bill = load_bill("cur2")
    shown = invoke("focus", bill.target, "--print", "--dialect", dialect, "--workdir", bill.workdir)
    assert shown.exit_code == 0, shown.output
    [statement] = sqlglot.parse(shown.stdout, dialect=dialect)
    assert statement is not None
    assert len(statement.named_selects) == len(focus_columns("1.2")) + 4


def test_the_command_writes(tmp_path: Path) -> None:
    bill = load_bill()
    words = ("focus", bill.target, "--to", f"duckdb:{tmp_path}/focus.duckdb#focus", "--workdir", bill.workdir)
    done = json.loads(invoke(*words, "--json").stdout)
    assert [(one["period"], one["action"]) for one in done["slices"]] == [
        ("2026-09", "written"),
        ("2026-10", "written"),
    ]
    assert "CommitmentDiscountName" in done["emptyColumns"]
    shown = invoke(*words)
    assert shown.exit_code == 0
    assert "unchanged" in shown.stdout


def test_what_is_refused(tmp_path: Path) -> None:
    bill = load_bill()
    with pytest.raises(ConfigError, match="where should FOCUS go"):
        lakebed.focus(bill.target)
    with pytest.raises(ConfigError, match="is the bill itself"):
        lakebed.focus(bill.target, to=bill.target)
    with pytest.raises(ConfigError, match=r"no FOCUS '2\.0'"):
        lakebed.focus(bill.target, to="x", version="2.0")  # type: ignore[arg-type]
    lakebed.write(pa.table({"id": [1]}), f"duckdb:{tmp_path}/costs.duckdb#t")
    with pytest.raises(SchemaError, match="no table of a Cost and Usage Report"):
        lakebed.focus(f"duckdb:{tmp_path}/costs.duckdb#t", to=f"parquet:{tmp_path}/focus")
    assert invoke("focus", bill.target, "--focus-version", "9", "--to", "parquet:x").exit_code == 2
