"""A planned read as a Spark DataFrame: lazy, without jars, the DataFrame API only.

Where files can be read by name on disks that Spark sees, its own Parquet reader does it; else workers read them with
pyarrow. One branch per partition, each with the partition's value as a literal, lets Spark drop the branches that a
filter excludes before it opens a file.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakebed.engines.spark.shipping import ship_kernels
from lakebed.engines.spark.tasks import map_batches
from lakebed.kernels.scan import Scan
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import ScanFile
from lakebed.schema.spark import quote_identifier, to_spark_ddl
from lakebed.schema.types import Text, fold
from lakebed.storage import is_local
from lakebed.targets.scan import ScanPlan

# Beyond this, planning the branches costs more than they save.
MAX_BRANCHES = 96


def frame(spark: SparkSession, plan: ScanPlan, storage: StorageSettings) -> DataFrame:
    """The rows of the planned files, in the plan's schema."""
    if not plan.files:
        return spark.createDataFrame([], schema=to_spark_ddl(plan.schema))
    branches = [_branch(spark, part, values, storage) for part, values in _branches(plan)]
    return reduce(lambda one, other: one.unionByName(other), branches)


def _branches(plan: ScanPlan) -> Iterator[tuple[ScanPlan, dict[str, str | None]]]:
    """The plan by partitions: each part with the values that all its rows have."""
    columns = [name for name in plan.partition_by if name in plan.schema and isinstance(plan.schema[name].type, Text)]
    groups: dict[tuple[str | None, ...], list[ScanFile]] = {}
    for file in plan.files:
        if not all(name in file.partition for name in columns):
            # Written under another partitioning: such a file may hold any values.
            columns = []
            break
        groups.setdefault(tuple(file.partition[name] for name in columns), []).append(file)
    if not columns or len(groups) > MAX_BRANCHES:
        yield plan, {}
        return
    for values, files in groups.items():
        yield replace(plan, files=tuple(files)), dict(zip(columns, values, strict=True))


def _branch(spark: SparkSession, plan: ScanPlan, values: dict[str, str | None], storage: StorageSettings) -> DataFrame:
    on_disk = all(is_local(file.uri) for file in plan.files)
    if on_disk and plan.readable_by_name and (values or not plan.partition_in_path):
        rows = spark.read.schema(to_spark_ddl(plan.schema)).parquet(*(file.uri for file in plan.files))
    else:
        rows = _read_by_workers(spark, plan, storage)
    literals = {fold(name): F.lit(value).cast("string").alias(name) for name, value in values.items()}
    return rows.select(
        *(literals.get(fold(column.name), F.col(quote_identifier(column.name))) for column in plan.schema)
    )


def _read_by_workers(spark: SparkSession, plan: ScanPlan, storage: StorageSettings) -> DataFrame:
    ship_kernels(spark)
    scan = Scan(plan.files, plan.physical, storage)
    tasks = spark.range(0, len(plan.files), 1, len(plan.files))
    return map_batches(tasks, scan, to_spark_ddl(plan.schema))
