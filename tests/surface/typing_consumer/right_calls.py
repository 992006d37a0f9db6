"""A program of a user: every public function, called as its types say. Type checkers read it; nothing runs it."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import assert_type

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Health, LakebedError, RunReport, Schema, Target


class Watch(lakebed.Observer):
    """Users derive from what is exported."""

    def finished(self, report: lakebed.DeliveryReport) -> None:
        assert_type(report.reconciled, bool | None)

    def warned(self, message: str) -> None:
        raise LakebedError(message, remedy="Look at the source.")


def load(spark: SparkSession) -> None:
    done = lakebed.run("bills", "duckdb:costs.duckdb", table="costs", spark=spark, observer=Watch(), period="2026-10")
    assert_type(done, RunReport)
    assert_type(
        [(one.period, one.rows, one.added_columns) for one in done.deliveries], list[tuple[str, int, tuple[str, ...]]]
    )
    assert_type(done.to_dict(), dict[str, object])
    planned = lakebed.plan("bills", "iceberg:billing", decimals="18,2")
    assert_type(planned, lakebed.PlanReport)
    for one in planned.deliveries:
        assert_type(one.evolution, lakebed.EvolutionPlan | None)
    found = lakebed.discover(Path("bills"), since="2026-01", workdir=Path("work"))
    assert_type(found, lakebed.DiscoverReport)
    assert_type(lakebed.stage("bills", observer=Watch()), lakebed.StageReport)
    assert_type(lakebed.load("parquet:costs", spark=spark, strict=True), RunReport)
    assert_type(lakebed.status(), lakebed.StatusReport)
    settings: lakebed.RunSettings = {"naming": "athena", "no_stage": True}
    lakebed.run(Path("bills"), Path("costs"), **settings)
    assert_type(lakebed.reconcile("duckdb:costs.duckdb").holds, bool)


def merge(frame: DataFrame) -> lakebed.MergeResult:
    rows = pa.table({"id": [1], "cost": [Decimal("1.25")]})
    lakebed.merge(rows, Path("costs"), keys=["id"], strategy="full_merge", missing="null", engine="arrow")
    lakebed.merge("new.parquet", "costs", keys="id", strategy="deduplicate", dedup_order_by=["at"], dry_run=True)
    try:
        return lakebed.merge(frame, "iceberg:billing.costs", keys="id", workdir=Path("work"))
    except lakebed.DatasetMergeError as refused:
        assert_type(refused.strategy, str | None)
        raise


def ingest(session: SparkSession) -> int:
    kind: lakebed.FileFormat = "csv"
    done: lakebed.IngestReport = lakebed.ingest(
        Path("exports"), "iceberg:web", format=kind, name="events", types={"id": "bigint"}, spark=session, strict=True
    )
    files: tuple[lakebed.FileReport, ...] = done.files
    again: lakebed.RunReport = lakebed.ingest(
        "s3://bucket/exports/*.json", "parquet:events", keys=["id"], strategy="upsert", delimiter=";", dry_run=True
    )
    return done.loaded + done.removed + len(files) + again.rows


def write(frame: DataFrame, number: int) -> lakebed.WriteResult:
    rows = pa.table({"id": [1], "day": ["2026-11-01"]})
    done = lakebed.write(rows, Path("events"), partition_by="day", txn=("events", number))
    assert_type(done.sums.get("cost"), Decimal | None)
    mode: lakebed.WriteMode = "replace_slice"
    lakebed.write("new.parquet", "duckdb:events.duckdb#events", mode=mode, slice={"day": None}, dry_run=True)
    return lakebed.write(frame, "iceberg:web.events", mode="overwrite", on_conflict="variant", workdir=Path("work"))


def change(table: Target) -> None:
    plan = lakebed.evolve("parquet:costs", {"id": "bigint"}, dry_run=True, workdir=Path("work"))
    assert_type(plan, lakebed.EvolutionPlan)
    assert_type(plan.final, Schema)
    lakebed.evolve(table, Path("schema.json"), on_conflict="variant")
    lakebed.evolve(Path("costs"), [{"name": "id", "type": "bigint"}])
    lakebed.evolve("duckdb:costs.duckdb#costs", plan.final)
    story = lakebed.history(table, workdir=Path("work"))
    assert_type(story, lakebed.History)
    for snapshot in story.snapshots:
        assert_type(snapshot, lakebed.SnapshotRecord)
        assert_type(lakebed.rollback("iceberg:billing.costs", snapshot.id).at, datetime)
    assert_type([one.at for one in story.changes], list[datetime])
    published = lakebed.publish("iceberg:billing.costs@audit", drop_branch=True, dry_run=True, workdir=Path("work"))
    assert_type(published, lakebed.Publication)
    assert_type(published.commits, int)
    compacted = lakebed.compact(
        "iceberg:billing.costs", target_size="1GB", period="2026-10", sort_by=["id"], dry_run=True, workdir=Path("work")
    )
    assert_type(compacted, lakebed.CompactResult)
    assert_type(compacted.bytes_after, int | None)
    swept = lakebed.sweep("iceberg:billing.costs", expire_days=0.5, dry_run=True)
    assert_type(swept, lakebed.Swept)
    assert_type(swept.expired, lakebed.Expired)
    lakebed.sweep(workdir=Path("work"))
    when: lakebed.Moment = datetime(2026, 10, 5)
    known = lakebed.sums("duckdb:costs.duckdb#costs", as_of=when, columns=["line_item_unblended_cost"])
    assert_type(known, lakebed.Sums)
    assert_type([one.totals.rows for one in known.loads], list[int])
    lakebed.read("parquet:costs", as_of="2026-10-05")
    made = lakebed.receipt("SELECT 1 FROM costs", "parquet:costs", period=["2026-09"])
    assert_type(made, lakebed.Receipt)
    assert_type(made.to_html(), str)
    assert_type(lakebed.verify_receipt(Path("receipt.json")).equal, bool)
    found = lakebed.diff("parquet:costs", period="2026-09", to=Path("bills"), by=["account", "tag:team"])
    assert_type(found, lakebed.Diff)
    assert_type(found.parts[0].values, tuple[str | None, ...])
    assert_type(found.parts[0].difference("line_item_unblended_cost"), Decimal)


def every_source(spark: SparkSession) -> None:
    done = lakebed.run_sources(["acme"], target=Path("costs"), since="-3m", until="2026-10", spark=spark, strict=True)
    assert_type(done, lakebed.SourcesReport)
    assert_type([one.rows for one in done.reports.values()], list[int])
    assert_type(done.failed, tuple[str, ...])
    assert_type(done.errors["acme"], lakebed.LakebedError)


def look(spark: SparkSession) -> None:
    lakebed.read("parquet:costs", columns=["id"], where="id > 5")
    rows: lakebed.Where = {"id": 5, "day": None}
    assert_type(lakebed.read("parquet:costs", where=rows, spark=spark), DataFrame)
    lakebed.read(Path("costs"), workdir=Path("work"))
    assert_type(lakebed.read("duckdb:costs.duckdb#costs", spark=spark), DataFrame)
    traced = lakebed.analyze("SELECT a FROM t", dialect="duckdb", schema={"tables": [{"name": "t", "columns": ["a"]}]})
    assert_type(traced, lakebed.AnalyzeResult)
    lakebed.analyze([lakebed.Script("SELECT 1", "one.sql")], schema=Path("schema.json"), allow_implied=False)
    assert_type([issue.code for issue in traced.issues], list[str])
    lakebed.analyze("SELECT 1", schema=["duckdb:costs.duckdb", Path("schema.json")])
    lakebed.analyze("SELECT 1", schema=spark)
    assert_type(lakebed.analyze_project(Path("models"), variables={"day": 1}), lakebed.AnalyzeResult)
    lakebed.analyze_project(dbt="shop", dialect="duckdb")
    found = lakebed.impact("orders.id", drop=["orders.amt"], rename={"orders.a": "b"}, folder=Path("models"))
    assert_type(found, lakebed.ImpactResult)
    assert_type([(one.reason, one.place.line) for one in found.breaks], list[tuple[str, int]])
    assert_type([one.path for one in found.reached], list[tuple[str, ...]])
    checked = lakebed.check("queries", target="duckdb:costs.duckdb", against=Path("bills"), aliases={"cur": "costs"})
    assert_type(checked, lakebed.CheckResult)
    assert_type(checked.findings, tuple[lakebed.Finding, ...])
    lakebed.check(dbt=Path("shop"), target="iceberg:billing", dialect="athena", period="2026-10", strict=True)
    compared = lakebed.compare_lineage("models", "main", dbt=True)
    assert_type(compared, lakebed.LineageDifference)
    assert_type([edge.source for edge in compared.lost], list[str])


def ask(spark: SparkSession) -> None:
    made = lakebed.views("duckdb:costs.duckdb#report", spark=spark, relation="lake.billing.report")
    assert_type(made, lakebed.ViewsResult)
    dialect: lakebed.Dialect = "trino"
    assert_type([view.sql for view in lakebed.views(Path("costs"), dialect=dialect).views], list[str])


def convert(spark: SparkSession) -> None:
    version: lakebed.FocusVersion = "1.3"
    done = lakebed.focus("iceberg:billing.report", to=Path("focus"), version=version, spark=spark, redo=True)
    assert_type(done, lakebed.FocusResult)
    assert_type([(one.period, one.rows) for one in done.slices], list[tuple[str, int]])


def try_out() -> Health:
    truth = lakebed.sample(Path("bills"), months=2, rows=10, kind="focus", format="parquet", layout="overwrite")
    assert_type(truth, lakebed.SampleTruth)
    assert_type([one.totals.sums["cost"] for one in truth.current], list[Decimal])
    return lakebed.doctor([Path("bills"), "s3://bucket"], quick=True, on_check=print)
