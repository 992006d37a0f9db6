"""The same program with mistakes. Behind each stands what mypy and pyright must say of its line."""

from pathlib import Path

import lakebed

lakebed.rnu("bills", "duckdb:costs.duckdb")  # attr-defined, reportAttributeAccessIssue
lakebed.run("bills", "duckdb:costs.duckdb", reports="x")  # call-arg, reportCallIssue
lakebed.run("bills", "duckdb:costs.duckdb", naming="greek")  # arg-type, reportArgumentType
lakebed.run("bills")  # call-arg, reportCallIssue
lakebed.run_sources(["acme"], since=3)  # arg-type, reportArgumentType
lakebed.plan("bills", "duckdb:costs.duckdb", reports="x")  # call-arg, reportCallIssue
lakebed.discover("bills", reports="x")  # call-arg, reportCallIssue
lakebed.stage(b"bills")  # arg-type, reportArgumentType
lakebed.load("duckdb:costs.duckdb", spark="local")  # arg-type, reportArgumentType
lakebed.status(workdirr="work")  # call-arg, reportCallIssue
lakebed.merge("new.parquet", "costs", keys="id", strategy="upsrt")  # arg-type, reportArgumentType
lakebed.merge("new.parquet", "costs", keys="id", missing="drop")  # arg-type, reportArgumentType
lakebed.merge("new.parquet", "costs", keys="id", engine="polars")  # arg-type, reportArgumentType
lakebed.merge("new.parquet", 42, keys="id")  # arg-type, reportArgumentType
lakebed.merge("new.parquet", "costs")  # call-arg, reportCallIssue
lakebed.write("new.parquet", "events", mode="apend")  # arg-type, reportArgumentType
lakebed.write("new.parquet", "events", txn="events:1")  # arg-type, reportArgumentType
lakebed.write("new.parquet", "events", slices={"day": "mon"})  # call-arg, reportCallIssue
lakebed.ingest("exports", "parquet:events", format="xml")  # arg-type, reportArgumentType
lakebed.ingest("exports", "parquet:events", key="id")  # call-arg, reportCallIssue
lakebed.ingest("exports", "parquet:events", keys="id", strategy="upsrt")  # arg-type, reportArgumentType
lakebed.evolve("parquet:costs", {"id": "int"}, on_conflict="varient")  # arg-type, reportArgumentType
lakebed.evolve("parquet:costs")  # call-arg, reportCallIssue
_ = lakebed.evolve("parquet:costs", "id int").dropped  # attr-defined, reportAttributeAccessIssue
lakebed.read("parquet:costs", where=5)  # call-overload, reportArgumentType
lakebed.read(42)  # call-overload, reportArgumentType
lakebed.read("parquet:costs", columns="id", spark="local")  # call-overload, reportArgumentType
lakebed.history(None)  # arg-type, reportArgumentType
lakebed.rollback("iceberg:billing.costs", "latest")  # arg-type, reportArgumentType
lakebed.publish("iceberg:billing.costs@audit", drop_branch="yes")  # arg-type, reportArgumentType
lakebed.compact("costs", sort_by=3)  # arg-type, reportArgumentType
lakebed.sweep("iceberg:billing.costs", expire_days="7")  # arg-type, reportArgumentType
lakebed.receipt("SELECT 1")  # call-arg, reportCallIssue
lakebed.verify_receipt(1)  # arg-type, reportArgumentType
lakebed.diff("parquet:costs")  # call-arg, reportCallIssue
lakebed.sums("duckdb:costs.duckdb#costs", as_of=20261005)  # arg-type, reportArgumentType
lakebed.analyze("SELECT 1", schema=42)  # arg-type, reportArgumentType
lakebed.analyze_project(42)  # arg-type, reportArgumentType
lakebed.impact("orders.amt", folders="models")  # call-arg, reportCallIssue
lakebed.impact(drop="orders.amt", rename=["a=b"], folder="models")  # arg-type, reportArgumentType
lakebed.check("queries")  # call-arg, reportCallIssue
lakebed.check("queries", target="duckdb:costs.duckdb", aliases=["a=b"])  # arg-type, reportArgumentType
lakebed.compare_lineage("models")  # call-arg, reportCallIssue
lakebed.focus("costs", to="focus", version="2.0")  # arg-type, reportArgumentType
lakebed.views("costs", dialect="oracle")  # arg-type, reportArgumentType
lakebed.sample(Path("bills"), kind="azure")  # arg-type, reportArgumentType
lakebed.sample(Path("bills"), packing="zip")  # call-arg, reportCallIssue
lakebed.doctor("bills", quick="yes")  # arg-type, reportArgumentType
lakebed.reconcile("duckdb:costs.duckdb", periods="2026-10")  # call-arg, reportCallIssue
