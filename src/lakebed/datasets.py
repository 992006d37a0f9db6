"""The functions and classes that the specifications name, under one roof. Each is at home elsewhere."""

from lakebed.csv_loading import load_csv_file
from lakebed.s3_tables import evolve_s3_tables_schema
from lakebed.schema.cur import get_new_columns, get_unified_schema
from lakebed.schema.names import create_column_mapping, normalize_column_name

__all__ = [
    "create_column_mapping",
    "evolve_s3_tables_schema",
    "get_new_columns",
    "get_unified_schema",
    "load_csv_file",
    "normalize_column_name",
]
