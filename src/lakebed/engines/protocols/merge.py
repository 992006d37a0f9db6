"""The protocol of the merge: an engine checks a source, looks its keys up in files, and writes new files.

Each step is its own call, so that everything is known before anything is written, and so that a plan can be shown and
dropped. The orchestration (`lakebed.table.merge`) is the only caller.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.config import Settings
from lakebed.kernels.keys import KeyLookup
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core.plan import Matches, MergePlan
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, Merged, Staging, WrittenFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ArrowStream(Protocol):
    """Anything with the Arrow stream interface: Polars, pandas, DuckDB relations, record batch readers."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


MergeInput: TypeAlias = (
    "pa.Table | pa.RecordBatch | pads.Dataset | ArrowStream | str | PathLike[str] | DataFrame | Mapping[str, Any] |"
    " Sequence[Any] | Iterator[Any]"
)
"""What a merge reads: Arrow data, anything with an Arrow stream, a Polars LazyFrame, a Spark DataFrame, rows or columns
in Python's own lists and dictionaries, several tables, generators of them, and paths."""


@dataclass(frozen=True)
class CheckedSource:
    """A source without NULL keys and, where the strategy asks for it, without repeated ones.

    `keys` holds its key columns in the table's names and types: all of them, or where they are too many
    `only_extremes`, the smallest and the largest of each column, of one part of the source after the other. Files are
    pruned by it, rows never decided. `index` is given where the engine has one. A `distributed` source is merged on
    other machines: what is much to read is not read again on this one.
    Where keys are `matched_by_arrow`, as the second count does it, matches are not counted twice; what is written is.
    """

    rows: int
    keys: pa.Table
    only_extremes: bool = False
    index: KeyLookup | None = None
    distributed: bool = False
    matched_by_arrow: bool = False


@dataclass(frozen=True)
class FileLayout:
    """Where the columns of a table lie: partition columns in paths, the others in files, by id where names mislead."""

    in_path: tuple[str, ...] = ()
    field_ids: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MergeJob:
    """A plan and where to write it. `in_path` are the partition columns that lie in paths and not in files."""

    plan: MergePlan
    staging: Staging
    in_path: tuple[str, ...] = ()

    @property
    def physical(self) -> pa.Schema:
        """The columns that lie inside files."""
        return pa.schema([one for one in self.staging.schema if one.name not in self.in_path])


class MergeSource(Protocol):
    """A source as an engine holds it."""

    @property
    def schema(self) -> pa.Schema: ...

    def check(self, unified: Unified) -> CheckedSource:
        """Deduplicates where asked, refuses NULL and repeated keys."""
        ...

    def match(self, unified: Unified, files: Sequence[DataFile], *, layout: FileLayout) -> Matches:
        """Looks the keys up in these files, by value. What `write` does rests on the last look, one at no file too."""
        ...

    def write(self, job: MergeJob) -> Merged:
        """Writes the new files of the plan into its staging."""
        ...

    def write_source(self, staging: Staging) -> tuple[WrittenFile, ...]:
        """Writes the checked source's own columns, in the table's names and types, for targets that merge rows."""
        ...


class MergeEngine(Protocol):
    """Spark, DuckDB or Arrow."""

    @property
    def name(self) -> str: ...

    def open(
        self, source: MergeInput, storage: StorageSettings, settings: Settings
    ) -> AbstractContextManager[MergeSource]:
        """The source, until the context ends. `settings` are the caller's; an engine reads none of its own."""
        ...
