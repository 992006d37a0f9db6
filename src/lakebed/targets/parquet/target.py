"""A folder of Parquet files as a table: ours or anybody's, plain or Hive-partitioned, local or in an object store."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from lakebed.errors import ColumnDropRefused, ConcurrentModification, NotFound, SchemaError, TargetError
from lakebed.kernels.files import filesystem
from lakebed.model import RESERVED_COLUMNS, DataFile, Slice, Staging, Totals, WrittenFile
from lakebed.schema.arrow import from_arrow_field, to_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, FormatRules
from lakebed.schema.types import Schema, Text, fold
from lakebed.storage import Storage, absolute, is_local, join, local_path
from lakebed.targets.base import Affected, Capabilities, Change, Commit, TableState
from lakebed.targets.parquet.footer_cache import FooterCache
from lakebed.targets.parquet.journal import Checkpoint, Delete, Journal, Put, fingerprint, no_checkpoint
from lakebed.targets.parquet.lock import WAIT_SECONDS
from lakebed.targets.parquet.partitions import is_data_file, partition_folder, partition_of
from lakebed.targets.parquet.schema import union_schema
from lakebed.targets.shared.footers import Footer, data_file, match, read_footers, with_bounds
from lakebed.targets.shared.sums import exact_totals, no_totals

# Parquet counts milliseconds and finer, and a column of no type would be one that Spark cannot read.
RULES = FormatRules(coarsest_time_unit="ms", null_type=False)
# Statistics of every column of every file would be slow to turn into Python values where both are many.
ALL_BOUNDS_UP_TO = 20_000
# From this many files on, what footers said is kept beside the dataset for the next process.
CACHE_FROM = 200
# A file without rows that holds the schema, where no other file does.
CARRIER_PREFIX = "schema-"


class ParquetTarget:
    """One dataset. What a crashed commit left is finished whenever the dataset is looked at, unless `read_only`."""

    def __init__(
        self,
        folder: str,
        storage: Storage | None = None,
        *,
        checkpoint: Checkpoint = no_checkpoint,
        wait_seconds: float = WAIT_SECONDS,
        read_only: bool = False,
    ) -> None:
        self._address = absolute(folder)
        # The folder itself, not a link to it: lock and journal must be the same for everybody, and on the same disk.
        self._root = os.path.realpath(local_path(self._address)) if is_local(self._address) else self._address
        if is_local(self._root) and local_path(self._root).is_file():
            raise TargetError(f"{self._root} is a file", remedy="A Parquet table is a folder: move the file into one.")
        if self._root == "/" or (not is_local(self._root) and self._root.count("/") < 3):
            raise TargetError(
                f"{folder} cannot be a table: the journal lies beside the folder, and there is nothing beside this",
                remedy=f"Use a folder inside it: {join(folder, 'table')}.",
            )
        self._storage = storage or Storage()
        self._journal = Journal(
            self._root, self._storage, checkpoint=checkpoint, wait_seconds=wait_seconds, read_only=read_only
        )
        self._footers: dict[tuple[str, str], Footer] = {}
        self._cache = FooterCache(join(self._journal.folder, "footers.json"), self._root, self._storage)

    @property
    def address(self) -> str:
        return f"parquet:{self._address}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(made_of_files=True, rules=RULES, evolves_without_rewrite=False, partition_in_path=True)

    def state(self) -> TableState:
        return self._journal.steady(self._look)

    def affected(self, state: TableState, slice_: Slice) -> Affected:
        values = slice_.values
        whole, mixed = [], []
        for file in with_bounds(state.files, self._storage, tuple(values)):
            verdict = match(file, values)
            if verdict == "all":
                whole.append(file)
            elif verdict == "some":
                mixed.append(file)
        return Affected(tuple(whole), tuple(mixed))

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        widened = {fold(step.path[0]) for step in plan.widenings}
        if not widened:
            return ()
        return tuple(
            footer.file
            for footer in self._known(state.files)
            if any(
                fold(field.name) in widened and str(from_arrow_field(field).type) != str(plan.final[field.name].type)
                for field in footer.schema
            )
        )

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        chosen = state.partition_by if state.exists else tuple(partition_by)
        for name in chosen:
            column = evolution.final.get(name)
            if column is None or column.type != Text():
                raise SchemaError(
                    f"{self._root} cannot be partitioned by {name}: "
                    + ("there is no such column" if column is None else f"it is {column.type}, and paths hold text"),
                    remedy="Partition by a text column, or cast this one to text.",
                )
        id_ = self._journal.begin()
        return Staging(id_, self._journal.staging(id_), _physical(evolution.final, chosen), chosen)

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        self._verify(state)
        final = change.evolution.final
        if lost := [name for name in state.schema.names if name not in final]:
            raise ColumnDropRefused(table=self.address, columns=lost)
        removed = {file.uri for file in change.remove}
        kept = [file for file in state.files if file.uri not in removed]
        if narrow := {file.uri for file in self.files_to_widen(state, change.evolution)} - removed:
            raise TargetError(
                f"{len(narrow)} files of {self._root} hold a widened column in its narrower type and would stay,"
                f" {min(narrow)} among them",
                remedy="Rewrite them in the same change: ParquetTarget.files_to_widen names them.",
            )
        adds, carriers = self._keep_schema(final, staging, change.add, kept)
        puts, deletes = self._operations(staging, adds, [*change.remove, *carriers])
        self._journal.commit(staging.id, puts, deletes, verify=lambda: self._verify(state))
        now = self._journal.steady(self._list)
        if len(now) >= CACHE_FROM:
            self._cache.save(self._known(now))
        return Commit(
            version=_version(now),
            rows=state.rows - sum(file.rows for file in change.remove) + sum(file.rows for file in change.add),
            files_added=len(change.add),
            files_removed=len(change.remove),
        )

    def abandon(self, staging: Staging) -> None:
        self._journal.abandon(staging.id)

    def totals(self, slice_: Slice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        return self._journal.steady(lambda: self._totals(slice_, columns, currency))

    def read(self, columns: Sequence[str] | None = None) -> pads.Dataset:
        state = self.state()
        if not state.exists:
            raise NotFound(f"there is no table at {self.address}")
        dataset = self._dataset(state.files, state)
        if columns is None:
            return dataset
        return dataset.replace_schema(pa.schema([dataset.schema.field(state.schema[name].name) for name in columns]))

    def _totals(self, slice_: Slice | None, columns: Sequence[str], currency: str | None) -> Totals:
        state = self._look()
        if not state.exists:
            return no_totals(columns)
        wanted = [*columns, *([currency] if currency else [])]
        if absent := [column for column in wanted if column not in state.schema]:
            raise SchemaError(f"{self.address} has no column {', '.join(absent)}")
        values = slice_.values if slice_ else {}
        if any(column not in state.schema for column in values):
            return no_totals(columns)
        files = state.files
        if slice_:
            affected = self.affected(state, slice_)
            files = (*affected.whole, *affected.mixed)
        conditions = [pads.field(state.schema[column].name) == value for column, value in values.items()]
        scanner = self._dataset(files, state).scanner(
            columns={column: pads.field(state.schema[column].name) for column in wanted},
            filter=reduce(lambda left, right: left & right, conditions) if conditions else None,
        )
        try:
            return exact_totals(scanner.to_batches(), columns, currency=currency)
        except FileNotFoundError as error:
            raise NotFound(f"{self._root} has changed while it was read: {error}", uri=self._root) from error

    def _look(self) -> TableState:
        files = self._list()
        if not files:
            return TableState(False, Schema(), 0, _version(files))
        footers = self._known(files)
        self._footers = {(footer.file.uri, footer.file.fingerprint): footer for footer in footers}
        partition_by = tuple(dict.fromkeys(name for file in files for name in file.partition))
        return TableState(
            exists=True,
            schema=union_schema(footers, partition_by),
            rows=sum(footer.file.rows for footer in footers),
            version=_version(files),
            partition_by=partition_by,
            files=tuple(footer.file for footer in footers),
        )

    def _list(self) -> list[DataFile]:
        files = []
        for entry in self._storage.list(self._root):
            path = entry.uri.removeprefix(self._root + "/")
            if is_data_file(path):
                files.append(data_file(entry, partition=partition_of(path), fingerprint=fingerprint(entry)))
        return sorted(files, key=lambda file: file.uri)

    def _known(self, files: Sequence[DataFile]) -> list[Footer]:
        """The footers of these files; those read before are not read again unless the file has changed."""
        unknown = [file for file in files if (file.uri, file.fingerprint) not in self._footers]
        if len(unknown) >= CACHE_FROM:
            self._footers |= self._cache.load(unknown)
            unknown = [file for file in unknown if (file.uri, file.fingerprint) not in self._footers]
        if unknown:
            first = read_footers(unknown[:1], self._storage, columns=())
            few = len(unknown) * len(first[0].schema.names) <= ALL_BOUNDS_UP_TO
            for footer in read_footers(unknown, self._storage, columns=None if few else RESERVED_COLUMNS):
                self._footers[footer.file.uri, footer.file.fingerprint] = footer
        return [self._footers[file.uri, file.fingerprint] for file in files]

    def _verify(self, state: TableState) -> None:
        if _version(self._list()) != state.version:
            raise ConcurrentModification(
                f"{self._root} has changed since it was read",
                remedy="Nothing was committed. Read the table again and repeat the change.",
            )

    def _written(self, staging: Staging, files: Sequence[WrittenFile]) -> tuple[Footer, ...]:
        """The footers of what an engine wrote, checked against what it said and what the table is to be."""
        staged = [DataFile(join(staging.folder, file.path), file.rows, file.size_bytes) for file in files]
        footers = read_footers(staged, self._storage, columns=())
        for file, footer in zip(files, footers, strict=True):
            if footer.file.rows != file.rows:
                raise TargetError(f"{footer.file.uri} has {footer.file.rows} rows, its writer said {file.rows}")
            for field in footer.schema:
                at = staging.schema.get_field_index(field.name)
                expected = from_arrow_field(staging.schema.field(at)).type if at >= 0 else None
                if str(from_arrow_field(field).type) != str(expected):
                    raise TargetError(
                        f"{footer.file.uri}: column {field.name} is {field.type}, the staging's schema has"
                        f" {expected or 'no such column'}"
                    )
        return footers

    def _keep_schema(
        self, final: Schema, staging: Staging, add: Sequence[WrittenFile], kept: Sequence[DataFile]
    ) -> tuple[list[WrittenFile], list[DataFile]]:
        """What to add so that the files alone say what the table's columns are, and which carriers may go."""
        carriers = [file for file in kept if file.rows == 0 and _name(file.uri).startswith(CARRIER_PREFIX)]
        others = [file for file in kept if file not in carriers]
        written = self._written(staging, add)
        if _holds(final, [*written, *self._known(others)], staging.partition_by):
            return list(add), carriers
        if _holds(final, [*written, *self._known(kept)], staging.partition_by):
            return list(add), []
        return [*add, self._write_carrier(staging, [*add, *others])], carriers

    def _write_carrier(self, staging: Staging, beside: Sequence[WrittenFile | DataFile]) -> WrittenFile:
        """A file without rows, so that columns live on when no other file has them."""
        path = f"{CARRIER_PREFIX}{staging.id}.parquet"
        files, inside = filesystem(join(staging.folder, path), self._storage.settings.resolved())
        pq.write_table(staging.schema.empty_table(), inside, filesystem=files)
        size_bytes = self._storage.head(join(staging.folder, path)).size_bytes
        partition = beside[0].partition if beside else dict.fromkeys(staging.partition_by)
        return WrittenFile(path, 0, size_bytes, partition)

    def _operations(
        self, staging: Staging, adds: Sequence[WrittenFile], leaving: Sequence[DataFile]
    ) -> tuple[list[Put], list[Delete]]:
        """New files take the names of those they replace, so that no reader meets both; others get new names."""
        vacant: dict[str, list[DataFile]] = defaultdict(list)
        for old in reversed(leaving):
            vacant[partition_folder(staging.partition_by, old.partition)].append(old)
        puts = []
        taken = set()
        for number, new in enumerate(adds):
            folder = partition_folder(staging.partition_by, new.partition)
            is_carrier = _name(new.path).startswith(CARRIER_PREFIX)
            if vacant[folder] and not is_carrier:
                old = vacant[folder].pop()
                taken.add(old.uri)
                final = old.uri.removeprefix(self._root + "/")
            else:
                name = _name(new.path) if is_carrier else f"part-{staging.id}-{number:05d}.parquet"
                final = f"{folder}/{name}" if folder else name
            puts.append(Put(new.path, final, new.size_bytes))
        deletes = [
            Delete(old.uri.removeprefix(self._root + "/"), old.size_bytes) for old in leaving if old.uri not in taken
        ]
        return puts, deletes

    def _dataset(self, files: Sequence[DataFile], state: TableState) -> pads.FileSystemDataset:
        fs, base = filesystem(self._root, self._storage.settings.resolved())
        parquet = pads.ParquetFileFormat()
        fragments = [
            parquet.make_fragment(
                base + file.uri.removeprefix(self._root),
                fs,
                partition_expression=_partition_expression(file, state.partition_by),
            )
            for file in files
        ]
        return pads.FileSystemDataset(fragments, to_arrow_schema(state.schema), parquet, fs)


def _physical(schema: Schema, partition_by: Sequence[str]) -> pa.Schema:
    in_path = {fold(name) for name in partition_by}
    return to_arrow_schema(Schema.of(column for column in schema if fold(column.name) not in in_path))


def _holds(final: Schema, footers: Iterable[Footer], partition_by: Sequence[str]) -> bool:
    """Whether these files alone say what the table's columns are, and what they were called in the source."""
    in_path = {fold(name) for name in partition_by}
    lacking = {fold(column.name): column for column in final if fold(column.name) not in in_path}
    seen: set[int] = set()
    for footer in footers:
        if id(footer.schema) in seen:
            continue
        seen.add(id(footer.schema))
        for field in footer.schema:
            wanted = lacking.get(fold(field.name))
            if wanted is None:
                continue
            column = from_arrow_field(field)
            if str(column.type) == str(wanted.type) and wanted.original in (None, column.original):
                del lacking[fold(field.name)]
    return not lacking


def _partition_expression(file: DataFile, partition_by: Sequence[str]) -> pads.Expression:
    values = [(name, file.partition.get(name)) for name in partition_by]
    parts = [pads.field(name).is_null() if value is None else pads.field(name) == value for name, value in values]
    return reduce(lambda left, right: left & right, parts) if parts else pads.scalar(True)


def _version(files: Iterable[DataFile]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.uri}\0{file.fingerprint}\0".encode())
    return digest.hexdigest()


def _name(path: str) -> str:
    return path.rpartition("/")[2]
