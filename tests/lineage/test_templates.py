"""Jinja templates with variables."""

import pytest

from lakebed.errors import LineageError
from lakebed.lineage.templates import looks_like_template, render


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
