"""Runs that die: the table is the old one or the new one, and the next run makes it whole, each row once."""

import ast
from pathlib import Path

import pytest
from tests.support.dbt_env import DbtProcess, Project, new_project
from tests.surface.source_tree import modules

import lakebed

pytestmark = pytest.mark.processes

MODELS = {
    # It looks at what is there: after a kill it must select the same rows again.
    "added.sql": """{{ config(materialized='lakebed') }}
select n from range(0, {{ env_var('RUN') | int }}) t(n)
{% if lakebed.is_incremental() %} where n > (select max(n) from {{ this }}) {% endif %}""",
    # It does not.
    "merged.sql": """{{ config(materialized='lakebed', unique_key='id') }}
select 1 as id, {{ env_var('RUN') }} as run {% if env_var('RUN') != '2' %}, 'x' as more {% endif %}""",
}
# After the table's commit and before dbt's: where an append could be lost or doubled.
BETWEEN = ("model committed 1", "before create or replace view 3", 'before insert into "dev".lakebed 1')


def rows(project: Project, table: str, column: str) -> list[int]:
    held = lakebed.read(f"iceberg:main.{table}", workdir=project.folder / ".lakebed").to_table()
    return sorted(held[column].to_pylist())


def start(folder: Path, dbt: DbtProcess) -> Project:
    """A project whose models have run once."""
    project = new_project(folder, dbt, MODELS)
    project.run(2).ok()
    return project


def die_and_run_again(project: Project, point: str) -> None:
    died = project.dbt("run", run=4, stop_at=point)
    assert died.code == -9, point
    assert rows(project, "added", "n") in ([0, 1], [0, 1, 2, 3]), point
    assert rows(project, "merged", "run") in ([2], [4]), point
    project.run(4).ok()
    assert rows(project, "added", "n") == [0, 1, 2, 3], point
    assert [n for (n,) in project.query("SELECT n FROM added ORDER BY n")] == [0, 1, 2, 3], point
    assert project.query("SELECT run, more FROM merged") == [(4, "x")], point


@pytest.mark.parametrize("point", BETWEEN)
def test_between_the_two_commits(point: str, tmp_path: Path, dbt: DbtProcess) -> None:
    die_and_run_again(start(tmp_path, dbt), point)


@pytest.mark.full
def test_at_every_point(tmp_path: Path, dbt: DbtProcess) -> None:
    points = start(tmp_path / "all", dbt).run(4).ok().points
    steps = {name.rpartition(" ")[0] for name in points}
    named = {
        str(node.args[0].value)
        for module in modules()
        if module.name.startswith("dbt.")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "pass_checkpoint"
        and isinstance(node.args[0], ast.Constant)
    }
    assert named - steps == {"old table adopted"}
    for number, point in enumerate(points):
        die_and_run_again(start(tmp_path / str(number), dbt), point)


def test_other_rows_after_an_append_that_dbt_does_not_know_of(tmp_path: Path, dbt: DbtProcess) -> None:
    project = start(tmp_path, dbt)
    assert project.dbt("run", "-s", "added", run=4, stop_at="model committed 1").code == -9
    refused = project.dbt("run", "-s", "added", run=5)
    assert refused.nodes["added"] == "error"
    said = refused.messages["added"]
    assert "an earlier run appended rows to iceberg:main.added and ended before dbt's database knew of it" in said
    assert "--vars '{lakebed_accept: added}'" in said
    assert rows(project, "added", "n") == [0, 1, 2, 3]
    # As the message says: back to before, and the model selects all of it again.
    snapshot = int(said.partition("lakebed rollback iceberg:main.added ")[2].partition("`")[0])
    lakebed.rollback("iceberg:main.added", snapshot, workdir=tmp_path / ".lakebed")
    project.dbt("run", "-s", "added", run=5).ok()
    assert rows(project, "added", "n") == [0, 1, 2, 3, 4]
