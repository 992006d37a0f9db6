"""What a table is created with, and properties that name columns: those of columns that the table has, and no others.

Spark refuses to change any property, or the write order, of a table that has metrics for a column which is not there.
"""

from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata

from lakebed.model import RESERVED_COLUMNS
from lakebed.schema.evolve import EvolutionPlan

METRICS = "write.metadata.metrics.column."
WHOLE = "full"

# Manifests are merged once there are many, and of the metadata files, each of which repeats every schema, a hundred are
# kept.
TABLE_PROPERTIES = {
    "format-version": "2",
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
    "write.parquet.compression-codec": "zstd",
}


def new_table_properties(schema: IcebergSchema) -> dict[str, str]:
    """The bounds of our own columns are kept whole, so that other writers' files, too, say which slices they hold."""
    ours = [field.name for field in schema.fields if field.name in RESERVED_COLUMNS]
    return TABLE_PROPERTIES | {METRICS + name: WHOLE for name in ours}


def follow_columns(transaction: Transaction, plan: EvolutionPlan) -> None:
    """Puts into the transaction what metrics properties lack: columns that it adds, and those that others renamed.

    Those of columns that are gone are removed. Iceberg's Java library does so when it renames or drops a column, and
    PyIceberg and DuckDB do not.
    """
    metadata = transaction.table_metadata
    found = {key: value for key, value in metadata.properties.items() if key.startswith(METRICS)}
    names = set(metadata.schema().column_names)
    gone = [key for key in found if key.removeprefix(METRICS) not in names]
    wanted = {METRICS + name: WHOLE for name in plan.added_columns if name in RESERVED_COLUMNS}
    for key in gone:
        name = _present_name(metadata, key.removeprefix(METRICS))
        if name is not None:
            wanted.setdefault(METRICS + name, found[key])
    if gone:
        transaction.remove_properties(*gone)
    if new := {key: value for key, value in wanted.items() if key not in found}:
        transaction.set_properties(new)


def _present_name(metadata: TableMetadata, name: str) -> str | None:
    """What a column is called now that had this name in an earlier schema, the latest first; None if it is gone."""
    for schema in sorted(metadata.schemas, key=lambda one: one.schema_id, reverse=True):
        if name in schema.column_names:
            field_id = schema.find_field(name).field_id
            return metadata.schema().find_column_name(field_id)
    return None
