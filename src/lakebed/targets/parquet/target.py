"""A folder of Parquet files as a table: any folder, plain or Hive-partitioned, local or in an object store."""

import os
from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.checkpoints import Checkpoint, pass_checkpoint
from lakebed.errors import SchemaError, TargetError
from lakebed.model import LOAD, AnySlice, ColumnSlice, DataFile, Staging, Totals
from lakebed.schema.arrow import from_arrow_field, to_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, FormatRules
from lakebed.schema.types import Schema, Text, fold
from lakebed.storage import Storage, absolute, is_local, join, local_path
from lakebed.targets.base import Affected, Capabilities, Change, Commit, KeptRows, PastCommit, TableState
from lakebed.targets.load_log import HISTORY, LoggedLoad
from lakebed.targets.parquet.commit import keep_schema, plan_moves
from lakebed.targets.parquet.journal import Journal
from lakebed.targets.parquet.lock import WAIT_SECONDS
from lakebed.targets.parquet.read import open_dataset, totals
from lakebed.targets.parquet.slices import affected
from lakebed.targets.parquet.state import DatasetFiles, version
from lakebed.targets.shared.refusals import changed_since_read, no_such_table, require_no_column_lost

# Parquet counts milliseconds and finer, has no struct without fields, and a column of no type Spark could not read.
RULES = FormatRules(coarsest_time_unit="ms", null_type=False, empty_structs=False)
CAPABILITIES = Capabilities(made_of_files=True, rules=RULES, partition_in_path=True, keeps_replaced=False)


class ParquetTarget:
    """One dataset.

    What a crashed commit left is finished whenever the dataset is looked at. Opened `read_only` it is read as if it
    were finished, and nothing is written.
    """

    def __init__(
        self,
        folder: str,
        storage: Storage | None = None,
        *,
        checkpoint: Checkpoint = pass_checkpoint,
        wait_seconds: float = WAIT_SECONDS,
        read_only: bool = False,
    ) -> None:
        self._address = absolute(folder)
        # The folder itself, not a link to it: lock and journal are the same for every process, and on the same disk.
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
        self._files = DatasetFiles(self._root, self._storage, cache=join(self._journal.folder, "footers.json"))

    @property
    def address(self) -> str:
        return f"parquet:{self._address}"

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def state(self) -> TableState:
        return self._journal.steady(self._files.state)

    def affected(self, state: TableState, slice_: AnySlice) -> Affected:
        return affected(state.files, slice_, self._storage)

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        reshaped = plan.reshaped
        if not reshaped:
            return ()
        return tuple(
            footer.file
            for footer in self._files.footers(state.files)
            if any(
                fold(field.name) in reshaped and str(from_arrow_field(field).type) != str(plan.final[field.name].type)
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
        if chosen and len(chosen) >= len(evolution.final):
            raise SchemaError(
                f"{self._root} cannot be partitioned by all of its columns: a Parquet file without columns has no rows",
                remedy="Leave a column out of the partitions.",
            )
        id_ = self._journal.begin()
        return Staging(id_, self._journal.staging(id_), _physical(evolution.final, chosen), chosen)

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        self._verify(state)
        final = change.evolution.final
        require_no_column_lost(self.address, state.schema, final)
        removed = {file.uri for file in change.remove}
        kept = [file for file in state.files if file.uri not in removed]
        if narrow := {file.uri for file in self.files_to_widen(state, change.evolution)} - removed:
            raise TargetError(
                f"{len(narrow)} files of {self._root} hold a widened column in its narrower type and would stay,"
                f" {min(narrow)} among them",
                remedy="Rewrite them in the same change: ParquetTarget.files_to_widen names them.",
            )
        adds, carriers = keep_schema(final, staging, change.add, kept, files=self._files, storage=self._storage)
        puts, deletes = plan_moves(self._root, staging, adds, [*change.remove, *carriers])
        txns = {**state.txns, change.txn.app: change.txn.version} if change.txn else state.txns
        self._journal.commit(
            staging.id,
            puts,
            deletes,
            verify=lambda: self._verify(state),
            properties=change.properties,
            txns=txns,
            log=state.log if change.loads is None else state.log.after(change.loads),
        )
        now = self._journal.steady(self._files.list)
        self._files.remember(now)
        return Commit(
            version=version(now),
            rows=state.rows - sum(file.rows for file in change.remove) + sum(file.rows for file in change.add),
            files_added=len(change.add),
            files_removed=len(change.remove),
            places={put.staged: join(self._root, put.final) for put in puts},
        )

    def last_commit(self) -> PastCommit | None:
        record = self._journal.last()
        return None if record is None else record.past

    def abandon(self, staging: Staging) -> None:
        self._journal.abandon(staging.id)

    def orphans(self, before: datetime) -> tuple[str, ...]:
        """Files that crashed writers left beside the dataset."""
        return self._journal.left_behind(before)

    def remove_orphans(self, files: Sequence[str]) -> None:
        """Removes what `orphans` found. Of local stagings those go whose process is gone, and they go whole."""
        if is_local(self._root):
            self._journal.sweep()
        else:
            self._storage.delete(files)

    def write_places(self) -> tuple[str, ...]:
        return (self._address,)

    def owns_staging(self, folder: str) -> bool:
        return self._journal.owns(folder)

    def totals(self, slice_: AnySlice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        return self._journal.steady(
            lambda overlay: totals(self._root, self._files.state(overlay), self._storage, slice_, columns, currency)
        )

    def kept_rows(self, load: LoggedLoad) -> KeptRows:
        beside = ParquetTarget(f"{self._address}{HISTORY}", self._storage, read_only=True)
        return KeptRows(beside, ColumnSlice({LOAD: load.id}))

    def read(self, columns: Sequence[str] | None = None) -> pads.Dataset:
        state = self.state()
        if not state.exists:
            raise no_such_table(self.address)
        dataset = open_dataset(self._root, state.files, state, self._storage)
        if columns is None:
            return dataset
        return dataset.replace_schema(pa.schema([dataset.schema.field(state.schema[name].name) for name in columns]))

    def _verify(self, state: TableState) -> None:
        if version(self._files.list()) != state.version:
            raise changed_since_read(self.address)


def _physical(schema: Schema, partition_by: Sequence[str]) -> pa.Schema:
    in_path = {fold(name) for name in partition_by}
    return to_arrow_schema(Schema.of(column for column in schema if fold(column.name) not in in_path))
