"""Jinja templates with variables, and dbt manifests."""

import json
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import ConfigError, LineageError
from lakebed.lineage.templates import dbt_scripts, looks_like_template, render


def test_variables_loops_and_dbts_words() -> None:
    sql = (
        "{{ config(materialized='table') }} SELECT {% for c in columns %}{{ c }}{{ ',' if not loop.last }}{% endfor %} "
        "FROM {{ ref('orders') }} JOIN {{ source('raw', 'users') }} USING (id) WHERE day > '{{ var('day') }}'"
    )
    assert looks_like_template(sql)
    text = render(sql, {"columns": ["a", "b"], "day": "2026-01-01"})
    assert text.strip() == "SELECT a,b FROM orders JOIN raw.users USING (id) WHERE day > '2026-01-01'"


@pytest.mark.parametrize("sql", ["SELECT {{ missing }}", "SELECT {{ var('missing') }}", "{% if %}", "{{ 1/0 }}"])
def test_a_template_that_cannot_be_rendered_is_refused(sql: str) -> None:
    if sql == "{{ 1/0 }}":
        with pytest.raises((LineageError, ZeroDivisionError)):
            render(sql, {})
        return
    with pytest.raises(LineageError) as refused:
        render(sql, {})
    assert refused.value.remedy


def test_a_template_cannot_reach_the_machine() -> None:
    with pytest.raises(LineageError):
        render("{{ ''.__class__.__mro__[1].__subclasses__() }}", {})


def manifest(tmp_path: Path, nodes: dict[str, object]) -> Path:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps({"nodes": nodes}))
    return file


def model(name: str, sql: str | None, *depends: str, materialized: str = "view") -> dict[str, object]:
    return {
        "resource_type": "model",
        "name": name,
        "schema": "s",
        "relation_name": f'"db"."s"."{name}"',
        "original_file_path": f"models/{name}.sql",
        "compiled_code": sql,
        "config": {"materialized": materialized},
        "depends_on": {"nodes": [f"model.p.{d}" for d in depends]},
    }


def test_models_come_after_what_they_read(tmp_path: Path) -> None:
    file = manifest(
        tmp_path,
        {
            "model.p.b": model("b", 'select * from "db"."s"."a"', "a", materialized="table"),
            "model.p.a": model("a", 'select id, cost from "db"."raw"."t"'),
            "test.p.x": {"resource_type": "test"},
        },
    )
    result = lakebed.analyze(dbt_scripts(file), dialect="postgres")
    assert [(s.statement_type, s.target, s.file) for s in result.statements] == [
        ("CREATE_VIEW", "db.s.a", "models/a.sql"),
        ("CREATE_TABLE_AS", "db.s.b", "models/b.sql"),
    ]
    assert result.statements[1].outputs == ("id", "cost")


def test_a_manifest_that_is_not_compiled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LineageError, match="dbt compile"):
        list(dbt_scripts(manifest(tmp_path, {"model.p.a": model("a", None)})))
    with pytest.raises(ConfigError, match="manifest"):
        list(dbt_scripts(tmp_path / "nothing.json"))
    cycle = {"model.p.a": model("a", "select 1", "b"), "model.p.b": model("b", "select 1", "a")}
    with pytest.raises(LineageError, match="cycle"):
        list(dbt_scripts(manifest(tmp_path, cycle)))


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**9 }}",
        "{{ 'a'|center(10**9) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ 'x'.ljust(10**9) }}",
        "{{ 10 ** (10 ** 9) }}",
        "{{ ['a' * 1000000] * 1000000 }}",
        "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
        "{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}",
        "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ 1 / 0 }}",
        "{% include 'other.sql' %}",
        "{% import 'other.sql' as o %}",
        "{{ none.x() }}",
    ],
)
def test_a_template_that_computes_too_much_or_fails_is_refused(template: str) -> None:
    with pytest.raises(LineageError, match=r"model\.sql"):
        render(template, {}, file="model.sql")


def test_what_templates_usually_do_still_works() -> None:
    template = (
        "{% set parts = ['a', 'b'] %}SELECT {% for p in parts %}{{ p ~ '_' ~ loop.index }}{{ ', ' if not loop.last }}"
        "{% endfor %}, {{ parts|map('upper')|join(', ') }}"
        " FROM {{ 't' * 2 }}_{{ '%02d' % 7 }}_{{ '{}'.format(2 ** 3) }}"
    )
    assert render(template, {}) == "SELECT a_1, b_2, A, B FROM tt_07_8"
