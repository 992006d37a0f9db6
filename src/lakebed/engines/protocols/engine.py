"""What is known of an engine before it is imported, and what a caller asks of the one that is chosen."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from lakebed.extras import Extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The first that can is the default.
EngineName: TypeAlias = Literal["duckdb", "arrow", "spark"]
"""An engine that merges."""


@dataclass(frozen=True)
class EngineFacts:
    """An engine as its folder declares it. `merge`, `load` and `rows` are places, `module:class`: importing them may be
    slow, and what they import may not be installed.
    """

    name: str
    merge: str
    load: str | None = None  # only of an engine that loads in this process
    rows: str | None = None  # only of an engine that writes rows as they are given
    reads_dataframes: bool = False
    runs_in_session: bool = False  # the caller may bring a Spark session, or say where one is to be opened
    has_two_merges: bool = False  # `use_merge` chooses between them
    extra: Extra | None = None  # what a plain install lacks of it


@dataclass(frozen=True)
class EngineOptions:
    """What a caller asks of the engine of a merge. An option that is set has no meaning for every engine."""

    spark: "SparkSession | None" = None
    asks_for_session: bool = False  # a session was given, or where one is to be opened
    use_merge: bool | None = None
