"""Rows deleted by their values, as Flink and other streams leave them: written by hand, since PyIceberg cannot."""

from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record

from lakebed.kernels.columns import FIELD_ID
from lakebed.targets.iceberg.target import IcebergTarget


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _DeletesByValue(_FastAppendFiles):
    """A commit that brings delete files and nothing else."""

    def _manifests(self) -> list[ManifestFile]:
        spec = self.spec(self._added_data_files[0].spec_id)
        with _DeletesWriter(
            spec, self.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
        ) as writer:
            for file in self._added_data_files:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=self._snapshot_id,
                        sequence_number=None,
                        file_sequence_number=None,
                        data_file=file,
                    )
                )
        return [writer.to_manifest_file(), *self._existing_manifests()]


def delete_by_value(
    target: IcebergTarget,
    rows: pa.Table,
    *,
    partition: Record | None = None,
    spec_id: int | None = None,
    format_: FileFormat = FileFormat.PARQUET,
    field_ids: dict[str, int] | None = None,
    bounded: bool = False,
) -> None:
    """Deletes the rows of the table that have the values of one of these rows, in all of their columns.

    `field_ids` are those of columns that the table has no more. `partition` is the one that it counts for. With
    `bounded` the manifest has the bounds of one column of text.
    """
    table = target.existing_table()
    known = {field.name: field.field_id for field in table.schema().fields} | (field_ids or {})
    ids = [known[name] for name in rows.column_names]
    fields = [field.with_metadata({FIELD_ID: str(known[field.name])}) for field in rows.schema]
    values = rows.column(0).to_pylist() if bounded else []
    uri = table.location_provider().new_data_location(f"deletes-{uuid4().hex}.parquet")
    with table.io.new_output(uri).create() as stream:
        pq.write_table(rows.cast(pa.schema(fields)), stream)
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=uri,
        file_format=format_,
        partition=partition or Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=len(table.io.new_input(uri)),
        column_sizes=None,
        value_counts=None,
        null_value_counts={ids[0]: 0} if values else None,
        nan_value_counts=None,
        lower_bounds={ids[0]: min(values).encode()} if values else None,
        upper_bounds={ids[0]: max(values).encode()} if values else None,
        key_metadata=None,
        split_offsets=None,
        equality_ids=ids,
        sort_order_id=None,
    )
    file.spec_id = table.spec().spec_id if spec_id is None else spec_id
    with table.transaction() as transaction:
        producer = _DeletesByValue(Operation.OVERWRITE, transaction, table.io)
        with producer as snapshot:
            snapshot.append_data_file(file)
