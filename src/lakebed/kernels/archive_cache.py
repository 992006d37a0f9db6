"""Spares a worker to read Spark's archives again before each task.

A Python worker invalidates the import caches when a task begins, and Python's zipimport may then read the directory of
every archive again, once for each package that was imported from it: pyspark.zip and spark-core's jar have thousands of
entries, 0.1 s of CPU a task. Importers that are not in the cache are not asked; one that is needed is made again from
the directory that Python keeps. What these archives hold does not change while a session runs.
"""

import re
import sys
import zipimport
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

_UNCHANGING = re.compile(r"pyspark\.zip|py4j-[^/\\]*-src\.zip|spark-core_[^/\\]*\.jar|lakebed-kernels-[0-9a-f]+\.zip")


@dataclass(frozen=True)
class SparingArchives:
    """What `mapInArrow` calls in place of a function: the worker's next task begins without reading archives."""

    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.function(batches)
        finally:
            forget_importers()


def forget_importers() -> None:
    """Takes the importers of Spark's archives and of our own out of Python's cache. Those of others stay."""
    for place, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter) and _is_unchanging(importer.archive):
            del sys.path_importer_cache[place]


def _is_unchanging(archive: str) -> bool:
    return _UNCHANGING.fullmatch(archive.replace("\\", "/").rpartition("/")[2]) is not None
