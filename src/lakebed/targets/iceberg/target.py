"""The Iceberg target: `iceberg:[CATALOG:]NAMESPACE.TABLE[@BRANCH]`, one commit and one snapshot for each change."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.dataset as pads
from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CreateTableTransaction, Table
from pyiceberg.table.refs import MAIN_BRANCH

from lakebed.checkpoints import pass_checkpoint
from lakebed.config import DEFAULT_CATALOG
from lakebed.errors import ConcurrentModification, ConfigError, LakebedError, TargetError
from lakebed.kernels.sums import no_totals
from lakebed.model import AnySlice, DataFile, Staging, Totals
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.iceberg import RULES
from lakebed.storage import Storage, is_local, join, local_path
from lakebed.targets.base import Affected, Capabilities, Change, Commit, KeptRows, PastCommit, TableState
from lakebed.targets.iceberg import maintenance
from lakebed.targets.iceberg.branches import at_branch, at_snapshot, publish, require_branch, require_ref, require_trunk
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.commit import OutcomeUnknown, answering, commit, landed, last_commit, write_snapshot
from lakebed.targets.iceberg.loads import read_log, tag_of, write_step
from lakebed.targets.iceberg.orphans import orphaned_files, running_stagings
from lakebed.targets.iceberg.partitions import remove_split
from lakebed.targets.iceberg.properties import new_table_properties
from lakebed.targets.iceberg.read import read, scan_plan, totals
from lakebed.targets.iceberg.rows import count_rows
from lakebed.targets.iceberg.schema import evolve, new_table_schema, partition_spec, physical_schema
from lakebed.targets.iceberg.settle import settle, unsettled
from lakebed.targets.iceberg.slices import affected
from lakebed.targets.iceberg.staging import STAGING_NAME, STAGING_PREFIX, local_stagings, lock_folder, new_staging_id
from lakebed.targets.iceberg.state import (
    ABSENT,
    absent,
    by_uri,
    current_files,
    require_writable,
    table_state,
    version,
)
from lakebed.targets.iceberg.transaction import OneCommit
from lakebed.targets.load_log import LoadStep, LoggedLoad
from lakebed.targets.scan import ScanPlan
from lakebed.targets.shared.containment import require_no_link
from lakebed.targets.shared.refusals import changed_since_read, no_such_table, require_no_column_lost
from lakebed.targets.snapshots import Expired, Publication, SnapshotRecord

CAPABILITIES = Capabilities(made_of_files=True, rules=RULES, partition_in_path=False)


class IcebergTarget:
    """One Iceberg table. Opening it touches nothing; the catalog is connected to when it is first needed."""

    def __init__(
        self,
        namespace: str,
        table: str,
        catalog: CatalogSettings,
        *,
        branch: str | None = None,
        namespace_is_catalog: bool = False,
        may_begin_branch: bool = False,
    ) -> None:
        """`namespace_is_catalog`: the namespace begins with the name of another catalog, which may be meant.
        `may_begin_branch`: a branch that is not there yet is read as its table, with whose rows it begins.
        """
        if not table or not all(namespace.split(".")):
            raise ConfigError("an Iceberg table is written iceberg:NAMESPACE.TABLE")
        self.identifier = (*namespace.split("."), table)
        self.key_ring = catalog.storage.with_key_ring()
        self.settings = replace(catalog, storage=self.key_ring)
        self.branch = branch
        self._namespace_is_catalog = namespace_is_catalog
        self._may_begin_branch = may_begin_branch
        self._creations: dict[str, CreateTableTransaction] = {}
        self._undecided: set[str] = set()
        self._locks: dict[str, int] = {}
        # As it was last seen. Reading the metadata of a table with a long history takes longer than most changes.
        self._known: Table | None = None

    @property
    def address(self) -> str:
        catalog = "" if self.settings.name == DEFAULT_CATALOG else f"{self.settings.name}:"
        branch = "" if self.branch is None else f"@{self.branch}"
        return f"iceberg:{catalog}{self.name}{branch}"

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
        """The table as PyIceberg knows it, with the rows of the branch; None where there is no table."""
        known = self._known
        found = self.settings.load(self.catalog, self.identifier, known) if self.settings.exists else None
        self._known = found
        if found is not None:
            self._lend(found)
        if found is None and self._namespace_is_catalog and not self._namespace_exists():
            first, *rest = self.identifier
            raise ConfigError(
                f"there is no namespace {'.'.join(self.identifier[:-1])} in the Iceberg catalog {self.settings.name}, "
                f"and {first} is a catalog of the settings",
                remedy=f"Did you mean iceberg:{first}:{'.'.join(rest)}? The namespace is written "
                f"iceberg:{self.settings.name}:{self.name}.",
            )
        return None if found is None else at_branch(found, self.branch)

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

    def _readable_table(self) -> Table:
        """The table, or NotFound where there is none, or none of its branches has the name."""
        table = self.existing_table()
        self._require_ref(table)
        return table

    def _require_ref(self, table: Table) -> None:
        if not self._may_begin_branch:
            require_ref(table, self.branch)

    def state(self) -> TableState:
        table = self.table()
        if table is None:
            return absent()
        with self.settings.translated_errors():
            found = table_state(table)
        return replace(found, log=read_log(table.metadata.properties, self.branch, name=self.name))

    def _lend(self, table: Table) -> None:
        """Puts the keys that the catalog handed out with the table, or is configured with, where engines have them."""
        keys = self.settings.lent_keys(table.io.properties)
        if keys is not None:
            for place in table_places(table):
                self.key_ring.add(place, keys)

    def affected(self, state: TableState, slice_: AnySlice) -> Affected:
        if not state.files:
            return Affected()
        with self.settings.translated_errors():
            return affected(state.files, slice_, self.existing_table())

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        return ()

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        identifier = new_staging_id()
        if not state.exists:
            require_trunk(None, self.branch, self.address)
            table = self._stage_creation(identifier, evolution, tuple(partition_by))
            schema, partitions = table.schema(), tuple(partition_by)
        else:
            table = self.existing_table()
            require_writable(table)
            require_branch(table, self.branch)
            require_trunk(table, self.branch, self.address)
            self._require_unmoved(table, state)
            if settled := self._settle(table, evolution.added_columns):
                raise ConcurrentModification(
                    f"another writer had covered files of {self.name} with deletes or with other names: {settled} of "
                    "them were rewritten, which changes no row",
                    remedy="Plan again on the table as it is now.",
                )
            schema, partitions = evolve(OneCommit(table), evolution), state.partition_by
        folder = table.location_provider().new_data_location(f"{STAGING_PREFIX}{identifier}")
        if is_local(folder):
            with self.settings.translated_errors():
                local_path(folder).mkdir(parents=True, exist_ok=True)
                self._locks[identifier] = lock_folder(folder)
        return Staging(identifier, folder, physical_schema(schema), partitions)

    def write_places(self) -> tuple[str, ...]:
        """Where its data lies or, before it is created, the warehouse: a REST catalog names that, and has it itself."""
        table = self.table() if self.settings.exists else None
        if table is not None:
            return (table.properties.get("write.data.path") or table.location(),)
        warehouse = self.settings.properties.get("warehouse", "")
        return (warehouse,) if "://" in warehouse else ()

    def owns_staging(self, folder: str) -> bool:
        *above, name = _plain(folder).split("/")
        if {".", ".."} & {*above, name} or not STAGING_NAME.fullmatch(name):
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
        """How many files other writers covered with deletes or other names."""
        table = self.table()
        if table is None:
            return 0
        with self.settings.translated_errors():
            return len(unsettled(table))

    def settle(self) -> int:
        """Rewrites files that other writers covered with deletes or other names; returns how many."""
        table = self.table()
        if table is None:
            return 0
        # Before any work: whoever settles is going to write.
        require_writable(table)
        require_branch(table, self.branch)
        return self._settle(table)

    def _settle(self, table: Table, planned: Sequence[str] = ()) -> int:
        with self._refusing_others():
            return settle(table, planned, self.branch)

    @contextmanager
    def _refusing_others(self) -> Iterator[None]:
        """Around a commit of PyIceberg's own: another that came first is a ConcurrentModification."""
        with self.settings.translated_errors():
            try:
                yield
            except (CommitFailedException, ValidationException) as refused:
                raise ConcurrentModification(f"{self.name} was changed by another commit: {refused}") from refused
            except NotImplementedError as unsupported:
                # A catalog on a server moves branches of tables of any format version; a database's cannot.
                require_writable(self.existing_table())
                raise TargetError(f"{self.name}: {unsupported}") from unsupported

    def _stage_creation(self, identifier: str, evolution: EvolutionPlan, partition_by: tuple[str, ...]) -> Table:
        schema = new_table_schema(evolution.final)
        spec = partition_spec(schema, partition_by) if partition_by else UNPARTITIONED_PARTITION_SPEC
        properties = new_table_properties(schema)
        with self.settings.translated_errors():
            with suppress(NamespaceAlreadyExistsError):  # another process was quicker
                self.catalog.create_namespace_if_not_exists(self.identifier[:-1])
            try:
                creation = self.catalog.create_table_transaction(
                    self.identifier, schema, partition_spec=spec, properties=properties
                )
            except TableAlreadyExistsError as quicker:
                raise ConcurrentModification(f"{self.name} was created by another process just now") from quicker
            except BadRequestError:
                # S3 Tables cannot stage a creation: there an empty table is made first, and the rows are its commit.
                made = self.catalog.create_table(self.identifier, schema, partition_spec=spec, properties=properties)
                self._lend(made)
                return made
        self._creations[identifier] = creation
        self._lend(creation._table)
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
                    table = commit(
                        self.existing_table(), by_uri(state), state.version, staging, change, branch=self.branch
                    )
                else:
                    table = self._create(staging, change)
        except OutcomeUnknown:
            raise
        except LakebedError:
            self._undecided.discard(staging.id)
            raise
        self._undecided.discard(staging.id)
        self._unlock(staging)
        self._known = table
        table = at_branch(table, self.branch)
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
            return commit(made_empty, {}, planned_on, staging, change, branch=self.branch)
        creation = self._creations[staging.id]
        arriving = write_snapshot(creation, creation._table, staging, change, branch=self.branch)
        if change.loads is not None:
            write_step(creation, change.loads, branch=self.branch, replaced=None)
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
        remove_split(change.add, arriving, folder=staging.folder, io=table.io)
        del self._creations[staging.id]
        return table

    def _rows(self, table: Table) -> int:
        snapshot = table.current_snapshot()
        total = None if snapshot is None or snapshot.summary is None else snapshot.summary["total-records"]
        deletes = None if snapshot is None or snapshot.summary is None else snapshot.summary["total-delete-files"]
        if snapshot is None:
            return 0
        if total is not None and deletes in (None, "0"):
            return int(total)
        return count_rows(table, current_files(table))

    def last_commit(self) -> PastCommit | None:
        table = self.table()
        return None if table is None else last_commit(table)

    def abandon(self, staging: Staging) -> None:
        self._creations.pop(staging.id, None)
        self._unlock(staging)
        if staging.id in self._undecided:
            return
        try:
            table = self.table()
        except TargetError:
            return  # whether it was committed cannot be asked now, so the files stay
        if table is not None and landed(table.metadata, staging):
            return
        storage = Storage(self.key_ring)
        storage.delete(entry.uri for entry in storage.list(staging.folder))
        if is_local(staging.folder):
            shutil.rmtree(local_path(staging.folder), ignore_errors=True)

    def _unlock(self, staging: Staging) -> None:
        if (descriptor := self._locks.pop(staging.id, None)) is not None:
            os.close(descriptor)
            with suppress(OSError):  # not empty, as the folder of a change of the schema alone is
                local_path(staging.folder).rmdir()

    def orphans(self, before: datetime) -> tuple[str, ...]:
        """Files that crashed writers of ours left, none of them younger than this; no snapshot names one."""
        places, storage = self._places(), Storage(self.key_ring)
        running = running_stagings(places)
        listed = [entry for place in places for entry in storage.list(place)]
        # The table is loaded after the listing: what was committed in between is in use.
        return orphaned_files(listed, self.table(), before=before, running=running, read=storage.read)

    def remove_orphans(self, files: Sequence[str]) -> None:
        """Removes what `orphans` found, and local folders of stagings that are empty then."""
        Storage(self.key_ring).delete(files)
        for folder in [folder for place in self._places() for folder in local_stagings(place)]:
            with suppress(OSError):  # not empty
                os.rmdir(folder)

    def _places(self) -> tuple[str, ...]:
        """The folders of the table; of one whose creation was never committed the place where it would lie."""
        table = self.table()
        if table is not None:
            return table_places(table)
        # A server is not asked: to some of them the question is the beginning of another creation, in another place.
        if not self.settings.exists or not isinstance(self.catalog, MetastoreCatalog):
            return ()
        with suppress(NoSuchNamespaceError):
            return (self.catalog._resolve_table_location(None, ".".join(self.identifier[:-1]), self.identifier[-1]),)
        return ()

    def totals(self, slice_: AnySlice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        table = self.table()
        if table is None:
            return no_totals(columns)
        self._require_ref(table)
        with self.settings.translated_errors():
            return totals(table, slice_, columns, currency=currency)

    def kept_rows(self, load: LoggedLoad) -> KeptRows:
        return KeptRows(self._at(tag_of(load)), load.slice)

    def _at(self, tag: str) -> "IcebergTarget":
        *namespace, table = self.identifier
        return IcebergTarget(".".join(namespace), table, self.settings, branch=tag)

    def read(self, columns: Sequence[str] | None = None) -> pads.Dataset | pa.Table:
        table = self._readable_table()
        with self.settings.translated_errors():
            return read(table, columns)

    def scan_plan(self) -> ScanPlan:
        """The table's files for engines that read them themselves."""
        table = self._readable_table()
        with self.settings.translated_errors():
            return scan_plan(table)

    def snapshots(self) -> tuple[SnapshotRecord, ...]:
        """Every snapshot that is not expired, the oldest first."""
        table = self.table()
        return () if table is None else maintenance.snapshots(table)

    def read_snapshot(self, snapshot: int, columns: Sequence[str]) -> pads.Dataset | pa.Table:
        """These columns of an earlier snapshot."""
        table = self._readable_table()
        maintenance.require_snapshot(table, snapshot)
        with self.settings.translated_errors():
            return read(at_snapshot(table, snapshot), columns)

    def holds_load(self, snapshot: int, load: LoggedLoad) -> bool:
        """Whether the commit of a load is this snapshot or came before it, as far as snapshots still tell."""
        return maintenance.is_behind(self._readable_table(), snapshot, load.id)

    def roll_back(self, snapshot: int, loads: LoadStep | None = None) -> None:
        """Makes an earlier snapshot the current one; the schema stays as wide as it is. The log says so too."""
        table = self.existing_table()
        require_ref(table, self.branch)
        with self._refusing_others():
            maintenance.roll_back(table, snapshot, loads, branch=self.branch)

    def publish(self, *, drop_branch: bool = False, dry_run: bool = False) -> Publication:
        """Makes what the branch shows that of the table, or raises ConcurrentModification where that moved on."""
        table = self.existing_table()
        with self._refusing_others():
            return publish(table, self.branch or MAIN_BRANCH, drop_branch=drop_branch, dry_run=dry_run)

    def expire(self, before: datetime, *, dry_run: bool = False) -> Expired:
        """Forgets snapshots older than this and removes the files that only they held."""
        table = self.existing_table()
        with self._refusing_others():
            return maintenance.expire(table, before, dry_run=dry_run)

    def named_files(self) -> set[str]:
        """Every file that some snapshot names."""
        table = self.table()
        if table is None:
            return set()
        with self.settings.translated_errors():
            return maintenance.live_files(table)


def table_places(table: Table) -> tuple[str, ...]:
    """The folders that a table's files lie in."""
    named = (table.location(), *(table.properties.get(f"write.{kind}.path") for kind in ("data", "metadata")))
    return tuple(dict.fromkeys(place for place in named if place))


def _plain(uri: str) -> str:
    return uri.removeprefix("file://")
