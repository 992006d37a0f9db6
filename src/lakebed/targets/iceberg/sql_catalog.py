"""PyIceberg's catalog in a database, which commits without copying a table's whole history first."""

from datetime import UTC, datetime

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.update import (
    TableRequirement,
    TableUpdate,
    _apply_table_update,
    _TableMetadataUpdateContext,
    _update_table_metadata_log,
)
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.utils.datetime import datetime_to_millis
from sqlalchemy import create_engine
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import NullPool

from lakebed.targets.iceberg.staging import marked_uuid


class LeanSqlCatalog(SqlCatalog):
    """The same catalog. Metadata is never changed in place, so that a new version may share what it has in common."""

    @classmethod
    def of(cls, catalog: SqlCatalog) -> "LeanSqlCatalog":
        """The catalog as it was configured, in place of PyIceberg's."""
        catalog.close()
        lean = cls(catalog.name, **catalog.properties)
        if lean.engine.dialect.name != "sqlite":
            # A server counts connections: one is open while it is used, not as long as the catalog is known.
            lean.engine.dispose()
            lean.engine = create_engine(lean.engine.url, poolclass=NullPool)
        return lean

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """As PyIceberg does it, which looks first whether it is there: another may make it after that look."""
        try:
            super().create_namespace(namespace, properties)
        except IntegrityError as quicker:
            raise NamespaceAlreadyExistsError(f"Namespace {namespace} already exists") from quicker

    def _update_and_stage_table(
        self,
        current_table: Table | None,
        table_identifier: Identifier,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> StagedTable:
        if current_table is None:
            return super()._update_and_stage_table(current_table, table_identifier, requirements, updates)
        before = current_table.metadata
        for requirement in requirements:
            requirement.validate(before)
        context, metadata = _TableMetadataUpdateContext(), before
        for update in updates:
            metadata = _apply_table_update(update, metadata, context)
        if context.has_changes():
            metadata = _update_table_metadata_log(metadata, current_table.metadata_location, before.last_updated_ms)
            if metadata.last_updated_ms == before.last_updated_ms:
                now = datetime_to_millis(datetime.now(UTC))
                metadata = metadata.model_copy(update={"last_updated_ms": now})
        metadata.spec().check_compatible(metadata.schema())
        metadata.sort_order().check_compatible(metadata.schema())
        number = self._parse_metadata_version(current_table.metadata_location) + 1
        provider = load_location_provider(metadata.location, metadata.properties)
        place = provider.new_metadata_location(f"{number:05d}-{marked_uuid()}.metadata.json")
        io = self._load_file_io(properties=metadata.properties, location=place)
        return StagedTable(table_identifier, metadata, place, io, self)
