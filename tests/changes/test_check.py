"""Saved queries against what the next delivery would leave: every change that a program injects is found, in the file
that names the column, and nothing else is.
"""

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from tests.support.changed_delivery import change_delivery

import lakebed
from lakebed.changes.check import check
from lakebed.changes.findings import CheckResult
from lakebed.errors import ConfigError
from lakebed.schema.types import Column, Integer, Schema, Text

QUERIES = Path(__file__).parent / "cur_queries"
OCTOBER = "billing/sample-report/20261001-20261101"


@dataclass(frozen=True)
class World:
    """A table that holds September, and October as it will be delivered."""

    folder: Path

    @property
    def target(self) -> str:
        return f"duckdb:{self.folder / 'costs.duckdb'}"

    @property
    def october(self) -> Path:
        return self.folder / "bills" / OCTOBER

    def originals(self) -> list[str]:
        manifest = json.loads((self.october / "sample-report-Manifest.json").read_text())
        return [f"{column['category']}/{column['name']}".removeprefix("/") for column in manifest["columns"]]

    def table(self) -> dict[str, str]:
        """The original of each column of the table, by its name."""
        with duckdb.connect(self.target.removeprefix("duckdb:"), read_only=True) as connection:
            rows = connection.execute(
                "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'costs' AND comment IS NOT NULL"
            ).fetchall()
        return dict(rows)

    def check(self, queries: Path, *, against: bool = True, **options: object) -> CheckResult:
        source = self.folder / "bills" if against else None
        asked = {"period": "2026-10", "dialect": "athena", "workdir": self.folder / "work"} | options
        return check(queries, target=self.target, table="costs", against=source, **asked)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state that a load of September leaves, made by the plan of that load."""
    folder = tmp_path_factory.mktemp("check")
    lakebed.sample(folder / "bills", months=2, rows=8, columns=110, files=1, restate=False)
    target = f"duckdb:{folder / 'costs.duckdb'}"
    planned = lakebed.plan(folder / "bills", target, table="costs", period="2026-09", workdir=folder / "work")
    evolution = planned.deliveries[-1].evolution
    assert evolution is not None
    lakebed.evolve(f"{target}#costs", evolution.final, workdir=folder / "work")
    return folder


@pytest.fixture
def world(loaded: Path, tmp_path: Path) -> Iterator[World]:
    shutil.copytree(loaded, tmp_path / "world")
    return World(tmp_path / "world")


def write_queries(folder: Path, columns: list[str]) -> Path:
    """A file for each column, which it names in its second line."""
    folder.mkdir()
    for number, column in enumerate(columns):
        (folder / f"q{number}.sql").write_text(f'SELECT\n  "{column}"\nFROM costs\n')
    return folder


@pytest.mark.parametrize("seed", range(6))
def test_every_injected_change_is_found_where_it_is_named_and_nothing_else_is(
    world: World, tmp_path: Path, seed: int
) -> None:
    chosen = random.Random(seed)
    table = world.table()
    delivered = [one for one in world.originals() if one in table.values() and "/" in one]
    chosen.shuffle(delivered)
    dropped, renamed, redeclared = delivered[:4], delivered[4:8], delivered[8:12]
    # some differ from what they were in case alone, some wholly
    new_names = {
        name: name.swapcase() if place % 2 else f"{name.partition('/')[0]}/zz{place} {seed}"
        for place, name in enumerate(renamed)
    }
    dates = {name for name in redeclared if "Date" in name}
    change_delivery(
        world.october, drop=dropped, rename=new_names, declare={one: "String" for one in redeclared if one not in dates}
    )
    queries = write_queries(tmp_path / "queries", list(table))
    found = world.check(queries)
    # what the manifests say, without any of the code under test
    coming = set(world.originals())
    lost = {f"q{number}.sql" for number, original in enumerate(table.values()) if original not in coming}
    told = {Path(one.place.file or "").name for one in found.findings if one.severity != "note"}
    assert told == lost
    assert {table[one.column or ""] for one in found.findings if one.severity != "note"} >= {*dropped, *renamed}
    assert all(one.place.line == 2 and one.remedy for one in found.findings)
    certain = {one.original for one in found.findings if one.kind == "renamed"}
    assert certain == {name for name, new in new_names.items() if name.lower() == new.lower()}
    tags = {one.original for one in found.findings if one.kind == "tag"}
    assert all((one or "").startswith(("resourceTags/", "costCategory/")) for one in tags)
    assert found.breaking == bool(certain)
    assert found.checked == len(table)


def test_no_false_alarm_over_queries_that_people_write(world: World) -> None:
    found = world.check(QUERIES)
    assert [(str(one.place), one.reason) for one in found.findings] == []
    assert not found.unknown
    assert not found.breaking
    # the last reads the view that its own file makes
    assert found.checked == found.statements - 1 >= 15
    assert world.check(QUERIES, against=False).findings == ()


def test_what_those_queries_lose_is_told(world: World) -> None:
    change_delivery(
        world.october,
        drop=["lineItem/UnblendedCost", "resourceTags/user:cost-center"],
        rename={"savingsPlan/SavingsPlanEffectiveCost": "savingsPlan/savingsPlanEffectiveCost"},
    )
    found = world.check(QUERIES)
    by_kind = {
        kind: {Path(one.place.file or "").stem for one in found.findings if one.kind == kind}
        for kind in ("null", "renamed", "tag")
    }
    assert by_kind["renamed"] == {"amortized_cost", "savings_plan_coverage"}
    assert by_kind["tag"] <= {"chargeback_by_team"}
    naming = {path.stem for path in QUERIES.glob("*.sql") if "line_item_unblended_cost" in path.read_text()}
    assert by_kind["null"] == naming


def test_the_table_as_it_is(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "athena.sql").write_text(
        "SELECT line_item_usage_amount,\n  reservation_reservation_a_r_n,\n  nothing_like_it\nFROM costs\n"
    )
    found = world.check(folder, against=False)
    assert [(one.kind, one.severity, one.column, one.place.line) for one in found.findings] == [
        ("renamed", "error", "reservation_reservation_a_r_n", 2),
        ("missing", "error", "nothing_like_it", 3),
    ]
    assert found.findings[0].remedy == "Write reservation_reservation_arn."
    assert found.breaking


def test_a_view_of_the_target_passes_on_what_its_tables_lose(world: World, tmp_path: Path) -> None:
    with duckdb.connect(world.target.removeprefix("duckdb:")) as connection:
        connection.execute(
            "CREATE VIEW costs_athena AS SELECT *, resource_tags_user_owner AS owner, "
            "coalesce(resource_tags_user_owner, line_item_usage_account_id) AS who FROM costs"
        )
        connection.execute("CREATE VIEW owners AS SELECT owner AS known_owner FROM costs_athena")
    change_delivery(world.october, drop=["resourceTags/user:owner"])
    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "a.sql").write_text("SELECT who,\n  owner\nFROM db.costs_athena")
    (folder / "b.sql").write_text("SELECT known_owner FROM owners")
    (folder / "c.sql").write_text("SELECT unheard_of FROM costs_athena")
    found = world.check(folder)
    assert [(Path(one.place.file or "").name, one.place.line, one.kind, one.column) for one in found.findings] == [
        ("a.sql", 2, "tag", "owner"),
        ("b.sql", 1, "tag", "known_owner"),
        ("c.sql", 1, "missing", "unheard_of"),
    ]


def test_a_view_whose_sql_lies_in_the_folder_is_checked_and_passed_through(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "views.sql").write_text(
        "CREATE VIEW costs_athena AS SELECT *, lakebed_period AS month, no_such_column AS x FROM costs"
    )
    (folder / "query.sql").write_text("SELECT month, line_item_usage_amount, absent FROM costs_athena")
    found = world.check(folder, against=False)
    assert [(Path(one.place.file or "").name, one.column) for one in found.findings] == [
        ("query.sql", "absent"),
        ("views.sql", "no_such_column"),
    ]


def test_other_names_of_the_table_and_tables_of_others(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "a.sql").write_text('SELECT nope FROM "cur"."customer_all"')
    (folder / "b.sql").write_text("SELECT id FROM crm.customers")
    found = world.check(folder, against=False)
    assert {(one.kind, one.severity, one.table) for one in found.findings} == {
        ("table", "note", '"cur"."customer_all"'),
        ("table", "note", "crm.customers"),
    }
    assert found.checked == 0
    found = world.check(folder, against=False, aliases={"cur.customer_all": "costs"})
    assert [one.column for one in found.findings if one.severity == "error"] == ["nope"]
    [told] = [said for said in world.check(folder).warnings if "which no query reads" in said]
    assert "name their table with --table or --alias" in told
    assert world.check(folder, aliases={"cur.customer_all": "costs"}).warnings == ()
    with pytest.raises(ConfigError, match="the target has no table cots"):
        world.check(folder, against=False, aliases={"x": "cots"})


def test_a_month_that_is_restated_need_not_have_what_later_months_brought(world: World, tmp_path: Path) -> None:
    from lakebed.model import Slice
    from lakebed.state.ledger import Ledger, LoadOutcome

    queries = write_queries(tmp_path / "queries", list(world.table()))
    change_delivery(world.october, drop=["lineItem/Operation"])
    told = {one.original for one in world.check(queries).findings}
    assert "lineItem/Operation" in told
    address = f"duckdb:{(world.folder / 'costs.duckdb').resolve()}#costs"
    slice_ = Slice("000123456789", "sample-report", "2026-11")
    with Ledger.open(world.folder / "work" / "ledger.db") as ledger, ledger.claim_load(address, slice_) as claim:
        ledger.begin_load(claim, address, slice_, "later")
        ledger.finish_load(claim, address, slice_, "later", LoadOutcome(rows=1, files=1, seconds=0.0, version="1"))
    assert "lineItem/Operation" not in {one.original for one in world.check(queries).findings}


def test_a_type_that_nothing_holds_is_told_where_the_column_is_named(world: World, tmp_path: Path) -> None:
    change_delivery(world.october, declare={"bill/BillingPeriodStartDate": "BigDecimal"})
    queries = write_queries(tmp_path / "queries", ["bill_billing_period_start_date", "line_item_usage_amount"])
    found = world.check(queries)
    assert [(one.kind, one.severity, one.column) for one in found.findings] == [
        ("retyped", "error", "bill_billing_period_start_date")
    ]
    assert any("would be refused" in warning for warning in found.warnings)


def test_a_wider_type_is_an_error_only_where_it_does_not_fit(tmp_path: Path) -> None:
    from lakebed.changes.check import QueryCheck
    from lakebed.changes.next_schema import NextTable, NextTarget, retyped_columns
    from lakebed.lineage.project import read_folder

    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "a_keeps.sql").write_text("CREATE TABLE kept (hours INT);\nINSERT INTO kept SELECT hours FROM t;")
    (folder / "b_adds.sql").write_text("SELECT sum(hours) AS total FROM t")
    before = Schema.of([Column("hours", Integer(32)), Column("note", Text())])
    after = Schema.of([Column("hours", Integer(64)), Column("note", Text())])
    table = NextTable(("t",), before, after, tuple(retyped_columns(before, after)))
    checker = QueryCheck(NextTarget((table,)), "spark", {})
    found = checker.result(checker.trace(read_folder(folder, {}))).findings
    assert [(Path(one.place.file or "").name, one.severity) for one in found] == [
        ("a_keeps.sql", "error"),
        ("b_adds.sql", "note"),
    ]
    assert "BIGINT" in found[0].reason
