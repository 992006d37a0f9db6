"""Targets that keep earlier states of a table: what they say of them, and how one goes back or lets them go."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lakebed.targets.load_log import LoadStep, LoggedLoad

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """One snapshot: when, what it did, and, where it is ours, for which delivery and with which columns."""

    id: int
    parent: int | None
    at: datetime
    operation: str
    current: bool
    rows: int | None
    added_rows: int
    removed_rows: int
    added_columns: tuple[str, ...]
    widened_columns: tuple[str, ...]
    schema_id: int | None
    properties: dict[str, str]
    refs: tuple[str, ...] = ()  # the branches and tags that show it

    @property
    def ours(self) -> bool:
        return bool(self.properties)

    def to_dict(self) -> dict[str, object]:
        return {
            "snapshot": self.id,
            "parent": self.parent,
            "at": self.at.isoformat(),
            "operation": self.operation,
            "current": self.current,
            "rows": self.rows,
            "addedRows": self.added_rows,
            "removedRows": self.removed_rows,
            "addedColumns": list(self.added_columns),
            "widenedColumns": list(self.widened_columns),
            "schemaId": self.schema_id,
            "refs": list(self.refs),
            **self.properties,
        }


@dataclass(frozen=True, slots=True)
class Expired:
    """Snapshots that the table forgot, and the files that only they had held."""

    snapshots: tuple[int, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Publication:
    """A branch that became the table: its snapshot, the one before, and how many commits lay between them."""

    branch: str
    snapshot: int
    before: int | None
    commits: int
    rows: int | None
    dropped_branch: bool
    dry_run: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "branch": self.branch,
            "snapshot": self.snapshot,
            "snapshotBefore": self.before,
            "commits": self.commits,
            "rows": self.rows,
            "droppedBranch": self.dropped_branch,
            "dryRun": self.dry_run,
        }


@runtime_checkable
class HasBranches(Protocol):
    """A target whose table may have branches, beside what everybody reads."""

    @property
    def branch(self) -> str | None:
        """The branch that the address names; None is the table itself."""
        ...

    def publish(self, *, drop_branch: bool = False, dry_run: bool = False) -> Publication:
        """Makes what the branch shows that of the table, or raises ConcurrentModification where that moved on."""
        ...


@runtime_checkable
class HasSnapshots(Protocol):
    """A target with a history of its own."""

    def snapshots(self) -> tuple[SnapshotRecord, ...]:
        """Every snapshot that is not expired, the oldest first; none where there is no table."""
        ...

    def read_snapshot(self, snapshot: int, columns: Sequence[str]) -> "pads.Dataset | pa.Table":
        """These columns of an earlier snapshot. Raises NotFound where there is none."""
        ...

    def holds_load(self, snapshot: int, load: LoggedLoad) -> bool:
        """Whether the commit of a load is this snapshot or came before it, as far as snapshots still tell."""
        ...

    def roll_back(self, snapshot: int, loads: LoadStep | None = None) -> None:
        """Makes an earlier snapshot the current one; the schema stays as wide as it is. The log says so too."""
        ...

    def expire(self, before: datetime, *, dry_run: bool = False) -> Expired:
        """Forgets snapshots older than this and removes the files that only they held."""
        ...

    def named_files(self) -> set[str]:
        """Every file that some snapshot names."""
        ...
