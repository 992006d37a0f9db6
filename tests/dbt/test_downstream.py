"""What dbt does with a model that is built: refs, tests, docs, freshness, selection, samples, retries, contracts."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.dbt_env import DbtProcess, Project, new_project

import lakebed

pytestmark = pytest.mark.processes

SCHEMA = """
sources:
  - name: bills
    tables:
      - name: lines
        config:
          meta: {lakebed_target: "iceberg:bills.lines"}
          loaded_at_field: at
          freshness: {warn_after: {count: 1, period: day}}
          event_time: at
models:
  - name: costs
    description: Costs by account.
    config:
      persist_docs: {relation: true, columns: true}
      contract: {enforced: true}
      grants: {select: [everybody]}
    columns:
      - {name: account, data_type: integer, description: Who pays., data_tests: [unique, not_null]}
      - {name: cost, data_type: "decimal(38,2)", constraints: [{type: not_null}]}
      - {name: name, data_type: varchar}
unit_tests:
  - name: costs_are_added_up
    model: costs
    overrides: {macros: {lakebed.is_incremental: true}}
    given:
      - {input: "source('bills', 'lines')", rows: [{account: 1, cost: 1}, {account: 1, cost: 2}]}
      - {input: ref('accounts'), rows: [{account: 1, name: one}]}
    expect: {rows: [{account: 1, cost: 3, name: one}]}
"""
FILES = {
    "models/costs.sql": """{{ config(materialized='lakebed', unique_key='account') }}
select account::integer as account, sum(cost)::decimal(38,2) as cost, any_value(name)::varchar as name
from {{ source('bills', 'lines') }} left join {{ ref('accounts') }} using (account) group by account""",
    "models/below.sql": "{{ config(materialized='table') }}"
    " select count(*) as n, sum(cost) as cost from {{ ref('costs') }} where true",
    "models/schema.yml": SCHEMA,
    "seeds/accounts.csv": "account,name\n1,one\n2,two\n",
    "snapshots/kept.yml": "snapshots: [{name: kept, relation: ref('costs'),"
    " config: {unique_key: account, strategy: check, check_cols: all}}]",
}


def lines(*rows: tuple[int, int, int]) -> pa.Table:
    """Account, cost and day of October 2026."""
    return pa.table(
        {
            "account": pa.array([one for one, _, _ in rows], pa.int32()),
            "cost": pa.array([cost for _, cost, _ in rows], pa.int64()),
            "at": pa.array([datetime(2026, 10, day, tzinfo=UTC) for _, _, day in rows], pa.timestamp("us")),
            # As a bill names it.
            "lineItem/Type": ["usage"] * len(rows),
        }
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, dbt: DbtProcess) -> Project:
    """A project that was built once, on top of a table that Lakebed filled."""
    project = new_project(tmp_path_factory.mktemp("shop"), dbt, {}, threads=4).write(FILES)
    lakebed.write(lines((1, 5, 1), (1, 6, 2), (2, 7, 2)), "iceberg:bills.lines", workdir=project.folder / ".lakebed")
    built = project.dbt("build").ok()
    assert set(built.nodes.values()) == {"success", "pass"}, built.said
    assert built.nodes["costs_are_added_up"] == "pass"
    assert "grants are ignored" in built.said
    return project


def test_other_writers_are_seen_without_running_the_model(project: Project) -> None:
    more = pa.table({"account": pa.array([3], pa.int32()), "cost": [pa.scalar(4).as_py()], "region": ["eu"]})
    lakebed.merge(more, "iceberg:main.costs", keys="account", workdir=project.folder / ".lakebed")
    project.dbt("build", "-s", "below").ok()
    assert project.query("SELECT n, cost::INTEGER FROM below") == [(3, 22)]
    assert [name for name, _ in project.columns("costs")] == ["account", "cost", "name", "region"]


def test_the_docs_say_what_it_is(project: Project) -> None:
    project.dbt("docs", "generate").ok()
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text())
    costs = catalog["nodes"]["model.shop.costs"]
    assert costs["metadata"]["comment"] == "Costs by account.\n\nIceberg table iceberg:main.costs"
    assert costs["columns"]["account"]["comment"] == "Who pays."
    source = catalog["sources"]["source.shop.bills.lines"]
    assert source["metadata"]["comment"] == "Iceberg table iceberg:bills.lines"


def test_freshness_selection_and_empty_runs(project: Project) -> None:
    fresh = project.dbt("source", "freshness")
    assert list(fresh.nodes.values()) == ["warn"], fresh.said  # October is long ago, and it could be asked
    project.dbt("run", "--empty", "-s", "costs").ok()
    assert project.query("SELECT count(*) FROM costs")[0][0] >= 2
    state = project.folder / "state"
    state.mkdir()
    (project.folder / "target" / "manifest.json").rename(state / "manifest.json")
    below = project.folder / "models" / "below.sql"
    below.write_text(f"{below.read_text()} and true")
    modified = project.dbt("run", "-s", "state:modified", "--state", "state").ok()
    assert [name for name in modified.nodes if "on-run-start" not in name] == ["below"]


def test_samples(project: Project) -> None:
    """The model is built of the first of October alone; what a merge does not select stays."""
    project.dbt("run", "-s", "costs", "--sample", '{"start": "2026-10-01", "end": "2026-10-02"}').ok()
    assert project.query("SELECT cost::INTEGER FROM costs WHERE account <= 2 ORDER BY account") == [(5,), (7,)]


def test_a_retry_after_a_contract_was_broken(project: Project) -> None:
    place = project.folder / ".lakebed"
    lakebed.write(
        lines((9, 1, 3)).set_column(1, "cost", pa.array([None], pa.int64())), "iceberg:bills.lines", workdir=place
    )
    broken = project.dbt("run", "-s", "costs", "below")
    assert broken.nodes["costs"] == "error"
    assert broken.nodes["below"] == "skipped"
    assert "the contract of costs says that cost is not NULL, and 1 rows have none" in broken.messages["costs"]
    lakebed.write(lines((9, 1, 3)), "iceberg:bills.lines", workdir=place)
    again = project.dbt("retry").ok()
    assert {again.nodes["costs"], again.nodes["below"]} == {"success"}


def test_seeds_keep_their_own_materialization(tmp_path: Path, dbt: DbtProcess) -> None:
    project = new_project(tmp_path, dbt, {"m.sql": "select 1 as id"})
    project.write({"seeds/s.csv": "a\n1\n", "seeds/s.yml": "seeds: [{name: s, config: {materialized: lakebed}}]"})
    ran = project.dbt("seed")
    assert not ran.success
    assert "seed" in ran.said.partition("materialized")[2], ran.said  # dbt's own sentence
