"""What the DuckDB engine declares of itself."""

from lakebed.engines.protocols.engine import EngineFacts

FACTS = EngineFacts("duckdb", merge="lakebed.engines.duckdb.merge:DuckDBMerge", has_two_merges=True)
