"""Where stock dbt-duckdb fails or loses data, and what the materialization `lakebed` does with the same models.

Each test runs the same SQL twice: as dbt-duckdb's own incremental model, and as one of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.dbt_env import DbtProcess, Project, Ran, new_project

pytestmark = pytest.mark.processes

# name -> what the model selects in the first run, and in the second
CHANGES: Mapping[str, tuple[str, str]] = {
    "another_case": ("select 1 as id, 'a' as name", "select 2 as id, 'b' as \"Name\""),
    "wider_integer": ("select 1::integer as id, 1::integer as n", "select 2::integer as id, 3000000000 as n"),
    "new_field": ("select 1 as id, {'a': 1} as st", "select 2 as id, {'a': 2, 'b': 'new'} as st"),
    "new_struct": ("select 1 as id", "select 2 as id, {'a': 2} as st"),
    "finer_decimal": ("select 1 as id, 1.25::decimal(9,2) as cost", "select 2 as id, 0.0049::decimal(18,4) as cost"),
}
CONFIG = "{{{{ config(materialized='{kind}', unique_key='id', incremental_strategy='delete+insert', {more}) }}}}\n"
SQL = "{{% if env_var('RUN') == '1' %}} {first} {{% else %}} {second} {{% endif %}}"


def models(kind: str) -> dict[str, str]:
    written = {
        f"{name}.sql": CONFIG.format(kind=kind, more="on_schema_change='append_new_columns'")
        + SQL.format(first=first, second=second)
        for name, (first, second) in CHANGES.items()
    }
    dropping = "on_schema_change='sync_all_columns'"
    written["synced.sql"] = CONFIG.format(kind=kind, more=dropping) + SQL.format(
        first="select 1 as id, 'only here' as gone", second="select 2 as id"
    )
    return written


@dataclass(frozen=True)
class Both:
    """The two projects after both runs."""

    stock: Project
    ours: Project
    of_stock: Ran
    of_ours: Ran

    def rows(self, name: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        query = f"SELECT * FROM {name} ORDER BY id"
        return self.stock.query(query), self.ours.query(query)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, dbt: DbtProcess) -> Both:
    stock = new_project(tmp_path_factory.mktemp("stock"), dbt, models("incremental"), stock=True, threads=4)
    ours = new_project(tmp_path_factory.mktemp("ours"), dbt, models("lakebed"), threads=4)
    stock.run(1).ok()
    # What ours refuses it refuses before the first row.
    assert ours.run(1).nodes["synced"] == "error"
    return Both(stock, ours, stock.run(2), ours.run(2))


def test_a_name_in_another_case(both: Both) -> None:
    assert both.of_stock.nodes["another_case"] == "error"
    assert both.rows("another_case")[1] == [(1, "a"), (2, "b")]


def test_a_wider_integer(both: Both) -> None:
    assert both.of_stock.nodes["wider_integer"] == "error"
    assert both.rows("wider_integer")[1] == [(1, 1), (2, 3000000000)]


def test_a_new_field_of_a_struct(both: Both) -> None:
    stock, ours = both.rows("new_field")
    assert both.of_stock.nodes["new_field"] == "success"
    assert stock == [(1, {"a": 1}), (2, {"a": 2})]  # silently lost
    assert ours == [(1, {"a": 1, "b": None}), (2, {"a": 2, "b": "new"})]


def test_a_new_struct(both: Both) -> None:
    """Into DuckDB stock dbt-duckdb adds it; into an Iceberg catalog, which is where it fails, see docs/dbt.md."""
    assert both.rows("new_struct")[1] == [(1, None), (2, {"a": 2})]


def test_a_decimal_with_more_places(both: Both) -> None:
    stock, _ = both.rows("finer_decimal")
    assert both.of_stock.nodes["finer_decimal"] == "success"
    assert [str(cost) for _, cost in stock] == ["1.25", "0.00"]  # silently rounded
    assert both.of_ours.nodes["finer_decimal"] == "error"
    assert "cost" in both.of_ours.messages["finer_decimal"]
    assert both.rows("finer_decimal")[1] == both.ours.query("SELECT 1, 1.25::DECIMAL(9,2)")


def test_columns_are_synchronised_away(both: Both) -> None:
    assert [name for name, _ in both.stock.columns("synced")] == ["id"]  # the values are gone
    assert "would drop the columns" in both.of_ours.messages["synced"]


def test_a_full_refresh_replaces_the_table(both: Both) -> None:
    # Rows that the sources have no more: those of the first run.
    both.stock.dbt("run", "--full-refresh", "-s", "new_struct", run=2).ok()
    refused = both.ours.dbt("run", "--full-refresh", "-s", "new_struct", run=2)
    assert both.rows("new_struct") == ([(2, {"a": 2})], [(1, None), (2, {"a": 2})])
    assert "--full-refresh would replace all that iceberg:main.new_struct holds" in refused.messages["new_struct"]
    assert "Traceback" not in refused.said
