"""An Iceberg table as plans see it: its files, its version, and what it may not be."""

from collections.abc import Mapping, Sequence

import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.schema import index_by_id
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import NullOrder, SortDirection
from pyiceberg.transforms import IdentityTransform

from lakebed.errors import TargetError
from lakebed.model import DataFile, SortKey
from lakebed.schema.types import Schema
from lakebed.targets.base import TableState
from lakebed.targets.iceberg.deletes import is_by_value, require_known_deletes
from lakebed.targets.iceberg.files import data_files_of
from lakebed.targets.iceberg.manifests import plan_all_files
from lakebed.targets.iceberg.names import field_ids_where_needed
from lakebed.targets.iceberg.rows import count_rows
from lakebed.targets.iceberg.schema import table_schema
from lakebed.targets.iceberg.txns import recorded_txns

ABSENT = "absent"
# What PyIceberg reads.
_KNOWN_FORMATS = (FileFormat.PARQUET, FileFormat.ORC)


def version(metadata: TableMetadata) -> str:
    """What a plan depends on: which table, which rows, which schema, which partitions."""
    return (
        f"{metadata.table_uuid}/snapshot={metadata.current_snapshot_id}/schema={metadata.current_schema_id}"
        f"/column={metadata.last_column_id}/spec={metadata.default_spec_id}"
    )


def current_files(table: Table) -> list[FileScanTask]:
    """The data files of the current snapshot, each with the delete files that hold rows of it.

    Writers may lay one delete file over a whole partition: which data files it means is only said inside it.
    """
    tasks = plan_all_files(table)
    _require_known_formats(table, tasks)
    require_known_deletes(table, tasks)
    deletes = {delete for task in tasks for delete in task.delete_files}
    if not deletes:
        return tasks
    meant = {delete.file_path: _data_files_meant(table, delete) for delete in deletes}
    return [
        FileScanTask(
            task.file,
            {
                one
                for one in task.delete_files
                if (paths := meant[one.file_path]) is None or task.file.file_path in paths
            },
            task.residual,
        )
        for task in tasks
    ]


def _require_known_formats(table: Table, tasks: Sequence[FileScanTask]) -> None:
    strange = [task.file for task in tasks if task.file.file_format not in _KNOWN_FORMATS]
    if not strange:
        return
    name, kind = ".".join(table.name()), strange[0].file_format.value
    raise TargetError(
        f"{name} holds {len(strange)} data files in the format {kind}, such as {strange[0].file_path}, which PyIceberg "
        "cannot read",
        remedy="Rewrite them as Parquet with the engine that wrote them, for example with Spark: ALTER TABLE "
        f"CATALOG.{name} SET TBLPROPERTIES ('write.format.default'='parquet'), and CALL "
        f"CATALOG.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true')).",
    )


def is_read_by_engines(file: IcebergFile) -> bool:
    """Whether engines read this file themselves; others go through PyIceberg, and are settled before a merge."""
    return bool(file.file_format == FileFormat.PARQUET)


def has_defaults(schema: IcebergSchema) -> bool:
    """Whether a file that lacks a column may mean another value than NULL: defaults of version 3 of the format."""
    return any(field.initial_default is not None for field in index_by_id(schema).values())


def _data_files_meant(table: Table, delete: IcebergFile) -> set[str] | None:
    """The data files that a delete file speaks of; None where that is not in the file."""
    if delete.file_format != FileFormat.PARQUET or is_by_value(delete):
        return None
    with table.io.new_input(delete.file_path).open() as stream:
        return set(pq.read_table(stream, columns=["file_path"])["file_path"].unique().to_pylist())


def data_files(table: Table, tasks: Sequence[FileScanTask] | None = None) -> tuple[DataFile, ...]:
    """The same files as our plans know them."""
    return data_files_of(current_files(table) if tasks is None else tasks, table.schema(), table.specs())


def table_state(table: Table) -> TableState:
    """The table now. Rows that other writers deleted are not counted."""
    tasks = current_files(table)
    files = data_files(table, tasks)
    return TableState(
        exists=True,
        schema=table_schema(table.schema()),
        rows=count_rows(table, tasks),
        version=version(table.metadata),
        partition_by=partition_columns(table),
        files=files,
        txns=recorded_txns(table.metadata),
        field_ids=field_ids_where_needed(table),
        order=sort_order(table),
    )


def sort_order(table: Table) -> tuple[SortKey, ...]:
    """The table's sort order in terms of its columns, up to the first field that they cannot express.

    What is sorted by a moment is sorted by its day, but what follows the day would then not be in order.
    """
    columns = {field.field_id: field for field in table.schema().fields if field.field_type.is_primitive}
    keys: list[SortKey] = []
    for one in table.sort_order().fields:
        if one.source_id not in columns or not one.transform.preserves_order:
            break
        descending, nulls_first = one.direction == SortDirection.DESC, one.null_order == NullOrder.NULLS_FIRST
        keys.append(SortKey(columns[one.source_id].name, descending, nulls_first))
        if not isinstance(one.transform, IdentityTransform):
            break
    return tuple(keys)


def absent() -> TableState:
    """No such table."""
    return TableState(exists=False, schema=Schema(), rows=0, version=ABSENT)


def partition_columns(table: Table) -> tuple[str, ...]:
    """The columns whose values are partitions; files are split by other transforms (months, buckets) at the commit."""
    columns = {field.field_id: field.name for field in table.schema().fields}
    return tuple(
        columns[field.source_id]
        for field in table.spec().fields
        if str(field.transform) == "identity" and field.source_id in columns
    )


def by_uri(state: TableState) -> Mapping[str, DataFile]:
    """The files of a state by their address."""
    return {file.uri: file for file in state.files}


def require_writable(table: Table) -> None:
    """Refuses, before anything is written, what PyIceberg cannot write."""
    if table.format_version >= 3:
        raise TargetError(
            f"{'.'.join(table.name())} has Iceberg's format version {table.format_version}, which PyIceberg reads and "
            "cannot write yet",
            remedy="Write to it with the engine that made it; or create the table with format version 2, which every "
            "engine reads and writes.",
        )
