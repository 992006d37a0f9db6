"""What the DuckDB engine declares of itself."""

from lakebed.engines.protocols.engine import EngineFacts
from lakebed.extras import Extra

FACTS = EngineFacts("duckdb", merge="lakebed.engines.duckdb.merge:DuckDBMerge", has_two_merges=True)
# What it needs besides for object stores and Iceberg tables, where DuckDB may not fetch its extensions itself.
EXTENSIONS = Extra(
    "duckdb-extensions", tuple(f"duckdb_extension_{name}" for name in ("avro", "httpfs", "iceberg", "aws"))
)
