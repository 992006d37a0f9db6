"""Merges with PyArrow, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.config import Settings
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.merge import MergeInput, MergeSource
from lakebed.engines.shared.arrow_source import ArrowSource
from lakebed.engines.shared.large import LARGE_ROWS, Spill
from lakebed.engines.shared.sources import opened
from lakebed.kernels.storage_settings import StorageSettings


class ArrowMerge:
    """The Arrow engine's merge."""

    name = "arrow"

    def __init__(self, *, large_rows: int = LARGE_ROWS) -> None:
        """Sources of more rows than `large_rows` are merged with their keys on disk."""
        self._large_rows = large_rows

    @classmethod
    def of(cls, options: EngineOptions) -> "ArrowMerge":
        return cls()

    @contextmanager
    def open(self, source: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[MergeSource]:
        with opened(source, storage) as table, Spill(self._large_rows) as spill:
            yield ArrowSource(table, storage, spill)
