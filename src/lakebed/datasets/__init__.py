"""The functions and classes that the specifications name, under one roof. Each is at home elsewhere."""

from lakebed.datasets.load_csv import load_csv_file
from lakebed.datasets.merge import (
    DuckDBDatasetIO,
    DuckDBParquetHandler,
    IncrementalFileManager,
    merge_parquet_dataset_pyarrow,
)
from lakebed.datasets.s3_tables import evolve_s3_tables_schema
from lakebed.engines.duckdb.paths import PathValidator
from lakebed.errors import DatasetMergeError
from lakebed.merge_core.result import MergeStats, compute_merge_stats
from lakebed.merge_core.spec import MergeStrategy, normalize_keys
from lakebed.merge_core.validate import TableLike, validate_keys_and_schema
from lakebed.schema.names import create_column_mapping, normalize_column_name
from lakebed.source.schema import get_new_columns, get_unified_schema

__all__ = [
    "DatasetMergeError",
    "DuckDBDatasetIO",
    "DuckDBParquetHandler",
    "IncrementalFileManager",
    "MergeStats",
    "MergeStrategy",
    "PathValidator",
    "TableLike",
    "compute_merge_stats",
    "create_column_mapping",
    "evolve_s3_tables_schema",
    "get_new_columns",
    "get_unified_schema",
    "load_csv_file",
    "merge_parquet_dataset_pyarrow",
    "normalize_column_name",
    "normalize_keys",
    "validate_keys_and_schema",
]
