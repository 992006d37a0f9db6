"""Merges with PyArrow, in this process."""

from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.engines.protocols.engine import MergeContext
from lakebed.engines.protocols.merge import MergeSource, Source
from lakebed.engines.shared.arrow_source import ArrowSource
from lakebed.engines.shared.sources import opened
from lakebed.kernels.storage_settings import StorageSettings


class ArrowMerge:
    """The Arrow engine's merge."""

    name = "arrow"

    @classmethod
    def of(cls, context: MergeContext) -> "ArrowMerge":
        return cls()

    @contextmanager
    def open(self, source: Source, storage: StorageSettings) -> Iterator[MergeSource]:
        with opened(source, storage) as table:
            yield ArrowSource(table, storage)
