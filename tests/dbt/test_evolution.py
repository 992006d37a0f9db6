"""The specification's integration tests through real `dbt run`: both evolution cycles, merges, appends, downstream."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.dbt_env import DbtProcess, Project, new_project
from tests.support.s3_server import S3Server
from tests.support.strangers import attach_rest

pytestmark = pytest.mark.processes

MODELS = {
    # Run 1: [a, b, c]; then [a, b, d].
    "once.sql": """
{{ config(materialized='lakebed', unique_key='a', incremental_strategy='delete+insert') }}
{% if env_var('RUN') == '1' %} select 1 as a, 'b1' as b, 'c1' as c union all select 2, 'b2', 'c2'
{% else %} select 2 as a, 'B2' as "B", 'd2' as d union all select 3, 'B3', 'd3' {% endif %}
""",
    # Run 1: [a, b]; run 2: [a, c]; run 3: [a, d].
    "cycles.sql": """
{{ config(materialized='lakebed', unique_key='a', incremental_strategy='delete+insert',
          on_schema_change='append_new_columns') }}
select {{ env_var('RUN') }} as a, 'v{{ env_var('RUN') }}' as {{ ['b', 'c', 'd'][env_var('RUN') | int - 1] }}
""",
    # A merge keeps what the model does not select, in structs too; types only grow; names are matched in any case.
    "kept.sql": """
{{ config(materialized='lakebed', unique_key=['CustomerID', 'day'], partition_by=['day']) }}
{% if env_var('RUN') == '1' %}
select 1::integer as customerid, 'mon' as day, 7::integer as n, 1.25::decimal(9,2) as amount, 'x' as gone,
       {'a': 1, 'b': 'kept'} as st
{% else %}
select 1::bigint as "CustomerID", 'mon' as day, 3000000000 as n, 12345678901.25::decimal(18,2) as amount,
       {'a': 2, 'c': true} as st
{% endif %}
""",
    "added.sql": """
{{ config(materialized='lakebed') }}
select n, sum(n) as total from range(0, {{ env_var('RUN') | int * 2 }}) t(n)
{% if lakebed.is_incremental() %} where n > (select max(n) from {{ this }}) {% endif %}
group by n
""",
    "below.sql": """
{{ config(materialized='table') }}
select (select count(*) from {{ ref('once') }}) as once, (select count(c) from {{ ref('once') }}) as c,
       (select count(*) from {{ ref('cycles') }}) as cycles, (select count(*) from {{ ref('added') }}) as added
""",
}


def evolve(project: Project) -> None:
    """Three runs, and what is there after them."""
    project.run(1).ok()
    second = project.run(2).ok()
    assert second.messages["once"] == "delete+insert: 2 inserted, 1 deleted, 3 in all"
    assert second.messages["kept"] == "merge: 0 inserted, 1 updated, 1 in all"
    assert "add     d text" in second.said
    project.run(3).ok()

    rows = "SELECT a, b, c, d FROM {} ORDER BY a"
    assert project.query(rows.format("once")) == [
        (1, "b1", "c1", None),
        (2, "B2", None, "d2"),
        (3, "B3", None, "d3"),
    ]
    assert [name for name, _ in project.columns("once")] == ["a", "b", "c", "d"]
    assert project.query(rows.format("cycles")) == [
        (1, "v1", None, None),
        (2, None, "v2", None),
        (3, None, None, "v3"),
    ]
    [kept] = project.query("SELECT customerid, n, amount::VARCHAR, gone, st.a, st.b, st.c FROM kept")
    assert kept == (1, 3000000000, "12345678901.25", "x", 2, "kept", True)
    types = dict(project.columns("kept"))
    assert (types["customerid"], types["n"], types["amount"]) == ("BIGINT", "BIGINT", "DECIMAL(18,2)")
    assert project.query("SELECT n, total::BIGINT FROM added ORDER BY n") == [(n, n) for n in range(6)]
    assert project.query("FROM below") == [(3, 1, 3, 6)]


@pytest.mark.parametrize("target", ["duckdb", "iceberg:{schema}", "parquet:lake"])
def test_both_cycles(target: str, tmp_path: Path, dbt: DbtProcess) -> None:
    evolve(new_project(tmp_path, dbt, MODELS, plugin={"target": target}, threads=4))


@pytest.mark.server
def test_both_cycles_on_a_rest_catalog(tmp_path: Path, s3_server: S3Server, dbt: DbtProcess) -> None:
    catalog = {
        "type": "rest",
        "uri": s3_server.iceberg_endpoint,
        "warehouse": f"s3://{s3_server.table_bucket}",
        "credential": f"{s3_server.access_key}:{s3_server.secret_key}",
        "s3.endpoint": s3_server.endpoint,
        "s3.region": s3_server.region,
        "s3.access-key-id": s3_server.access_key,
        "s3.secret-access-key": s3_server.secret_key,
    }
    namespace = f"dbt_{uuid.uuid4().hex[:8]}"
    plugin = {"target": f"iceberg:{namespace}", "catalog": catalog}
    project = new_project(tmp_path, dbt, MODELS, plugin=plugin, threads=4)
    evolve(replace(project, attach=lambda connection: attach_rest(connection, s3_server)))
