"""What single words of the configuration do in a real run, and what is said where it must not be done."""

from pathlib import Path

import pytest
from tests.support.dbt_env import DbtProcess, Project, new_project

import lakebed

pytestmark = pytest.mark.processes


def model(select_first: str, select_second: str, **config: object) -> str:
    words = ", ".join(f"{name}={value!r}" for name, value in {"materialized": "lakebed", **config}.items())
    return (
        f"{{{{ config({words}) }}}}\n{{% if env_var('RUN') == '1' %}} {select_first} {{% else %}} {select_second}"
        " {% endif %}"
    )


OLD, NEW = "select 1 as id, 'a' as old", "select 1 as id, 'b' as new"
MODELS = {
    "ignoring.sql": model(OLD, NEW, unique_key="id", on_schema_change="ignore"),
    "failing.sql": model(OLD, NEW, unique_key="id", on_schema_change="fail"),
    "syncing.sql": model(OLD, NEW, unique_key="id", on_schema_change="sync_all_columns", lakebed_allow_drop=True),
    "nulling.sql": model(OLD, NEW, unique_key="id", missing="null"),
    "refreshed.sql": model(OLD, NEW, unique_key="id", lakebed_allow_drop=True),
    "varying.sql": model(
        "select 1 as id, 5 as v", "select 1 as id, 'text' as v", unique_key="id", on_conflict="variant"
    ),
    "twice.sql": model(OLD, "select 1 as id union all select 1", unique_key="id"),
    "keyless.sql": model(OLD, "select null::integer as id", unique_key="id"),
    "elsewhere.sql": model(OLD, OLD, unique_key="id", lakebed_target="duckdb:other.duckdb#t"),
    "branch.sql": model(OLD, OLD, unique_key="id", lakebed_target="iceberg:a.b@c"),
    "nothing.sql": model("select 1 as id where false", "select 2 as id, 'n' as new where false", unique_key="id"),
    "documented.sql": model(OLD, NEW, unique_key="id", lakebed_target="duckdb", persist_docs={"columns": True}),
    # A table of dbt's own that becomes one of ours; the second run selects the delta alone.
    "before.sql": "{{ config(materialized='incremental', unique_key='id') }} select 1 as id, 'kept' as note",
    "schema.yml": "models: [{name: documented, columns: [{name: id, description: the key}]}]",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, dbt: DbtProcess) -> Project:
    project = new_project(tmp_path_factory.mktemp("models"), dbt, MODELS, threads=4)
    first = project.run(1)
    assert {name for name, status in first.nodes.items() if status != "success"} == {"elsewhere", "branch"}
    return project


def test_each_word(project: Project) -> None:
    project.write(
        {
            "models/before.sql": "{{ config(materialized='lakebed', unique_key='id') }} select 2 as id, 'new' as note"
            " {% if not lakebed.is_incremental() %} where false {% endif %}"
        }
    )
    ran = project.run(2)
    assert "Traceback" not in ran.said
    refused = {name: ran.messages[name] for name, status in ran.nodes.items() if status == "error"}
    expected = {
        "failing": "on_schema_change='fail'",
        "twice": "more than once",
        "keyless": "NULL",
        "elsewhere": "cannot be written while dbt has it open",
        "branch": "is a branch",
    }
    assert refused.keys() == expected.keys(), ran.said
    for name, said in expected.items():
        assert said in refused[name], refused[name]
        assert refused[name].startswith(f"Runtime Error in model {name} (models/{name}.sql)")
    assert project.query("FROM ignoring") == [(1, "a")]
    assert project.query("FROM failing") == project.query("FROM twice") == project.query("FROM keyless") == [(1, "a")]
    assert project.query("FROM nulling") == [(1, None, "b")]
    # The view does not show the column, and the table has it still.
    assert project.query("FROM syncing") == [(1, "b")]
    held = lakebed.read("iceberg:main.syncing", workdir=project.folder / ".lakebed").to_table().to_pylist()
    assert held == [{"id": 1, "old": "a", "new": "b"}]
    [columns] = [[name for name, _ in project.columns("varying")]]
    assert columns[:2] == ["id", "v"]
    assert len(columns) == 3
    assert project.columns("nothing") == [("id", "INTEGER"), ("new", "VARCHAR")]
    assert project.query("FROM documented") == [(1, "a", "b")]
    # The old table's rows were taken, and it is kept.
    assert sorted(project.query("FROM before")) == [(1, "kept"), (2, "new")]
    assert project.query("FROM before__before_lakebed") == [(1, "kept")]


def test_a_full_refresh_that_is_allowed(project: Project) -> None:
    ran = project.dbt("run", "--full-refresh", "-s", "refreshed", "documented", run=2)
    assert (ran.nodes["refreshed"], ran.nodes["documented"]) == ("success", "error")
    # Rows are replaced, columns stay.
    assert project.query("FROM refreshed") == [(1, None, "b")]
    assert project.query("FROM documented") == [(1, "a", "b")]


def test_a_project_without_the_plugin(project: Project, tmp_path: Path) -> None:
    bare = new_project(tmp_path, project.process, {"m.sql": MODELS["nulling.sql"]}, stock=True)
    (tmp_path / "packages.yml").write_text((project.folder / "packages.yml").read_text())
    (tmp_path / "dbt_packages").symlink_to(project.folder / "dbt_packages")
    ran = bare.run(1)
    assert not ran.success
    assert "the plugin lakebed is not in the profile's target dev: run `lakebed dbt init`" in ran.said
