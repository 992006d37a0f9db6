"""The engine that counts or rewrites a table's files: this process, or Spark where a session is given or asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakebed.config import Settings
from lakebed.engines.protocols.load import Engine
from lakebed.engines.registry import local_engine, require_engine
from lakebed.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def table_engine(
    settings: Settings,
    storage: Storage,
    spark: "SparkSession | None",
    *,
    on_spark: bool,
    what: str,
    file: str | None = None,
) -> Iterator[Engine]:
    """This process, or Spark where a session, or where to open one, was given.

    `what` is named where Spark is not installed; a `file` of the table that its workers cannot reach is refused.
    """
    if not on_spark:
        yield local_engine(storage.settings)
        return
    require_engine("spark", f"{what} on Spark")
    from lakebed.engines.spark.load import SparkEngine
    from lakebed.engines.spark.session import open_session, require_shared

    with open_session(settings, spark=spark) as session:
        if file is not None:
            require_shared(file, session)
        yield SparkEngine(session.spark, storage.settings)
