"""Writes rows on Spark, classic or Connect: executors write the files, and only what they wrote comes back.

A DataFrame is computed by the job that writes it. Files of a path are read by the workers, one task a file; what only
the driver holds is written by the driver.
"""

import pickle
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike, fspath

import pyarrow as pa
import pyarrow.dataset as pads
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.config import Settings
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.load import Engine
from lakebed.engines.protocols.merge import MergeInput
from lakebed.engines.protocols.rows import RowsJob, RowSource
from lakebed.engines.shared.local_rows import LocalRows
from lakebed.engines.shared.results import raise_first
from lakebed.engines.shared.sources import is_dataframe, path_files, rescannable
from lakebed.engines.spark.frame_source import schema_of
from lakebed.engines.spark.load import SparkEngine
from lakebed.engines.spark.session import Session, open_session, require_shared
from lakebed.engines.spark.tasks import collect, map_batches, reason, remedy, run_tasks
from lakebed.errors import ConfigError, EngineError
from lakebed.kernels.columns import without_ids
from lakebed.kernels.rows import RESULT, FileRows, FrameRows, RowsWritten, together
from lakebed.kernels.scan import Scan
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.schema.spark import quote_identifier


class SparkRows:
    """The Spark engine's write, on the DataFrame's session, the caller's, or one of its own."""

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session

    @classmethod
    def of(cls, options: EngineOptions) -> "SparkRows":
        return cls(options.spark)

    @contextmanager
    def open(self, data: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[RowSource]:
        if is_dataframe(data) and data.isStreaming:
            raise ConfigError(
                "a streaming DataFrame is written batch by batch",
                remedy="df.writeStream.foreachBatch(lambda batch, number: lakebed.write(batch, TARGET, "
                "txn=(NAME, number))).",
            )
        given = data.sparkSession if is_dataframe(data) else self._session
        with ExitStack() as stack:
            session = stack.enter_context(open_session(settings, spark=given))
            if is_dataframe(data):
                yield FrameRowsSource(data, session, storage, settings)
            elif isinstance(data, str | PathLike):
                yield PathSource(fspath(data), session, storage, settings)
            else:
                yield DriverSource(stack.enter_context(rescannable(data, storage)), session, storage, settings)


class SessionSource:
    """What all sources on a session share."""

    def __init__(self, session: Session, storage: StorageSettings, settings: Settings) -> None:
        self._session = session
        self._storage = storage
        self._settings = settings

    @property
    def engine(self) -> Engine:
        return SparkEngine(self._session.spark, self._storage)

    @property
    def commit_staging(self) -> str | None:
        return None if self._session.local else self._settings.commit_staging

    def require_reachable(self, folder: str) -> None:
        require_shared(folder, self._session)


class FrameRowsSource(SessionSource):
    """A Spark DataFrame."""

    def __init__(self, frame: DataFrame, session: Session, storage: StorageSettings, settings: Settings) -> None:
        super().__init__(session, storage, settings)
        self._frame = frame

    @property
    def schema(self) -> pa.Schema:
        return schema_of(self._frame)

    def write(self, job: RowsJob) -> RowsWritten:
        # Names of our own: Spark resolves `a.b` as a field in more places than its API lets us quote.
        names = self.schema.names
        rows = self._frame.select(
            *(F.col(quote_identifier(name)).alias(f"c{place}") for place, name in enumerate(names))
        )
        task = job.task(self.schema, self._storage)
        places = dict(task.columns)
        partition_by = [] if job.staging is None else [name for name in job.staging.partition_by if name in places]
        if partition_by:
            # Rows of a partition come together, so that each has few files; Spark splits those that are large.
            rows = rows.hint("rebalance", *(F.col(f"c{places[name]}") for name in partition_by))
        try:
            written = map_batches(rows, FrameRows(task, "rows"), RESULT)
            returned = collect(written, doing="write rows" if job.staging is not None else "count rows")
        except PySparkException as error:
            raise EngineError(
                f"Spark could not compute the rows: {reason(error)}",
                remedy=remedy(error) or "Nothing was written to the table.",
            ) from error
        results = [pickle.loads(one) for one in returned.column(0).to_pylist()]
        raise_first(results)
        return together(results)


class PathSource(SessionSource):
    """Parquet files, which workers read."""

    def __init__(self, path: str, session: Session, storage: StorageSettings, settings: Settings) -> None:
        super().__init__(session, storage, settings)
        self._schema, self._files = path_files(path, storage)
        for file in self._files:
            require_shared(file.uri, session)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def write(self, job: RowsJob) -> RowsWritten:
        scan = Scan(self._files, without_ids(self._schema), self._storage)
        tasks = FileRows(job.task(self._schema, self._storage), scan)
        results = run_tasks(self._session.spark, tasks, len(self._files), doing=f"write {len(self._files)} files")
        raise_first(results)
        return together([one for one in results if isinstance(one, RowsWritten)])


class DriverSource(SessionSource):
    """Rows that only the driver holds."""

    def __init__(
        self, rows: pa.Table | pads.Dataset, session: Session, storage: StorageSettings, settings: Settings
    ) -> None:
        super().__init__(session, storage, settings)
        self._rows = LocalRows(rows, storage)

    @property
    def schema(self) -> pa.Schema:
        return self._rows.schema

    def write(self, job: RowsJob) -> RowsWritten:
        return self._rows.write(job)
