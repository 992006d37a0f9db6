"""PyIceberg's transaction and overwrite, with costs that do not grow with what a table has been through."""

from functools import cached_property

from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import TableUpdate, _apply_table_update, _TableMetadataUpdateContext
from pyiceberg.table.update.snapshot import _ManifestMergeManager, _OverwriteFiles
from pyiceberg.utils.properties import property_as_bool, property_as_int

from lakebed.targets.iceberg.manifests import has_live_files, live_entries


class OneCommit(Transaction):
    """A transaction that works out its metadata once for each step.

    PyIceberg's own does so at every look, some forty times in a commit, and each time copies every schema and every
    snapshot of the table.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._applied: tuple[TableUpdate, ...] = ()
        self._context = _TableMetadataUpdateContext()
        self._known = table.metadata

    @property
    def table_metadata(self) -> TableMetadata:
        if self._applied is not self._updates:
            for update in self._updates[len(self._applied) :]:
                self._known = _apply_table_update(update, self._known, self._context)
            self._applied = self._updates
        return self._known


class FileReplacement(_OverwriteFiles):
    """An overwrite that reads only what it must, merges small manifests, and lets go of those that name no file."""

    def __init__(self, transaction: Transaction, properties: dict[str, str], *, branch: str | None) -> None:
        super().__init__(
            Operation.OVERWRITE,
            transaction,
            transaction._table.io,
            snapshot_properties=properties,
            branch=branch or MAIN_BRANCH,
        )

    @cached_property
    def _leaving(self) -> dict[ManifestFile, list[ManifestEntry]]:
        """The entries of the files that go, by the manifest that names them."""
        paths = {file.file_path for file in self._deleted_data_files}
        specs = {file.spec_id for file in self._deleted_data_files}
        found: dict[ManifestFile, list[ManifestEntry]] = {}
        for manifest in self._parent_manifests:
            if manifest.content == ManifestContent.DATA and manifest.partition_spec_id in specs:
                entries = [one for one in live_entries(manifest, self._io) if one.data_file.file_path in paths]
                if entries:
                    found[manifest] = entries
        return found

    @cached_property
    def _parent_manifests(self) -> list[ManifestFile]:
        snapshot = self._transaction.table_metadata.snapshot_by_name(self._target_branch)
        return [] if snapshot is None else [one for one in snapshot.manifests(self._io) if has_live_files(one)]

    def _build_delete_files_partition_predicate(self) -> None:
        """Files are found by their names here, not by a condition on every partition."""

    def _deleted_entries(self) -> list[ManifestEntry]:
        deleted = [
            ManifestEntry.from_args(
                status=ManifestEntryStatus.DELETED,
                snapshot_id=self._snapshot_id,
                sequence_number=entry.sequence_number,
                file_sequence_number=entry.file_sequence_number,
                data_file=entry.data_file,
            )
            for entries in self._leaving.values()
            for entry in entries
            if entry.data_file.content == DataFileContent.DATA
        ]
        self._validate_required_deletes(deleted)
        return deleted

    def _existing_manifests(self) -> list[ManifestFile]:
        existing = []
        for manifest in self._parent_manifests:
            gone = {id(entry) for entry in self._leaving.get(manifest, ())}
            staying = [one for one in live_entries(manifest, self._io) if id(one) not in gone] if gone else []
            if not gone:
                existing.append(manifest)
            elif staying:
                with self.new_manifest_writer(self.spec(manifest.partition_spec_id)) as writer:
                    for entry in staying:
                        writer.existing(entry)
                existing.append(writer.to_manifest_file())
        return existing

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        properties = self._transaction.table_metadata.properties
        merging: _ManifestMergeManager[_OverwriteFiles] = _ManifestMergeManager(
            target_size_bytes=_number(
                properties,
                TableProperties.MANIFEST_TARGET_SIZE_BYTES,
                TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT,
            ),
            min_count_to_merge=_number(
                properties, TableProperties.MANIFEST_MIN_MERGE_COUNT, TableProperties.MANIFEST_MIN_MERGE_COUNT_DEFAULT
            ),
            merge_enabled=property_as_bool(
                properties, TableProperties.MANIFEST_MERGE_ENABLED, TableProperties.MANIFEST_MERGE_ENABLED_DEFAULT
            ),
            snapshot_producer=self,
        )
        data = [one for one in manifests if one.content == ManifestContent.DATA]
        return [*merging.merge_manifests(data), *(one for one in manifests if one.content == ManifestContent.DELETES)]


def _number(properties: dict[str, str], key: str, default: int) -> int:
    value = property_as_int(properties, key, default)
    return default if value is None else value
