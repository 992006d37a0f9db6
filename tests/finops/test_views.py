"""`lakebed views`: what it creates, beside which tables, and what it refuses."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from tests.finops.loaded_bills import TABLE, ask, load_bill
from tests.support.arrow_runs import use_arrow
from typer.testing import CliRunner, Result

import lakebed
from lakebed.cli import build
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError, EngineError, NotFound, SchemaError, TargetError
from lakebed.finops.projection import DIALECTS, Dialect
from lakebed.samples import SampleSpec, make_sample
from lakebed.source.billing_dictionary import CUR2_COLUMNS, CUR_COLUMNS

BILLS = [("cur", "spec"), ("cur", "athena"), ("cur2", "spec")]
# Over each view, what a query for the other format would say.
ATHENA = (
    "SELECT product_product_name, resource_tags_user_owner, year, month, line_item_usage_account_id,"
    " reservation_reservation_a_r_n, product_region, sum(line_item_unblended_cost), count(*) FROM {} GROUP BY ALL"
)
CUR2 = (
    "SELECT product['product_name'], resource_tags['user_owner'], split_part(billing_period, '-', 1),"
    " ltrim(split_part(billing_period, '-', 2), '0'), line_item_usage_account_id, reservation_reservation_a_r_n,"
    " product_region_code, sum(line_item_unblended_cost), count(*) FROM {} GROUP BY ALL"
)


def invoke(*arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(build(words), words)


def small_bill(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: lakebed.SampleKind = "cur") -> str:
    """A table that a test may change."""
    use_arrow(monkeypatch)
    spec = SampleSpec(months=1, rows=30, files=1, columns=80, kind=kind, restate=False)
    make_sample(folder / "bills", spec=spec)
    target = f"duckdb:{folder}/costs.duckdb"
    assert not lakebed.run(folder / "bills", target, table=TABLE, workdir=folder / "work").failed
    return f"{target}#{TABLE}"


@pytest.mark.parametrize(("kind", "naming"), BILLS)
def test_both_views_of_every_bill_have_the_same_values(kind: lakebed.SampleKind, naming: str) -> None:
    bill = load_bill(kind, naming)
    made = lakebed.views(bill.target, workdir=bill.workdir)
    assert [view.name for view in made.views] == [f"{TABLE}_athena", f"{TABLE}_cur2"]
    athena, cur2 = made.views
    assert set(CUR_COLUMNS) <= set(athena.columns)
    assert set(CUR2_COLUMNS) <= set(cur2.columns)
    rows = ask(bill, ATHENA.format(athena.name))
    assert len(rows) > 100
    assert sorted(map(repr, rows)) == sorted(map(repr, ask(bill, CUR2.format(cur2.name))))
    # Every column of both can be read.
    for view in made.views:
        assert ask(bill, f"SELECT count(*) FROM (SELECT {', '.join(view.columns)} FROM {view.name})") == [(3000,)]


def test_made_again_they_are_unchanged_and_the_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = small_bill(tmp_path, monkeypatch)
    assert all(view.created for view in lakebed.views(target).views)
    before = (tmp_path / "costs.duckdb").read_bytes()
    assert not any(view.created for view in lakebed.views(target).views)
    assert (tmp_path / "costs.duckdb").read_bytes() == before


def test_they_follow_when_columns_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = small_bill(tmp_path, monkeypatch)
    lakebed.views(target)
    key = "identity_line_item_id"
    ids = lakebed.read(target, columns=[key])
    assert isinstance(ids, pa.Table)
    lakebed.merge(ids.slice(0, 1).append_column("brand_new", pa.array(["yes"])), target, keys=key, strategy="update")
    athena, cur2 = lakebed.views(target).views
    assert (athena.created, cur2.created) == (True, True)
    with duckdb.connect(str(tmp_path / "costs.duckdb")) as connection:
        for view in (athena, cur2):
            assert connection.sql(f"SELECT count(brand_new) FROM {view.name}").fetchall() == [(1,)]


@pytest.mark.parametrize("statement", ["CREATE TABLE report_cur2 (a INT)", "CREATE VIEW report_cur2 AS SELECT 1 AS a"])
def test_the_name_of_somebody_else_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    target = small_bill(tmp_path, monkeypatch)
    with duckdb.connect(str(tmp_path / "costs.duckdb")) as connection:
        connection.execute(statement)
    with pytest.raises(TargetError, match="called report_cur2"):
        lakebed.views(target)
    with duckdb.connect(str(tmp_path / "costs.duckdb")) as connection:
        assert connection.sql("SELECT count(*) FROM duckdb_views() WHERE view_name = 'report_athena'").fetchall() == [
            (0,)
        ]
        connection.sql("SELECT a FROM report_cur2").fetchall()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_the_sql_of_each_dialect_parses(kind: lakebed.SampleKind, dialect: Dialect) -> None:
    bill = load_bill(kind)
    printed = lakebed.views(bill.target, dialect=dialect, relation="lake.billing.report", workdir=bill.workdir)
    for view in printed.views:
        [statement] = sqlglot.parse(view.sql, dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Create)
        assert statement.this.sql("duckdb").replace('"', "").startswith("lake.billing.report_")
        assert statement.expression.named_selects == list(view.columns)
        assert not view.created


def test_duckdb_reads_a_parquet_table_through_the_printed_views() -> None:
    bill, same = load_bill(target="parquet"), load_bill()
    lakebed.views(same.target, workdir=same.workdir)
    with duckdb.connect() as connection:
        for view in lakebed.views(bill.target, dialect="duckdb", workdir=bill.workdir).views:
            connection.execute(view.sql)
        found = connection.sql(ATHENA.format(f"{TABLE}_athena")).fetchall()
    assert sorted(map(repr, found)) == sorted(map(repr, ask(same, ATHENA.format(f"{TABLE}_athena"))))


def test_iceberg_and_parquet_hold_no_views_themselves() -> None:
    bill = load_bill(target="parquet")
    with pytest.raises(ConfigError, match="cannot hold views itself"):
        lakebed.views(bill.target, workdir=bill.workdir)


def test_what_is_no_bill_and_what_is_not_there(tmp_path: Path) -> None:
    lakebed.write(pa.table({"id": [1]}), f"duckdb:{tmp_path}/costs.duckdb#t")
    with pytest.raises(SchemaError, match="no table of a Cost and Usage Report"):
        lakebed.views(f"duckdb:{tmp_path}/costs.duckdb#t")
    with pytest.raises(NotFound):
        lakebed.views(f"duckdb:{tmp_path}/costs.duckdb#absent")
    bill = load_bill()
    with pytest.raises(ConfigError, match="no name of a table"):
        lakebed.views(bill.target, dialect="trino", relation="a b; c", workdir=bill.workdir)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = small_bill(tmp_path, monkeypatch, "cur2")
    shown = invoke("views", target)
    assert shown.exit_code == 0, shown.output
    assert "report_athena  created" in shown.stdout
    assert "report_athena  unchanged" in invoke("views", target).stdout
    printed = invoke("views", target, "--print", "--dialect", "trino", "--relation", "billing.costs")
    assert printed.stdout.startswith('CREATE OR REPLACE VIEW "billing"."costs_athena" AS\nSELECT\n')
    as_json = json.loads(invoke("views", target, "--json").stdout)
    assert [view["name"] for view in as_json["views"]] == ["report_athena", "report_cur2"]
    assert "bill_payer_account_name" in as_json["views"][1]["columns"]
    assert invoke("views", target, "--dialect", "trino").exit_code == 2
    assert invoke("views", target, "--print", "--dialect", "oracle").exit_code == 2


def test_a_run_makes_and_renews_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_arrow(monkeypatch)
    make_sample(tmp_path / "bills", spec=SampleSpec(months=1, rows=30, files=1, columns=80, restate=False))
    words = ("run", tmp_path / "bills", "--table", TABLE, "--workdir", tmp_path / "work", "--views")
    refused = invoke(*words, "--target", "iceberg:billing")
    assert refused.exit_code == 2
    assert "cannot hold views itself" in refused.output
    assert not (tmp_path / "work").exists()
    done = invoke(*words, "--target", f"duckdb:{tmp_path}/costs.duckdb", "--json")
    assert done.exit_code == 0, done.output
    assert [view["created"] for view in json.loads(done.stdout)["views"][0]["views"]] == [True, True]
    again = invoke(*words, "--target", f"duckdb:{tmp_path}/costs.duckdb")
    assert "report_cur2  unchanged" in again.stdout


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_views_of_spark(kind: lakebed.SampleKind, spark_local: Session) -> None:
    """Temporary ones over the table as Lakebed reads it, and those of the session's catalog over a name of it."""
    bill, spark = load_bill(kind, target="parquet"), spark_local.spark
    same = load_bill(kind)
    lakebed.views(same.target, workdir=same.workdir)
    expected = sorted(map(repr, ask(same, ATHENA.format(f"{TABLE}_athena"))))

    def answer(query: str) -> list[str]:
        found = spark.sql(query.replace("GROUP BY ALL", "GROUP BY 1, 2, 3, 4, 5, 6, 7")).toArrow().to_pylist()
        return sorted(repr(tuple(row.values())) for row in found)

    made = lakebed.views(bill.target, workdir=bill.workdir, spark=spark)
    assert all(view.created for view in made.views)
    assert answer(ATHENA.format(f"{TABLE}_athena")) == expected
    assert (
        answer(
            CUR2.format(f"{TABLE}_cur2").replace(
                "ltrim(split_part(billing_period, '-', 2), '0')", "ltrim('0', split_part(billing_period, '-', 2))"
            )
        )
        == expected
    )
    external = f"external_{kind}"
    folder = bill.target.removeprefix("parquet:")
    spark.sql(f"CREATE TABLE {external} USING parquet OPTIONS (path '{folder}', mergeSchema 'true')")
    try:
        spark.catalog.recoverPartitions(external)
        lakebed.views(bill.target, workdir=bill.workdir, spark=spark, relation=f"default.{external}")
        assert answer(ATHENA.format(f"default.{external}_athena")) == expected
    finally:
        for statement in ("VIEW {}_athena", "VIEW {}_cur2", "TABLE {}"):
            spark.sql(f"DROP {statement.format(external)}")
    with pytest.raises(EngineError, match="does not take the view"):
        lakebed.views(bill.target, workdir=bill.workdir, spark=spark, relation="no.such.table")
