"""The protocol of the write: an engine holds the rows that a user gives and writes them into new immutable files."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lakebed.config import Settings
from lakebed.engines.protocols.load import Engine
from lakebed.engines.protocols.merge import MergeInput
from lakebed.kernels.rows import RowsTask, RowsWritten
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import ColumnSlice, Staging
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.evolve import EvolutionPlan


@dataclass(frozen=True)
class RowsJob:
    """A plan and where to write it; without a staging rows are checked and counted. `slice` is what all must be of."""

    evolution: EvolutionPlan
    staging: Staging | None
    slice: ColumnSlice | None = None

    def task(self, source: pa.Schema, storage: StorageSettings) -> RowsTask:
        """The job as the kernels take it, for rows that have the columns of `source` in their order."""
        places = {name: place for place, name in enumerate(source.names)}
        columns = tuple(
            (one.column, places[one.incoming]) for one in self.evolution.sources if one.incoming is not None
        )
        final = to_arrow_schema(self.evolution.final)
        return RowsTask(
            schema=pa.schema([one.with_nullable(True) for one in final]),
            columns=columns,
            staging=self.staging,
            storage=storage,
            slice=None if self.slice is None else dict(self.slice.values),
        )


class RowSource(Protocol):
    """The rows as an engine holds them: they can be written more than once."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def engine(self) -> Engine:
        """What rewrites files of the table where their rows are partly replaced."""
        ...

    @property
    def commit_staging(self) -> str | None:
        """Where workers with disks of their own write for a target that has no place for them; None without any."""
        ...

    def require_reachable(self, folder: str) -> None:
        """Refuses a folder that those who write cannot reach."""
        ...

    def write(self, job: RowsJob) -> RowsWritten:
        """Writes the rows into the staging, or raises and leaves only staged files behind."""
        ...


class RowEngine(Protocol):
    """Spark or Arrow."""

    def open(self, data: MergeInput, storage: StorageSettings, settings: Settings) -> AbstractContextManager[RowSource]:
        """The rows, until the context ends."""
        ...
