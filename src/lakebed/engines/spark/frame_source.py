"""Spark DataFrames as sources of a merge: their schema, their deduplication, and staging them as Parquet."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType, StructType

from lakebed.engines.spark.tasks import collect, map_batches, reason, remedy
from lakebed.errors import DatasetMergeError
from lakebed.kernels.merge_tasks import PART_FACTS, StageRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.spark import from_spark_json, quote_identifier
from lakebed.storage import join


@dataclass(frozen=True)
class StagedPart:
    """A staged part: its rows, and how often each key column is NULL in it."""

    uri: str
    rows: int
    nulls: tuple[int, ...]


def schema_of(frame: DataFrame) -> pa.Schema:
    """The frame's columns; no job runs."""
    return to_arrow_schema(from_spark_json(frame.schema.json()))


def few_rows(frame: DataFrame, unified: Unified, most: int) -> pa.Table | None:
    """All rows of the frame, where they are no more than that; None where there are more."""
    names = list(unified.delivered.values())
    chosen = frame.select(*(F.col(quote_identifier(name)).alias(f"c{place}") for place, name in enumerate(names)))
    try:
        first = collect(chosen.limit(most + 1), doing=f"see whether the source has more than {most} rows")
    except PySparkException as error:
        raise _not_computed(unified.spec, error) from error
    return None if first.num_rows > most else first.rename_columns(names)


def staged_frame(
    frame: DataFrame, unified: Unified, schema: pa.Schema, folder: str, storage: StorageSettings
) -> list[StagedPart]:
    """Computes the frame once and writes it as Parquet parts in the table's names and types."""
    spec = unified.spec
    # Names of our own: Spark resolves `a.b` as a field in more places than its API lets us quote.
    own = {column: f"c{place}" for place, column in enumerate(unified.delivered)}
    rows = frame.select(
        *(F.col(quote_identifier(name)).alias(own[column]) for column, name in unified.delivered.items())
    )
    if spec.strategy == "deduplicate":
        keys, order = [own[key] for key in spec.keys], [own[name] for name in spec.dedup_order_by]
        rows = rows.transform(lambda given: _deduplicated(given, keys, order))
    stage = StageRows(folder, schema, spec.keys, storage)
    try:
        facts = collect(map_batches(rows, stage.write, PART_FACTS), doing="stage the source").to_pylist()
    except PySparkException as error:
        raise _not_computed(spec, error) from error
    return [StagedPart(join(folder, fact["path"]), fact["rows"], tuple(fact["nulls"])) for fact in facts]


def _not_computed(spec: MergeSpec, error: PySparkException) -> DatasetMergeError:
    return refusals.engine_failed(spec, f"Spark could not compute the source: {reason(error)}", remedy=remedy(error))


def _deduplicated(rows: DataFrame, keys: Sequence[str], order_by: Sequence[str]) -> DataFrame:
    """Of each key the highest rows, equal ones once; rows that tie and differ remain, to be refused.

    So does every row without a key: the refusal counts them all.
    """
    names = rows.columns
    keyless = reduce(lambda left, right: left | right, (F.col(key).isNull() for key in keys))
    rows = rows.select("*", F.when(keyless, F.monotonically_increasing_id()).alias("keyless"))
    if order_by:
        window = Window.partitionBy(*keys).orderBy(*(F.col(name).desc_nulls_last() for name in order_by))
        rows = rows.select("*", F.rank().over(window).alias("rank")).where("rank = 1 OR keyless IS NOT NULL")
    # Spark groups by everything but maps, so those are compared by their text.
    texts = {field.name: f"text_{field.name}" for field in rows.schema if _has_map(field.dataType)}
    compared = rows.select("*", *(F.to_json(F.struct(name)).alias(text) for name, text in texts.items()))
    return compared.dropDuplicates([*(texts.get(name, name) for name in names), "keyless"]).select(*names)


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, MapType):
        return True
    if isinstance(kind, StructType):
        return any(_has_map(field.dataType) for field in kind)
    element = getattr(kind, "elementType", None)
    return element is not None and _has_map(element)
