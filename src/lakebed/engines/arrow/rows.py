"""Writes rows in this process."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.config import Settings
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.load import Engine
from lakebed.engines.protocols.merge import MergeInput
from lakebed.engines.protocols.rows import RowSource
from lakebed.engines.shared.local_rows import LocalRows
from lakebed.engines.shared.sources import rescannable
from lakebed.kernels.storage_settings import StorageSettings


class ArrowRows:
    """The Arrow engine's write."""

    @classmethod
    def of(cls, options: EngineOptions) -> "ArrowRows":
        return cls()

    @contextmanager
    def open(self, data: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[RowSource]:
        with rescannable(data, storage) as rows:
            yield ProcessSource(rows, storage)


class ProcessSource(LocalRows):
    """Rows for which there is nobody but this process."""

    commit_staging: str | None = None

    def __init__(self, rows: pa.Table | pads.Dataset, storage: StorageSettings) -> None:
        super().__init__(rows, storage)
        self.engine: Engine = ArrowEngine(storage)

    def require_reachable(self, folder: str) -> None:
        """Whatever a target opens is within reach of this process."""
