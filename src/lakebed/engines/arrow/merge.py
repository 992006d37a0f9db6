"""Merges with PyArrow, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.config import Settings
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.merge import MergeInput, MergeSource
from lakebed.engines.shared.arrow_source import ArrowSource
from lakebed.engines.shared.sources import opened
from lakebed.kernels.storage_settings import StorageSettings


class ArrowMerge:
    """The Arrow engine's merge."""

    name = "arrow"

    @classmethod
    def of(cls, options: EngineOptions) -> "ArrowMerge":
        return cls()

    @contextmanager
    def open(self, source: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[MergeSource]:
        with opened(source, storage) as table:
            yield ArrowSource(table, storage)
