"""The functions and classes that the specifications name, under one roof. Each is at home elsewhere."""

from lakebed.csv_loading import load_csv_file as load_csv_file
from lakebed.schema.cur import get_new_columns as get_new_columns
from lakebed.schema.cur import get_unified_schema as get_unified_schema
from lakebed.schema.names import create_column_mapping as create_column_mapping
from lakebed.schema.names import normalize_column_name as normalize_column_name
