"""The Spark engine: a session, and the storage settings that travel to its workers."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from lakebed.engines.protocols.load import ConvertJob, Progress
from lakebed.engines.spark.load import convert, rewrite
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Converted, DataFile, Slice, Staging, WrittenFile


class SparkEngine:
    """Runs the load on a Spark session, classic or Connect. Whoever opened the session closes it."""

    name = "spark"

    def __init__(self, session: SparkSession, storage: StorageSettings | None = None) -> None:
        self._session = session
        self._storage = (storage or StorageSettings()).resolved()

    def convert(self, job: ConvertJob, progress: Progress | None = None) -> Converted:
        """Converts every file of the job, one task a file, or raises and leaves only staged files behind."""
        return convert(self._session, self._storage, job, progress)

    def rewrite(
        self, files: Sequence[DataFile], staging: Staging, *, without: Slice | None = None
    ) -> tuple[WrittenFile, ...]:
        """The rows of these files in the staging's schema, leaving out the rows of a slice."""
        return rewrite(self._session, self._storage, files, staging, without=without)
