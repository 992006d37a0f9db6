"""The Arrow engine: the same kernels as on Spark, in this process."""

from collections.abc import Sequence

from lakebed.engines.arrow.load import convert, rewrite
from lakebed.engines.protocols.load import ConvertJob, Progress
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Converted, DataFile, Slice, Staging, WrittenFile


class ArrowEngine:
    """Runs the load on threads of this process."""

    name = "arrow"

    def __init__(self, storage: StorageSettings | None = None) -> None:
        self._storage = (storage or StorageSettings()).resolved()

    def convert(self, job: ConvertJob, progress: Progress | None = None) -> Converted:
        """Converts every file of the job, or raises and leaves only staged files behind."""
        return convert(self._storage, job, progress)

    def rewrite(
        self, files: Sequence[DataFile], staging: Staging, *, without: Slice | None = None
    ) -> tuple[WrittenFile, ...]:
        """The rows of these files in the staging's schema, leaving out the rows of a slice."""
        return rewrite(self._storage, files, staging, without=without)
