"""dbt projects: what dbt compiled, and where it compiled nothing, the files of the project."""

import json
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import ConfigError
from lakebed.lineage.dbt_project import read_dbt_project

PROJECT = """
name: shop
vars: {first_day: '2026-01-01', shop: {currency: EUR}}
models:
  shop:
    staging: {+schema: staging, +materialized: view}
    marts: {+materialized: table}
"""
SOURCES = """
sources:
  - name: raw
    schema: raw_data
    tables:
      - name: orders
        identifier: t_orders
        columns: [{name: id, data_type: int}, {name: amount, data_type: "decimal(10,2)"}]
      - name: customers
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def shop(folder: Path, **more: str) -> Path:
    return write(
        folder,
        {
            "dbt_project.yml": PROJECT,
            "models/staging/sources.yml": SOURCES,
            "models/staging/stg_orders.sql": "select id, amount, country from {{ source('raw', 'orders') }}",
            "models/marts/totals.sql": (
                "{{ config(alias='order_totals') }}\n"
                "select country, {{ cents('amount') }} as cents\n"
                "from {{ ref('stg_orders') }}\n"
                "join {{ ref('countries') }} using (country)\n"
                "{% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}"
            ),
            "models/a_report.sql": "select cents from {{ ref('shop', 'totals') }} where day > '{{ var('first_day') }}'",
            "macros/money.sql": "{% macro cents(column) %}({{ column }} * 100)::int{% endmacro %}",
            "macros/tests.sql": "{% test positive(model) %}select 1{% endtest %}{% macro other() %}1{% endmacro %}",
            "seeds/countries.csv": "country,name\nDE,Germany\n",
            **{name.replace("__", "/") + ".sql": text for name, text in more.items()},
        },
    )


def edges(result: lakebed.AnalyzeResult) -> set[str]:
    return {
        f"{e.source_table}.{e.source_column} -> {e.target_table}.{e.target_column} {e.role}"
        for s in result.statements
        for e in s.column_lineage
    }


def test_a_project_that_was_never_compiled(tmp_path: Path) -> None:
    result = lakebed.analyze_project(dbt=shop(tmp_path), dialect="duckdb")
    assert [(s.statement_type, s.target) for s in result.statements] == [
        ("CREATE_VIEW", "staging.stg_orders"),
        ("CREATE_TABLE_AS", "order_totals"),
        ("CREATE_VIEW", "a_report"),
    ]
    assert edges(result) >= {
        "raw_data.t_orders.amount -> staging.stg_orders.amount value",
        "staging.stg_orders.amount -> order_totals.cents value",
        "countries.country -> order_totals.None join",
        "order_totals.cents -> a_report.cents value",
    }
    assert {issue.code for issue in result.issues} == {"UNKNOWN_COLUMN"}  # a_report asks for a day that is not there


def test_macros_of_packages_are_stubs_and_are_told(tmp_path: Path) -> None:
    shop(
        tmp_path,
        models__keys="select {{ dbt_utils.generate_surrogate_key(['id', 'amount']) }} as key,"
        " {{ dbt.date_trunc('day', 'at') }} as day from {{ ref('stg_orders') }}"
        "{% for c in dbt_utils.get_column_values(table=ref('stg_orders'), column='id') %}, {{ c }}{% endfor %}",
        models__stars="select {{ dbt_utils.star(from=ref('stg_orders')) }} from {{ ref('stg_orders') }}",
        models__asks="select {{ run_query('select 1').columns[0].values() }} as x",
    )
    result = lakebed.analyze_project(dbt=tmp_path, dialect="duckdb")
    told = {issue.message.split("the macro ")[1].split()[0] for issue in result.issues if issue.code == "UNKNOWN_MACRO"}
    assert told >= {"dbt_utils.generate_surrogate_key", "dbt.date_trunc", "dbt_utils.star", "run_query"}
    assert edges(result) >= {
        "staging.stg_orders.id -> keys.key value",
        "staging.stg_orders.amount -> keys.key value",
        "staging.stg_orders.country -> stars.country value",
    }


def test_one_bad_model_does_not_end_the_run(tmp_path: Path) -> None:
    shop(
        tmp_path,
        models__unclosed="select {{ 1 +",
        models__missing_var="select {{ var('nowhere') }} as x",
        models__refuses="{{ exceptions.raise_compiler_error('not here') }}",
        models__plain_name="select {{ undefined_thing }} as x",
    )
    (tmp_path / "models" / "latin.sql").write_bytes("select 'ü' as x".encode("latin-1"))
    (tmp_path / "models" / "broken.yml").write_text("models: [")
    result = lakebed.analyze_project(dbt=tmp_path, dialect="duckdb")
    bad = {Path(issue.file or "").stem: issue.code for issue in result.issues if issue.file}
    assert bad | {"totals": ""} == {
        "unclosed": "TEMPLATE_ERROR",
        "missing_var": "TEMPLATE_ERROR",
        "refuses": "TEMPLATE_ERROR",
        "plain_name": "TEMPLATE_ERROR",
        "latin": "UNREADABLE_FILE",
        "broken": "UNREADABLE_FILE",
        "a_report": "UNKNOWN_COLUMN",
        "totals": "",
    }
    assert "order_totals" in {s.target for s in result.statements}


def test_models_in_a_circle_are_an_issue(tmp_path: Path) -> None:
    shop(tmp_path, models__one="select x from {{ ref('two') }}", models__two="select x from {{ ref('one') }}")
    result = lakebed.analyze_project(dbt=tmp_path, dialect="duckdb")
    assert [issue.code for issue in result.issues].count("DEPENDENCY_CYCLE") == 1
    assert {"one", "two"} <= {s.target for s in result.statements}


def test_snapshots_versions_returned_lists_and_dispatched_macros(tmp_path: Path) -> None:
    write(
        shop(
            tmp_path,
            models__m_v2="select id from {{ ref('orders_snapshot') }}",
            models__reader="select {% for c in names() %}{{ c }}{{ ', ' if not loop.last }}{% endfor %}"
            " from {{ ref('m', v=2) }}",
            models__sent="select {{ shop.sent('id') }} as s from {{ ref('stg_orders') }}",
        ),
        {
            "snapshots/s.sql": "{% snapshot orders_snapshot %}\n{{ config(unique_key='id') }}\n"
            "select id from {{ ref('stg_orders') }}\n{% endsnapshot %}",
            "macros/lists.sql": "{% macro names() %}{{ return(['id', 'id + 1 as next']) }}{% endmacro %}"
            "{% macro sent(c) %}{{ return(adapter.dispatch('sent')(c)) }}{% endmacro %}"
            "{% macro default__sent(c) %}coalesce({{ c }}, 0){% endmacro %}",
        },
    )
    result = lakebed.analyze_project(dbt=tmp_path, dialect="duckdb")
    assert edges(result) >= {
        "staging.stg_orders.id -> orders_snapshot.id value",
        "orders_snapshot.id -> m_v2.id value",
        "m_v2.id -> reader.next value",
        "staging.stg_orders.id -> sent.s value",
    }


def test_the_environment_keeps_its_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_PLACE", "here")
    monkeypatch.setenv("DBT_ENV_SECRET_KEY", "hush")
    monkeypatch.setenv("PASSWORD", "hush")
    sql = (
        "select '{{ env_var('DBT_PLACE') }}{{ env_var('DBT_ENV_SECRET_KEY', 'x') }}{{ env_var('PASSWORD', 'y') }}' as a"
    )
    [script] = [
        s for s in read_dbt_project(shop(tmp_path, models__env=sql)).scripts if Path(s.file or "").stem == "env"
    ]
    assert script.sql == "select 'herexy' as a"


def test_templates_of_a_project_cannot_reach_the_machine(tmp_path: Path) -> None:
    shop(
        tmp_path,
        models__up="select '{{ config.__class__.__mro__ }}' as a",
        models__out="select '{{ modules.datetime.sys }}' as a",
        models__run="select '{{ ref.__globals__ }}' as a",
    )
    result = lakebed.analyze_project(dbt=tmp_path, dialect="duckdb")
    told = [issue for issue in result.issues if issue.code == "TEMPLATE_ERROR"]
    assert {Path(issue.file or "").stem for issue in told} == {"up", "out", "run"}


def manifest(tmp_path: Path, nodes: dict[str, object], **parts: object) -> Path:
    target = tmp_path / "target"
    target.mkdir(exist_ok=True)
    (target / "manifest.json").write_text(json.dumps({"nodes": nodes, **parts}))
    return tmp_path


def model(name: str, compiled: str | None, raw: str = "", materialized: str = "view") -> dict[str, object]:
    return {
        "resource_type": "model",
        "name": name,
        "schema": "s",
        "database": "db",
        "relation_name": f'"db"."s"."{name}"',
        "original_file_path": f"models/{name}.sql",
        "compiled_code": compiled,
        "raw_code": raw,
        "config": {"materialized": materialized},
    }


def test_compiled_models_come_after_what_they_read(tmp_path: Path) -> None:
    nodes = {
        "model.p.b": model("b", 'select * from "db"."s"."a"', materialized="table"),
        "model.p.a": model("a", 'select id, cost from "db"."raw"."t";\n'),
        "test.p.x": {"resource_type": "test"},
        "model.p.odd": None,
    }
    for place in (manifest(tmp_path, nodes), tmp_path / "target", tmp_path / "target" / "manifest.json"):
        result = lakebed.analyze_project(dbt=place, dialect="postgres")
        assert [(s.statement_type, s.target, s.file) for s in result.statements] == [
            ("CREATE_VIEW", "db.s.a", "models/a.sql"),
            ("CREATE_TABLE_AS", "db.s.b", "models/b.sql"),
        ]
        assert result.statements[1].outputs == ("id", "cost")


def test_models_that_are_not_compiled_are_rendered_with_the_manifests_names(tmp_path: Path) -> None:
    nodes = {
        "model.p.a": model("a", None, "select id from {{ source('raw', 'orders') }}"),
        "model.p.b": model("b", None, "select id from {{ ref('a') }}"),
        "model.p.c": model("c", None, "select {{ 1 +"),
    }
    sources = {
        "source.p.raw.orders": {
            "resource_type": "source",
            "name": "orders",
            "source_name": "raw",
            "schema": "land",
            "identifier": "o",
            "relation_name": '"db"."land"."o"',
        }
    }
    result = lakebed.analyze_project(dbt=manifest(tmp_path, nodes, sources=sources), dialect="postgres")
    assert edges(result) == {"db.land.o.id -> db.s.a.id value", "db.s.a.id -> db.s.b.id value"}
    assert [(i.code, i.file) for i in result.issues if i.severity == "error"] == [("TEMPLATE_ERROR", "models/c.sql")]


def test_the_catalog_gives_columns_and_types_of_what_sql_does_not_make(tmp_path: Path) -> None:
    python = {**model("py", None), "language": "python"}
    nodes = {
        "model.p.py": python,
        "model.p.a": model("a", 'select * from "db"."s"."py" join "db"."raw"."t" using (id)'),
    }
    sources = {"source.p.raw.t": {"resource_type": "source", "name": "t", "schema": "raw", "database": "db"}}
    folder = manifest(tmp_path, nodes, sources=sources)
    described = {
        "nodes": {
            "model.p.py": {
                "metadata": {"database": "db", "schema": "s", "name": "py"},
                "columns": {
                    "score": {"name": "score", "type": "DOUBLE", "index": 2},
                    "id": {"name": "id", "type": "INT", "index": 1},
                },
            }
        },
        "sources": {
            "source.p.raw.t": {
                "metadata": {"database": "db", "schema": "raw", "name": "t"},
                "columns": {"id": {"name": "id", "type": "INT", "index": 1}},
            }
        },
    }
    (folder / "target" / "catalog.json").write_text(json.dumps(described))
    result = lakebed.analyze_project(dbt=folder, dialect="postgres")
    assert result.statements[0].outputs == ("id", "score")
    assert [issue.severity for issue in result.issues] == ["info"]
    types = {c.name: c.data_type for t in result.resolved_schema.tables if t.name == "py" for c in t.columns}
    assert types == {"id": "INT", "score": "DOUBLE"}
    (folder / "target" / "catalog.json").write_text("{")
    assert "UNREADABLE_FILE" in {i.code for i in lakebed.analyze_project(dbt=folder, dialect="postgres").issues}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nodes": 1}'])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="manifest"):
        lakebed.analyze_project(dbt=file)


def test_what_is_no_project_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ConfigError, match="dbt"):
            lakebed.analyze_project(dbt=place)
    (tmp_path / "dbt_project.yml").write_text("name: [")
    with pytest.raises(ConfigError, match="YAML"):
        lakebed.analyze_project(dbt=tmp_path)
    (tmp_path / "dbt_project.yml").write_text("name: empty")
    assert lakebed.analyze_project(dbt=tmp_path).statements == ()


def test_macros_that_fail_while_they_are_read_stay_stubs(tmp_path: Path) -> None:
    write(
        shop(
            tmp_path,
            models__uses="select {{ broken_one('id') }} as x, {{ endless('id') }} as y from {{ ref('stg_orders') }}",
        ),
        {
            "macros/zero.sql": "{{ 1 / 0 }}{% macro broken_one(c) %}{{ c }}{% endmacro %}",
            "macros/large.sql": "{% set x = 'a' * 10 ** 12 %}{% macro endless(c) %}{{ c }}{% endmacro %}",
            "macros/unclosed.sql": "{% macro unclosed(c) %}",
        },
    )
    result = lakebed.analyze_project(dbt=tmp_path, dialect="duckdb")
    failed = {Path(issue.file or "").stem for issue in result.issues if issue.code == "TEMPLATE_ERROR"}
    assert failed == {"zero", "large", "unclosed"}
    assert "staging.stg_orders.id -> uses.x value" in edges(result)


def test_folders_outside_of_the_project_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.sql").write_text("select 1 as a")
    project = tmp_path / "project"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: p\nmodel-paths: ['/', '..', 'models']")
    assert read_dbt_project(project).scripts == ()
