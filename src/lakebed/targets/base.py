"""The protocol of every target: read the state, stage, commit once.

`state -> stage -> (an engine writes files) -> commit` is the only way a table changes. A crash before the commit leaves
staged files to sweep and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lakebed.model import AnySlice, DataFile, MergeCounts, SortKey, Staging, Totals, WrittenFile
from lakebed.schema.evolve import EvolutionPlan, FormatRules
from lakebed.schema.types import Schema
from lakebed.targets.load_log import NO_LOADS, LoadLog, LoadStep, LoggedLoad

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    from lakebed.kernels.storage_settings import KeyRing


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Facts that replace `if target ==`."""

    made_of_files: bool  # engines rewrite its data files; otherwise the target changes rows itself
    rules: FormatRules
    partition_in_path: bool  # the partition column lies in the path, not in the file
    # The rows that a load replaces are kept by the commit itself; else they are copied to the table beside it before.
    keeps_replaced: bool = True


@dataclass(frozen=True, slots=True)
class Txn:
    """A write that its writer has numbered: a table takes each version of an app once, whoever repeats it."""

    app: str
    version: int


@dataclass(frozen=True)
class TableState:
    """A table as it was read: what plans are made from, and what a commit is checked against.

    `txns` are the apps whose numbered writes it holds, each with the last version, and `log` are its loads.
    `field_ids` say by which id a file knows a column of the table; there are none where names say it as well.
    """

    exists: bool
    schema: Schema
    rows: int
    version: str
    partition_by: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()
    txns: Mapping[str, int] = field(default_factory=dict)
    field_ids: Mapping[str, int] = field(default_factory=dict)
    log: LoadLog = NO_LOADS
    order: tuple[SortKey, ...] = ()  # that the table asks its writers for, as far as columns say it
    # Of the place: changes whenever anybody writes there. Empty where whoever changes a value changes the version.
    fingerprint: str = ""

    @property
    def seen(self) -> str:
        """What the ledger remembers of a table that was counted: while it is the same, every value is."""
        return f"{self.version}@{self.fingerprint}" if self.fingerprint else self.version


@dataclass(frozen=True, slots=True)
class Affected:
    """The files that a slice touches: those that hold nothing else, and those that must be rewritten without it."""

    whole: tuple[DataFile, ...] = ()
    mixed: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class Change:
    """One commit: schema, removal and arrival together."""

    evolution: EvolutionPlan
    add: tuple[WrittenFile, ...] = ()
    remove: tuple[DataFile, ...] = ()
    remove_slice: AnySlice | None = None  # for targets that are not made of files
    properties: Mapping[str, str] = field(default_factory=dict)
    txn: Txn | None = None  # written into the table by the same commit
    loads: LoadStep | None = None  # what is written into the log of loads, and kept of the rows that go
    # Whatever another has committed since the plan was made may have brought the same rows: plan again.
    follows_nobody: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """What became visible."""

    version: str
    rows: int
    files_added: int
    files_removed: int
    places: Mapping[str, str] = field(default_factory=dict)  # where added files lie now, by their paths in the staging
    # The table's `seen` after it, or what equals none that comes where another wrote in between. Empty: the version.
    left: str = ""


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit of ours as the table itself remembers it."""

    id: str  # of its staging
    at: datetime
    properties: Mapping[str, str]


class Target(Protocol):
    """One table in one place."""

    @property
    def address(self) -> str:
        """How the user writes it: `duckdb:costs.duckdb#report`."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def state(self) -> TableState:
        """The table now. A writer finishes what a crashed commit left first; read only, it is read as if finished."""
        ...

    def affected(self, state: TableState, slice_: AnySlice) -> Affected:
        """The files that hold rows of this slice. Bounds may clear a file, never convict one."""
        ...

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        """The files that hold a column in another type than the plan's, which the same change must replace: a narrower
        one, or a struct without a field that it gains.

        None where the format evolves by metadata, or is not made of files.
        """
        ...

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        """Opens a folder for an engine to write into. `partition_by` counts when the table is created."""
        ...

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        """Makes the change visible whole, or raises ConcurrentModification if the table moved since `state`."""
        ...

    def last_commit(self) -> PastCommit | None:
        """The last commit to the table, with what it said of itself; None where it is not ours, or there is none."""
        ...

    def abandon(self, staging: Staging) -> None:
        """Removes what was staged."""
        ...

    def write_places(self) -> tuple[str, ...]:
        """The folders that an engine's workers must reach to write into it, as far as they are known before `stage`."""
        ...

    def owns_staging(self, folder: str) -> bool:
        """Whether this is a folder that `stage` of this table may have opened: nothing else is swept in its name."""
        ...

    def orphans(self, before: datetime) -> tuple[str, ...]:
        """Files that crashed writers of ours left, none of them younger than this.

        Nothing that the table, or a snapshot, branch or tag of it names, and nothing of a writer that is known to run.
        """
        ...

    def remove_orphans(self, files: Sequence[str]) -> None:
        """Removes what `orphans` found."""
        ...

    def totals(self, slice_: AnySlice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        """Rows and exact sums of the committed table, for reconciliation."""
        ...

    def kept_rows(self, load: LoggedLoad) -> "KeptRows":
        """Where the rows of a load are that was replaced and is kept, as the log says."""
        ...

    def read(self, columns: Sequence[str] | None = None) -> "pads.Dataset | pa.Table":
        """The table for a reader in this process. Raises NotFound where there is none."""
        ...


@dataclass(frozen=True)
class KeptRows:
    """Where the rows of a replaced load are kept: a table, and which of its rows they are."""

    target: Target
    slice: AnySlice


@dataclass(frozen=True)
class RowMerge:
    """A merge for a target that is not made of files: checked source rows, and what they do to those of the table.

    The staged files hold `delivered`, in the table's names and types; their keys are not NULL, and repeat only under
    `delete_matched`. With `dry_run` the target says what would happen and stays as it is.
    """

    evolution: EvolutionPlan
    keys: tuple[str, ...]
    files: tuple[WrittenFile, ...]
    delivered: tuple[str, ...]
    update_matched: bool = False
    insert_unmatched: bool = False
    delete_matched: bool = False
    delete_unmatched: bool = False
    keeps_missing: bool = True
    emptied: tuple[str, ...] = ()  # columns that an update sets to NULL though the source lacks them
    dry_run: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)  # what the commit says about itself
    use_merge: bool | None = None  # of a target that has MERGE and another way: which of them; None is its own choice


@dataclass(frozen=True, slots=True)
class RowsMerged:
    """What a target did to its rows, and how many it has now; where `null_keys` counts NULL keys, it did nothing."""

    counts: MergeCounts = field(default_factory=MergeCounts)
    rows: int = 0
    version: str | None = None  # of the commit, where there was one
    null_keys: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class MergesRows(Protocol):
    """A target that merges rows itself, in one transaction."""

    def merge_rows(self, state: TableState, staging: Staging, merge: RowMerge) -> RowsMerged:
        """Changes schema and rows whole, or raises ConcurrentModification if the table moved since `state`."""
        ...


@runtime_checkable
class LendsStorage(Protocol):
    """A target that knows how its files are reached: its catalog hands out keys, or is configured with some."""

    @property
    def key_ring(self) -> "KeyRing":
        """How to reach the files. The target adds keys to it as it gets them: when it is looked at, and staged."""
        ...


@runtime_checkable
class Settles(Protocol):
    """A target whose files other writers may cover: with deletes beside them, or with another meaning of names."""

    def unsettled(self) -> int:
        """How many files there are that engines may not read as they are."""
        ...

    def settle(self) -> int:
        """Rewrites such files, so that engines may read every file as it is; returns how many there were."""
        ...


@runtime_checkable
class HoldsViews(Protocol):
    """A target that is a database: it keeps views beside its tables and answers queries."""

    def replace_views(self, views: Mapping[str, str]) -> tuple[str, ...]:
        """Creates these views, each the SELECT of its name, in one transaction; returns those that were not so before.

        Raises TargetError where a table or a view of somebody else has the name.
        """
        ...

    def map_keys(self, column: str) -> tuple[str, ...]:
        """Every key that the maps of this column have."""
        ...

    def query(self, select: str) -> "pa.Table":
        """The rows of a SELECT in the target's own SQL."""
        ...
