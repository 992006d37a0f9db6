"""Names that some system gives a meaning of its own. As columns they are the user's: this is the one list of them.

An engine asks it which names it must not let its system see; the conformance suites, the property tests and the fuzz
program draw the names of columns from it, so a name that is added here is tried on every engine and target.
"""

from lakebed.schema.types import fold

# What DuckDB's reader of files offers beside the columns of a file. It looks for the first by its name alone, and would
# take the user's column for it: a condition on it chooses files.
DUCKDB_READER = ("filename", "file_row_number", "file_index", "rowid")
DUCKDB = (*DUCKDB_READER, "merge_action", "excluded", "hive_partitioning", "union_by_name", "columns", "count", "query")
SPARK = (
    "_metadata",
    "_corrupt_record",
    "_rescued_data",
    "_col0",
    "input_file_name",
    "spark_partition_id",
    "__index_level_0__",
    "_c0",
)
ICEBERG = (
    "_file",
    "_pos",
    "_deleted",
    "_spec_id",
    "_partition",
    "_row_id",
    "_last_updated_sequence_number",
    "_change_type",
    "_commit_snapshot_id",
    "file_path",
    "pos",
    "row",
)
# Parquet's names of what lies inside of lists and maps.
PARQUET = ("key_value", "list", "element", "item", "key", "value", "array", "schema", "ARROW:schema")
SQL = ("select", "order", "group", "table", "default", "null", "all", "*", "?", "$1")
# Ours: of SQL that Lakebed writes or once wrote, of tables that travel between steps, and of loaded tables.
LAKEBED = (
    "target",
    "source",
    "rows",
    "paths",
    "gone",
    "wanted",
    "file",
    "pack",
    "hit",
    "times",
    "number",
    "rank",
    "keyless",
    "k0",
    "c0",
    "text_c0",
    "result",
    "task",
    "inserted",
    "lakebed_period",
    "lakebed_delivery",
)

SPECIAL_NAMES: tuple[str, ...] = (*DUCKDB, *SPARK, *ICEBERG, *PARQUET, *SQL, *LAKEBED)
"""All of them, none twice."""

UNREADABLE = frozenset({"__filename", "__fragment_index", "__batch_index", "__last_in_fragment"})
"""What PyArrow's scanner appends to the columns of a file. It reads no file that has one of these itself, and DuckDB
and PyIceberg read through it: such a column is refused."""

_DUCKDB_READER = frozenset(map(fold, DUCKDB_READER))


def means_something_to_duckdb_reader(name: str) -> bool:
    """Whether DuckDB's reader of files has a column of this name, whatever the files hold."""
    return fold(name) in _DUCKDB_READER
