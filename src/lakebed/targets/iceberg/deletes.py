"""Which rows of a data file others deleted beside it: by their positions (DuckDB, Spark), or by their values (Flink).

PyIceberg knows positions only. A file of values counts for data files of an earlier commit, in its own partition, or in
all of them where it has none.
"""

from collections.abc import Iterable, Mapping

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import INITIAL_SEQUENCE_NUMBER, DataFileContent, FileFormat, ManifestEntry
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.schema import index_by_id
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.types import NestedField, PrimitiveType

from lakebed.errors import TargetError
from lakebed.model import EqualityDelete, ScanFile
from lakebed.targets.iceberg.schema import physical_schema


class RowDeletes:
    """The delete files of a snapshot, asked by data file."""

    def __init__(self, table: Table, entries: Iterable[ManifestEntry]) -> None:
        self._by_position = DeleteFileIndex()
        self._by_value: list[ManifestEntry] = []
        self._global = {number for number, spec in table.specs().items() if spec.is_unpartitioned()}
        self._fields = known_fields(table)
        for entry in entries:
            if is_by_value(entry.data_file):
                self._by_value.append(entry)
            else:
                self._by_position.add_delete_file(entry, partition_key=entry.data_file.partition)

    def of(self, entry: ManifestEntry) -> set[IcebergFile]:
        """The delete files that may hold rows of this data file."""
        file = entry.data_file
        found = self._by_position.for_data_file(_age(entry), file, partition_key=file.partition)
        return found | {one.data_file for one in self._by_value if self._counts(one, entry)}

    def _counts(self, delete: ManifestEntry, entry: ManifestEntry) -> bool:
        if _age(entry) >= _age(delete):
            return False
        one, file = delete.data_file, entry.data_file
        same_partition = (one.spec_id, one.partition) == (file.spec_id, file.partition)
        if one.spec_id not in self._global and not same_partition:
            return False
        return all(_may_share(one, file, self._fields.get(field_id)) for field_id in one.equality_ids or ())


def _age(entry: ManifestEntry) -> int:
    return entry.sequence_number or INITIAL_SEQUENCE_NUMBER


def _may_share(delete: IcebergFile, file: IcebergFile, field: NestedField | None) -> bool:
    """Whether the bounds leave open that both have one value of a column, or NULL."""
    if field is None or not isinstance(field.field_type, PrimitiveType):
        return True
    key, kind = field.field_id, field.field_type
    if all((one.null_value_counts or {}).get(key) != 0 for one in (delete, file)):
        return True
    lowest, highest = ([(bounds or {}).get(key) for bounds in both] for both in _bounds(delete, file))
    if None in lowest or None in highest:
        return True
    low, high = ([from_bytes(kind, one) for one in some if one is not None] for some in (lowest, highest))
    return bool(low[0] <= high[1] and low[1] <= high[0])


def _bounds(*files: IcebergFile) -> tuple[list[Mapping[int, bytes] | None], list[Mapping[int, bytes] | None]]:
    return [file.lower_bounds for file in files], [file.upper_bounds for file in files]


def is_by_value(file: IcebergFile) -> bool:
    """Whether a delete file marks rows by their values."""
    return bool(file.content == DataFileContent.EQUALITY_DELETES)


def position_deletes(task: FileScanTask) -> set[IcebergFile]:
    """The files that mark rows of this one by their positions."""
    return {one for one in task.delete_files if not is_by_value(one)}


def known_fields(table: Table) -> dict[int, NestedField]:
    """Every field that the table has or had, as it was last: a column that is gone may still decide about old rows."""
    found: dict[int, NestedField] = {}
    for schema in sorted(table.schemas().values(), key=lambda one: one.schema_id):
        found |= index_by_id(schema)
    return found | index_by_id(table.schema())


def scan_file(table: Table, task: FileScanTask, partition: Mapping[str, str | None]) -> ScanFile:
    """The file for kernels, with all that others deleted of it."""
    positions = tuple(sorted(one.file_path for one in position_deletes(task)))
    return ScanFile(task.file.file_path, partition, positions, equality_deletes(table, task))


def equality_deletes(table: Table, task: FileScanTask) -> tuple[EqualityDelete, ...]:
    """The files that mark rows of this one by their values, with the columns that they compare."""
    marking = sorted((one for one in task.delete_files if is_by_value(one)), key=lambda one: one.file_path)
    if not marking:
        return ()
    fields = known_fields(table)
    return tuple(
        EqualityDelete(
            one.file_path, physical_schema(IcebergSchema(*(fields[number] for number in one.equality_ids or ())))
        )
        for one in marking
    )


def require_known_deletes(table: Table, tasks: Iterable[FileScanTask]) -> None:
    """Refuses, before any work, equality deletes that are not understood here."""
    marking = {one.file_path: one for task in tasks for one in task.delete_files if is_by_value(one)}
    if not marking:
        return
    top_level = {field.field_id for schema in table.schemas().values() for field in schema.fields}
    for one in marking.values():
        if one.file_format != FileFormat.PARQUET:
            raise _refusal(table, f"in the format {one.file_format.value}, such as {one.file_path}")
        if not one.equality_ids or not top_level.issuperset(one.equality_ids):
            raise _refusal(table, f"by fields inside others or that are not known any more, such as {one.file_path}")


def _refusal(table: Table, which: str) -> TargetError:
    name = ".".join(table.name())
    return TargetError(
        f"{name} holds equality deletes {which}, which cannot be applied here",
        remedy="Compact it with the engine that wrote them, for example with Spark: CALL "
        f"CATALOG.system.rewrite_data_files(table => '{name}', options => map('delete-file-threshold', '1')), and run "
        "it again.",
    )
