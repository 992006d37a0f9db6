"""The Iceberg target: `iceberg:[CATALOG:]NAMESPACE.TABLE`, one catalog commit and one snapshot for each change."""

import re
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.dataset as pads
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CreateTableTransaction, Table

from lakebed.checkpoints import pass_checkpoint
from lakebed.config import DEFAULT_CATALOG
from lakebed.errors import ConcurrentModification, ConfigError, LakebedError, TargetError
from lakebed.model import RESERVED_COLUMNS, DataFile, Slice, Staging, Totals
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.iceberg import RULES
from lakebed.storage import Storage, is_local, join, local_path
from lakebed.targets.base import Affected, Capabilities, Change, Commit, TableState
from lakebed.targets.iceberg import maintenance
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.commit import OutcomeUnknown, answering, commit, landed, write_snapshot
from lakebed.targets.iceberg.read import read, scan_plan, totals
from lakebed.targets.iceberg.schema import evolve, new_table_schema, partition_spec, physical_schema
from lakebed.targets.iceberg.settle import settle, unsettled
from lakebed.targets.iceberg.slices import affected
from lakebed.targets.iceberg.state import ABSENT, absent, by_uri, require_writable, table_state, version
from lakebed.targets.scan import ScanPlan
from lakebed.targets.shared.containment import require_no_link
from lakebed.targets.shared.refusals import changed_since_read, no_such_table, require_no_column_lost
from lakebed.targets.shared.sums import no_totals
from lakebed.targets.snapshots import Expired, SnapshotRecord

STAGING_PREFIX = "lakebed-"
CAPABILITIES = Capabilities(made_of_files=True, rules=RULES, evolves_without_rewrite=True, partition_in_path=False)

# What our tables are created with. The bounds of our own columns are kept whole, so that other writers' files, too,
# say exactly which slices they hold; manifests are merged once there are many, and of the metadata files, each of which
# repeats every schema, a hundred are kept.
_STAGING_NAME = re.compile(re.escape(STAGING_PREFIX) + "[0-9a-f]{32}")
TABLE_PROPERTIES = {
    "format-version": "2",
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
    "write.parquet.compression-codec": "zstd",
} | {f"write.metadata.metrics.column.{name}": "full" for name in RESERVED_COLUMNS}


class IcebergTarget:
    """One Iceberg table. Opening it touches nothing; the catalog is connected to when it is first needed."""

    def __init__(
        self, namespace: str, table: str, catalog: CatalogSettings, *, namespace_is_catalog: bool = False
    ) -> None:
        """`namespace_is_catalog`: the namespace begins with the name of another catalog, which may be meant."""
        if not table or not all(namespace.split(".")):
            raise ConfigError("an Iceberg table is written iceberg:NAMESPACE.TABLE")
        self.identifier = (*namespace.split("."), table)
        self.settings = catalog
        self._namespace_is_catalog = namespace_is_catalog
        self._creations: dict[str, CreateTableTransaction] = {}
        self._undecided: set[str] = set()

    @property
    def address(self) -> str:
        catalog = "" if self.settings.name == DEFAULT_CATALOG else f"{self.settings.name}:"
        return f"iceberg:{catalog}{self.name}"

    @property
    def name(self) -> str:
        """The table's dotted name in its catalog."""
        return ".".join(self.identifier)

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    @cached_property
    def catalog(self) -> Catalog:
        """The connected catalog; a SQLite one is created here if it is not there yet."""
        return self.settings.open()

    def table(self) -> Table | None:
        """The table as PyIceberg knows it, or None where there is none."""
        found = self.settings.load(self.catalog, self.identifier) if self.settings.exists else None
        if found is None and self._namespace_is_catalog and not self._namespace_exists():
            first, *rest = self.identifier
            raise ConfigError(
                f"there is no namespace {'.'.join(self.identifier[:-1])} in the Iceberg catalog {self.settings.name}, "
                f"and {first} is a catalog of the settings",
                remedy=f"Did you mean iceberg:{first}:{'.'.join(rest)}? The namespace is written "
                f"iceberg:{self.settings.name}:{self.name}.",
            )
        return found

    def _namespace_exists(self) -> bool:
        if not self.settings.exists:
            return False
        with self.settings.translated_errors():
            return self.catalog.namespace_exists(self.identifier[:-1])

    def existing_table(self) -> Table:
        """The table, or NotFound."""
        table = self.table()
        if table is None:
            raise no_such_table(self.address, where=f"the Iceberg catalog {self.settings.describe()}")
        return table

    def state(self) -> TableState:
        table = self.table()
        return absent() if table is None else table_state(table)

    def affected(self, state: TableState, slice_: Slice) -> Affected:
        return affected(state.files, slice_, self.existing_table().io) if state.files else Affected()

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        return ()

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        identifier = uuid.uuid4().hex
        if not state.exists:
            table = self._stage_creation(identifier, evolution, tuple(partition_by))
            schema, partitions = table.schema(), tuple(partition_by)
        else:
            table = self.existing_table()
            require_writable(table)
            self._require_unmoved(table, state)
            if settled := self._settle(table):
                raise ConcurrentModification(
                    f"another writer had deleted rows or renamed columns of {self.name}: {settled} of its files were "
                    "rewritten, which changes no row",
                    remedy="Plan again on the table as it is now.",
                )
            schema, partitions = evolve(table.transaction(), evolution), state.partition_by
        folder = table.location_provider().new_data_location(f"{STAGING_PREFIX}{identifier}")
        if is_local(folder):
            local_path(folder).mkdir(parents=True, exist_ok=True)
        return Staging(identifier, folder, physical_schema(schema), partitions)

    def owns_staging(self, folder: str) -> bool:
        *above, name = _plain(folder).split("/")
        if {".", ".."} & {*above, name} or not _STAGING_NAME.fullmatch(name):
            return False
        table = self.table()
        if table is None:
            # Its creation was never committed: only the name, which nothing else has, says whose the folder is.
            return "data" in above
        places = (table.location(), table.properties.get("write.data.path"))
        if not any(place and _plain(folder).startswith(_plain(place).rstrip("/") + "/") for place in places):
            return False
        if is_local(folder):
            require_no_link(local_path(folder))
        return True

    def unsettled(self) -> int:
        """How many files other writers covered with deletes or renamed columns."""
        table = self.table()
        return 0 if table is None else len(unsettled(table))

    def settle(self) -> int:
        """Rewrites files that other writers covered with deletes or renamed columns; returns how many."""
        table = self.table()
        return 0 if table is None else self._settle(table)

    def _settle(self, table: Table) -> int:
        with self.settings.translated_errors():
            try:
                return settle(table)
            except (CommitFailedException, ValidationException) as refused:
                raise ConcurrentModification(f"{self.name} was changed by another commit: {refused}") from refused

    def _stage_creation(self, identifier: str, evolution: EvolutionPlan, partition_by: tuple[str, ...]) -> Table:
        schema = new_table_schema(evolution.final)
        spec = partition_spec(schema, partition_by) if partition_by else UNPARTITIONED_PARTITION_SPEC
        with self.settings.translated_errors():
            with suppress(NamespaceAlreadyExistsError):  # another process was quicker
                self.catalog.create_namespace_if_not_exists(self.identifier[:-1])
            try:
                creation = self.catalog.create_table_transaction(
                    self.identifier, schema, partition_spec=spec, properties=TABLE_PROPERTIES
                )
            except TableAlreadyExistsError as quicker:
                raise ConcurrentModification(f"{self.name} was created by another process just now") from quicker
            except BadRequestError:
                # S3 Tables cannot stage a creation: there an empty table is made first, and the rows are its commit.
                return self.catalog.create_table(
                    self.identifier, schema, partition_spec=spec, properties=TABLE_PROPERTIES
                )
        self._creations[identifier] = creation
        return creation._table

    def _require_unmoved(self, table: Table, state: TableState) -> None:
        if version(table.metadata) != state.version:
            raise changed_since_read(self.address)

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        require_no_column_lost(self.address, state.schema, change.evolution.final)
        # Until the catalog has answered, the files may be part of the table: an abandoned staging then keeps them.
        self._undecided.add(staging.id)
        try:
            with self.settings.translated_errors():
                if state.exists:
                    table = commit(self.existing_table(), by_uri(state), state.version, staging, change)
                else:
                    table = self._create(staging, change)
        except OutcomeUnknown:
            raise
        except LakebedError:
            self._undecided.discard(staging.id)
            raise
        self._undecided.discard(staging.id)
        return Commit(
            version=version(table.metadata),
            rows=self._rows(table),
            files_added=len(change.add),
            files_removed=len(change.remove),
            places={file.path: join(staging.folder, file.path) for file in change.add},
        )

    def _create(self, staging: Staging, change: Change) -> Table:
        if staging.id not in self._creations:
            made_empty = self.existing_table()
            planned_on = version(made_empty.metadata) if made_empty.current_snapshot() is None else ABSENT
            return commit(made_empty, {}, planned_on, staging, change)
        creation = self._creations[staging.id]
        write_snapshot(creation, creation._table, staging, change)
        try:
            with answering(self.name):
                table = creation.commit_transaction()
        except (CommitFailedException, TableAlreadyExistsError) as quicker:
            raise ConcurrentModification(f"{self.name} was created by another process just now") from quicker
        except OutcomeUnknown as unknown:
            try:
                made = self.table()
            except TargetError:
                raise unknown from None
            if made is None or not landed(made.metadata, staging):
                raise
            table = made
        pass_checkpoint("created")
        del self._creations[staging.id]
        return table

    def _rows(self, table: Table) -> int:
        snapshot = table.current_snapshot()
        total = None if snapshot is None or snapshot.summary is None else snapshot.summary["total-records"]
        deletes = None if snapshot is None or snapshot.summary is None else snapshot.summary["total-delete-files"]
        if snapshot is None:
            return 0
        return int(total) if total is not None and deletes in (None, "0") else table.scan().count()

    def abandon(self, staging: Staging) -> None:
        self._creations.pop(staging.id, None)
        if staging.id in self._undecided:
            return
        try:
            table = self.table()
        except TargetError:
            return  # whether it was committed cannot be asked now, so the files stay
        if table is not None and landed(table.metadata, staging):
            return
        storage = Storage(self.settings.storage)
        storage.delete(entry.uri for entry in storage.list(staging.folder))
        if is_local(staging.folder):
            shutil.rmtree(local_path(staging.folder), ignore_errors=True)

    def totals(self, slice_: Slice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        table = self.table()
        return no_totals(columns) if table is None else totals(table, slice_, columns, currency=currency)

    def read(self, columns: Sequence[str] | None = None) -> pads.Dataset | pa.Table:
        return read(self.existing_table(), columns)

    def scan_plan(self) -> ScanPlan:
        """The table's files for engines that read them themselves."""
        return scan_plan(self.existing_table())

    def snapshots(self) -> tuple[SnapshotRecord, ...]:
        """Every snapshot that is not expired, the oldest first."""
        table = self.table()
        return () if table is None else maintenance.snapshots(table)

    def roll_back(self, snapshot: int) -> None:
        """Makes an earlier snapshot the current one; the schema stays as wide as it is."""
        maintenance.roll_back(self.existing_table(), snapshot)

    def expire(self, before: datetime, *, dry_run: bool = False) -> Expired:
        """Forgets snapshots older than this and removes the files that only they held."""
        return maintenance.expire(self.existing_table(), before, dry_run=dry_run)

    def named_files(self) -> set[str]:
        """Every file that some snapshot names."""
        table = self.table()
        return set() if table is None else maintenance.live_files(table)


def _plain(uri: str) -> str:
    return uri.removeprefix("file://")
