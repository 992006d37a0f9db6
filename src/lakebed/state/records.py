"""What the ledger gives out: frozen records, times in UTC, money as Decimal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias, get_args

from lakebed.model import DeliveryState, Slice, SourceKind
from lakebed.schema.evolve import EvolutionPlan, Path
from lakebed.schema.types import DataType, List, Map, Schema, Struct
from lakebed.schema.widen import KEY

SchemaChangeKind: TypeAlias = Literal["created", "added", "widened", "relaxed", "variant", "compacted"]
SCHEMA_CHANGE_KINDS = get_args(SchemaChangeKind)


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One delivery as discovery saw it, and how far its staging is. Loading is per table: see LoadRecord."""

    slice: Slice
    delivery: str
    source: str
    kind: SourceKind
    manifest: str | None
    manifest_etag: str | None
    files: int
    size_bytes: int
    missing: tuple[str, ...]
    created_at: datetime | None
    state: DeliveryState
    error: str | None
    discovered_at: datetime
    updated_at: datetime
    file_uris: tuple[str, ...] | None = None  # of files without a manifest

    @property
    def complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True)
class LoadRecord:
    """One delivery in one table: loading, loaded, failed, or superseded by a newer one of its slice."""

    table: str
    slice: Slice
    delivery: str
    state: DeliveryState
    error: str | None
    rows: int
    files: int
    seconds: float
    added_columns: tuple[str, ...]
    complete: bool
    reconciled: bool | None
    source_rows: int | None
    rejected_rows: int
    plan_hash: str | None
    version: str | None  # of the table, after its commit
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """What a committed load hands to the ledger."""

    rows: int
    files: int
    seconds: float
    version: str
    left: str = ""  # what the table is while nobody else writes to it, where the version does not tell that
    plan_hash: str | None = None
    complete: bool = True
    reconciled: bool | None = None
    source_rows: int | None = None
    rejected_rows: int = 0
    # original -> column name, decided in this load
    identities: Mapping[str, str] = field(default_factory=dict)
    schema_changes: tuple["SchemaChange", ...] = ()
    sums: tuple["SumRecord", ...] = ()


@dataclass(frozen=True, slots=True)
class IdentityRecord:
    """An original name and the column that stands for it in a table, decided once. A column may have several."""

    original: str
    name: str
    delivery: str | None
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One step of a table's schema: `type_after` is the type as our type system prints it.

    A compaction, which changes no column, is a step of its own: the column is `files`, the types their numbers.
    """

    kind: SchemaChangeKind
    column: str
    type_after: str
    type_before: str | None = None
    original: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaChangeRecord:
    """A schema change and the delivery that brought it; without a delivery it came from `lakebed evolve`."""

    change: SchemaChange
    table: str
    slice: Slice | None
    delivery: str | None
    version: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class SumRecord:
    """One sum of a load, in its source files and in the table.

    `currency` is None for the sum over all, and empty for rows that name none. `rounded` is what a narrower decimal
    type took away: the table is right when it differs by just that.
    """

    column: str
    currency: str | None
    source: Decimal
    table: Decimal
    rounded: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that was ingested into a table, or was about to be when its run ended: then it is still `loading`."""

    path: str
    identity: str
    sha256: str
    size_bytes: int
    etag: str | None
    rows: int = 0
    state: Literal["loading", "loaded"] = "loading"


@dataclass(frozen=True, slots=True)
class StagingFolder:
    """A folder that a job was about to write into: whatever lies there without a commit is an orphan."""

    folder: str
    table: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class RebuiltLoad:
    """A slice found in a table's own lakebed_* columns."""

    slice: Slice
    delivery: str
    rows: int


@dataclass(frozen=True, slots=True)
class RebuiltTable:
    """What a table says about itself when its ledger is lost."""

    table: str
    version: str
    identities: Mapping[str, str]
    loads: tuple[RebuiltLoad, ...]


def schema_changes(evolution: EvolutionPlan) -> tuple[SchemaChange, ...]:
    """The steps of a plan as the ledger's history keeps them."""
    variants = {(conflict.variant,) for conflict in evolution.conflicts}
    added = (
        SchemaChange(
            "created" if evolution.creates else "variant" if step.path in variants else "added",
            ".".join(step.path),
            str(step.column.type),
            original=step.column.original,
        )
        for step in evolution.adds
    )
    widened = (
        SchemaChange("widened", ".".join(step.path), str(step.after), type_before=str(step.before))
        for step in evolution.widenings
    )
    relaxed = (
        SchemaChange("relaxed", ".".join(step.path), str(_type_at(evolution.final, step.path)))
        for step in evolution.relaxations
    )
    return (*added, *widened, *relaxed)


def _type_at(schema: Schema, path: Path) -> DataType:
    """The type of a column, or of what lies inside it."""
    type_ = schema[path[0]].type
    for name in path[1:]:
        match type_:
            case Struct(fields):
                type_ = Schema.of(fields)[name].type
            case List(element):
                type_ = element
            case Map(key, value):
                type_ = key if name == KEY else value
    return type_


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """Who works on what since when. One that is not `alive` was left by a dead process: the next run takes it over."""

    resource: str
    host: str
    pid: int
    since: datetime
    alive: bool


def load_resource(table: str, slice_: Slice) -> str:
    """The claim on loading a slice of a table: whichever delivery it is."""
    return f"load {slice_} into {table}"


def staging_resource(slice_: Slice, delivery: str) -> str:
    """The claim on copying a delivery's files."""
    return f"stage {slice_}, delivery {delivery}"
