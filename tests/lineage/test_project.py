"""Folders of SQL files: one analysis, in the order of what the files read."""

import random
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import ConfigError, NotFound
from lakebed.lineage.project import read_folder, trace_project


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def targets(folder: Path, **settings: object) -> list[str | None]:
    return [statement.target for statement in lakebed.analyze_project(folder, **settings).statements]  # type: ignore[arg-type]


def codes(result: lakebed.AnalyzeResult) -> list[str]:
    return [issue.code for issue in result.issues]


def test_files_run_after_what_they_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a_report.sql": "SELECT day, total FROM sub_daily",
            "deep/er/sub_daily.sql": "WITH z AS (SELECT * FROM z) SELECT day, sum(amount) AS total FROM z GROUP BY day",
            "z.sql": "SELECT day, amount FROM raw",
        },
    )
    result = lakebed.analyze_project(tmp_path)
    assert [statement.target for statement in result.statements] == ["z", "sub_daily", "a_report"]
    assert result.statements[2].column_lineage[1][:2] == ("sub_daily", "total")
    assert [statement.star_expansion for statement in result.statements] == [None, "full", None]


@pytest.mark.parametrize("seed", range(5))
def test_the_names_of_files_do_not_matter(tmp_path: Path, seed: int) -> None:
    names = [f"f{place:02}" for place in range(12)]
    random.Random(seed).shuffle(names)
    files = {f"{names[0]}.sql": "CREATE TABLE t0 (a INT, b INT)"}
    for place in range(1, 12):
        files[f"{names[place]}.sql"] = f"CREATE TABLE t{place} AS SELECT * FROM T{place - 1}"
    assert targets(write(tmp_path, files)) == [f"t{place}" for place in range(12)]
    assert codes(lakebed.analyze_project(tmp_path)) == []


def test_writers_stand_between_the_maker_and_the_reader(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "1_read.sql": "SELECT a, c FROM t",
            "2_change.sql": "ALTER TABLE t ADD COLUMN c INT",
            "3_make.sql": "CREATE TABLE t (a INT)",
            "4_fill.sql": "INSERT INTO t SELECT x FROM other",
        },
    )
    result = lakebed.analyze_project(tmp_path)
    assert [s.file and Path(s.file).name[0] for s in result.statements] == ["3", "2", "4", "1"]


@pytest.mark.parametrize("dialect", ["spark", "snowflake", "postgres", "bigquery"])
def test_names_compare_as_the_dialect_says(tmp_path: Path, dialect: str) -> None:
    write(tmp_path, {"a.sql": "SELECT ID FROM Orders", "orders.sql": "SELECT id FROM raw"})
    found = [(name or "").lower() for name in targets(tmp_path, dialect=dialect)]
    assert found == (["a", "orders"] if dialect == "bigquery" else ["orders", "a"])


def test_the_name_of_a_model_is_its_stem_or_what_its_config_says(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "stem.sql": "SELECT 1 AS a",
            "other.sql": "{{ config(alias='named', schema='s', materialized='table') }} SELECT a FROM stem",
            "several.sql": "SELECT 1; SELECT 2",
            "script.sql": "CREATE TEMP TABLE x AS SELECT a FROM stem; SELECT a FROM x",
        },
    )
    result = lakebed.analyze_project(tmp_path, dialect="duckdb")
    assert {(s.statement_type, s.target) for s in result.statements} == {
        ("CREATE_VIEW", "stem"),
        ("CREATE_TABLE_AS", "s.named"),
        ("SELECT", None),
        ("CREATE_TABLE_AS", "x"),
        ("CREATE_VIEW", "script"),
    }


def test_a_single_file_keeps_its_query_as_it_is() -> None:
    assert lakebed.analyze([lakebed.Script("SELECT 1 AS a", "m.sql")]).statements[0].target is None


def test_files_that_read_each_other_are_an_issue_and_are_analysed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.sql": "SELECT x FROM b",
            "b.sql": "SELECT x FROM c",
            "c.sql": "SELECT x FROM a",
            "d.sql": "SELECT x FROM c",
            "own.sql": "SELECT x FROM own",
        },
    )
    result = lakebed.analyze_project(tmp_path)
    [cycle] = [issue for issue in result.issues if issue.code == "DEPENDENCY_CYCLE"]
    assert all(f"{name}.sql" in cycle.message for name in "abc")
    assert "d.sql" not in cycle.message
    assert [s.target for s in result.statements] == ["a", "b", "c", "d", "own"]


def test_one_bad_file_does_not_end_the_run(tmp_path: Path) -> None:
    write(tmp_path, {"good.sql": "SELECT a FROM t", "syntax.sql": "SELEC 1 FRM", "jinja.sql": "SELECT {{ 1 +"})
    (tmp_path / "latin.sql").write_bytes("SELECT 'ü' AS x".encode("latin-1"))
    (tmp_path / "bom.sql").write_bytes(b"\xef\xbb\xbfSELECT b FROM t")
    (tmp_path / "empty.sql").write_text("")
    result = lakebed.analyze_project(tmp_path)
    assert {"UNREADABLE_FILE", "TEMPLATE_ERROR", "PARSE_ERROR"} <= set(codes(result))
    assert {"good", "bom"} <= {s.target for s in result.statements}
    unreadable = next(issue for issue in result.issues if issue.code == "UNREADABLE_FILE")
    assert unreadable.file == str(tmp_path / "latin.sql")
    assert "UTF-8" in unreadable.message


def test_what_is_no_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        lakebed.analyze_project(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"no \.sql files"):
        lakebed.analyze_project(tmp_path)
    (tmp_path / "x.sql").write_text("SELECT 1")
    with pytest.raises(ConfigError):
        lakebed.analyze_project(tmp_path, dbt=tmp_path)
    with pytest.raises(ConfigError):
        lakebed.analyze_project()


def test_hidden_folders_and_circles_of_links_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {".git/x.sql": "SELECT 1", "m/a.sql": "SELECT 1 AS a", "m/b.SQL": "SELECT 2 AS b"})
    (tmp_path / "m" / "again").symlink_to(tmp_path)
    assert targets(tmp_path) == ["a", "b"]


def test_two_thousand_files(tmp_path: Path) -> None:
    write(tmp_path, {"m0000.sql": "SELECT a, b FROM raw"})
    for place in range(1, 2000):
        (tmp_path / f"m{2000 - place:04}.sql").write_text(
            f"SELECT * FROM m{(2001 - place) % 2000:04}" if place > 1 else "SELECT * FROM m0000"
        )
    result = lakebed.analyze_project(tmp_path)
    assert len(result.statements) == 2000
    assert codes(result) == ["UNKNOWN_TABLE"]
    assert {s.outputs for s in result.statements} == {("a", "b")}


def test_lines_are_those_of_the_file_and_not_of_what_was_rendered(tmp_path: Path) -> None:
    text = """{{
  config(
    materialized='table'
  )
}}
{# a comment
   of two lines #}
SELECT
  {% for c in ['a', 'b'] %}
  {{ c }},
  {% endfor %}
  missing
FROM t
"""
    write(tmp_path, {"m.sql": text, "t.sql": "SELECT 1 AS a, 2 AS b"})
    traced = trace_project(read_folder(tmp_path, {}))
    [issue] = traced.result.issues
    assert traced.texts.place(issue).endswith("m.sql:12:3")


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "snowflake"])
def test_models_of_sqlmesh(tmp_path: Path, dialect: str) -> None:
    head = "-- a comment (with a paren\nMODEL (\n  name shop.orders, -- a name :)\n  kind INCREMENTAL (column d)\n);\n"
    write(
        tmp_path,
        {
            "z.sql": head + "SELECT id,\n  d FROM raw.t WHERE d BETWEEN @start_ds AND @end_ds",
            "a.sql": "model (name shop.daily, kind view);\nSELECT count(id) AS n, d FROM shop.orders GROUP BY d",
            "audit.sql": "AUDIT (name no_nulls);\nSELECT * FROM shop.orders WHERE id IS NULL",
            "broken.sql": "MODEL (name x.y, kind FULL",
        },
    )
    result = lakebed.analyze_project(tmp_path, dialect=dialect)
    found = [(s.statement_type, (s.target or "").lower()) for s in result.statements]
    assert found == [("CREATE_TABLE_AS", "shop.orders"), ("CREATE_VIEW", "shop.daily"), ("SELECT", "")]
    assert "raw.t" in {edge.source.lower() for s in result.statements for edge in s.table_lineage}
    traced = trace_project(read_folder(tmp_path, {}), dialect=dialect)
    orders = traced.result.statements[0]
    assert traced.texts.line_and_column(orders.file, orders.span.start)[0] == 6


def test_two_files_that_make_one_table_are_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/orders.sql": "SELECT 1 AS x",
            "b/Orders.sql": "SELECT 2 AS y",
            "a/setup.sql": "CREATE TABLE t (x INT)",
            "b/setup.sql": "CREATE TABLE u (x INT)",
        },
    )
    [issue] = lakebed.analyze_project(tmp_path).issues
    assert issue.code == "DUPLICATE_MODEL"
    assert issue.file == str(tmp_path / "b" / "Orders.sql")
