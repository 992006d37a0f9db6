"""The functions and classes that the specifications name, under one roof. Each is at home elsewhere."""

from lakebed.datasets_merge import DuckDBDatasetIO as DuckDBDatasetIO
from lakebed.datasets_merge import DuckDBParquetHandler as DuckDBParquetHandler
from lakebed.datasets_merge import IncrementalFileManager as IncrementalFileManager
from lakebed.datasets_merge import merge_parquet_dataset_pyarrow as merge_parquet_dataset_pyarrow
from lakebed.engines.duckdb.paths import PathValidator as PathValidator
from lakebed.errors import DatasetMergeError as DatasetMergeError
from lakebed.merge.result import MergeStats as MergeStats
from lakebed.merge.result import compute_merge_stats as compute_merge_stats
from lakebed.merge.spec import MergeStrategy as MergeStrategy
from lakebed.merge.spec import normalize_keys as normalize_keys
from lakebed.merge.validate import TableLike as TableLike
from lakebed.merge.validate import validate_keys_and_schema as validate_keys_and_schema
from lakebed.s3_tables import evolve_s3_tables_schema as evolve_s3_tables_schema
