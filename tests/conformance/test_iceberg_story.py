"""One story: deliveries into Iceberg, a restated month, account names merged in, one question and two engines."""

from decimal import Decimal
from pathlib import Path

import pytest
from tests.support.iceberg_tables import open_table
from tests.support.strangers import duckdb_with_iceberg

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.samples import SampleSpec, make_sample
from lakebed.table.history import history
from lakebed.table.merge import merge
from lakebed.targets.iceberg.target import IcebergTarget

pytestmark = pytest.mark.spark

SPEC = SampleSpec(months=3, rows=150, columns=70, files=2)
ADDRESS = "iceberg:billing.sample_report"
COST = "line_item_unblended_cost"
ACCOUNT = "line_item_usage_account_id"


def ask_duckdb(target: IcebergTarget, question: str) -> list[tuple[object, ...]]:
    metadata = target.existing_table().metadata_location.removeprefix("file://")
    with duckdb_with_iceberg() as duck:
        return sorted(duck.execute(question.format(table=f"iceberg_scan('{metadata}')")).fetchall(), key=str)


def test_the_story(tmp_path: Path, spark_local: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spark, folder = spark_local.spark, tmp_path / "bills"
    before = make_sample(folder, spec=SampleSpec(**{**vars(SPEC), "restate": False}))
    first = lakebed.run(str(folder), "iceberg:billing", spark=spark)
    assert [one.state for one in first.deliveries] == ["loaded"] * 3
    assert all(one.reconciled for one in first.deliveries)
    target = open_table(tmp_path / ".lakebed", "billing.sample_report")
    assert len(target.existing_table().snapshots()) == 3, "a delivery is one snapshot"

    after = make_sample(folder, spec=SPEC)
    again = lakebed.run(str(folder), "iceberg:billing", spark=spark)
    assert [one.period for one in again.deliveries if not one.skipped] == ["2026-09"]
    assert len(target.existing_table().snapshots()) == 4
    summary = target.existing_table().current_snapshot().summary
    restated = next(truth for truth in after.current if truth.period == "2026-09")
    assert (summary.operation.value, summary["lakebed.delivery"]) == ("overwrite", restated.delivery)
    assert restated.delivery not in {truth.delivery for truth in before.current}
    totals = target.totals(None, [COST])
    assert totals.rows == sum(truth.totals.rows for truth in after.current)
    assert totals.sums[COST] == sum(truth.totals.sums["lineItem/UnblendedCost"] for truth in after.current)
    assert lakebed.run(str(folder), "iceberg:billing", spark=spark).rows == totals.rows
    assert len(target.existing_table().snapshots()) == 4, "loading again changes nothing"

    accounts = sorted(row[0] for row in ask_duckdb(target, f"SELECT DISTINCT {ACCOUNT} FROM {{table}}"))
    names = spark.createDataFrame(
        [(account, f"team {account[-1]}") for account in accounts], f"{ACCOUNT} string, team string"
    )
    merged = merge(names, ADDRESS, keys=ACCOUNT, strategy="update")
    assert (merged.updated, merged.added_columns) == (totals.rows, ("team",))
    assert len(target.existing_table().snapshots()) == 5, "column and rows are one snapshot"

    frame = lakebed.read(ADDRESS, spark=spark)
    by_spark = sorted(
        (
            (row["team"], row["total"])
            for row in frame.groupBy("team").agg({COST: "sum"}).toDF("team", "total").collect()
        ),
        key=str,
    )
    by_duckdb = ask_duckdb(target, f"SELECT team, sum({COST}) FROM {{table}} GROUP BY ALL")
    assert by_spark == by_duckdb, "the same digits"
    assert sum((total for _, total in by_spark), Decimal(0)) == totals.sums[COST]

    told = history(ADDRESS)
    assert {one.delivery for one in told.changes if one.change.kind == "created"} == {first.deliveries[0].delivery}
    assert told.snapshots[-1].added_columns == ("team",)
    assert told.snapshots[-1].properties["merge.strategy"] == "update"
