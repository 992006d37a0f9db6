"""`lakebed.read`: a table of any target as a Spark DataFrame, or as a pyarrow Dataset or Table.

Spark needs no jar for it: where files can be read by name on disks that it sees, Spark's own Parquet reader does; else
workers read them with pyarrow. One branch per partition, each with the partition's value as a literal, lets Spark drop
the branches that a filter excludes before it opens a file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, overload

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.config import load_settings
from lakebed.errors import NotFound
from lakebed.kernels.scan import Scan, ScanInput
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.spark import quote_identifier, to_spark_ddl
from lakebed.schema.types import Schema, Text, fold
from lakebed.storage import Storage, StorageSettings, is_local
from lakebed.targets.address import Address, open_target
from lakebed.targets.base import Target
from lakebed.targets.scan import ScanFile, Scannable, ScanPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Beyond this, planning the branches costs more than they save.
MAX_BRANCHES = 96


@overload
def read(
    target: str, *, spark: None = None, workdir: str | Path | None = None, columns: Sequence[str] | None = None
) -> pads.Dataset | pa.Table: ...
@overload
def read(
    target: str, *, spark: "SparkSession", workdir: str | Path | None = None, columns: Sequence[str] | None = None
) -> "DataFrame": ...
def read(
    target: str,
    *,
    spark: "SparkSession | None" = None,
    workdir: str | Path | None = None,
    columns: Sequence[str] | None = None,
) -> "DataFrame | pads.Dataset | pa.Table":
    """The table as it stands: a Spark DataFrame with `spark=`, else a pyarrow Dataset or Table.

    Rows that other writers deleted are left out, columns that older files lack are NULL, and types are the table's.
    """
    opened = open_table(target, workdir=workdir)
    if spark is None:
        return opened.read(columns)
    return frame(spark, opened, load_settings().storage.settings(), columns=columns)


def open_table(target: str, *, workdir: str | Path | None = None) -> Target:
    """The table at an address, with the settings that hold here."""
    settings = load_settings({"workdir": None if workdir is None else str(workdir)})
    storage = Storage(settings.storage.settings())
    address = Address.parse(target, bare_path=True)
    return open_target(address, workdir=settings.workdir_path, storage=storage, catalogs=settings.catalog)


def frame(
    spark: "SparkSession", target: Target, storage: StorageSettings, *, columns: Sequence[str] | None = None
) -> "DataFrame":
    """The table as a Spark DataFrame; lazy, but for a target that is not made of files, whose rows are handed over."""
    if not target.capabilities.made_of_files:
        rows = target.read(columns)
        table = rows if isinstance(rows, pa.Table) else rows.to_table()
        return spark.createDataFrame(table)
    plan = _plan(target)
    selected = _selected(plan, columns)
    if not plan.files:
        return spark.createDataFrame([], schema=to_spark_ddl(selected.schema))
    branches = [_branch(spark, part, values, storage) for part, values in _branches(selected)]
    return reduce(lambda one, other: one.unionByName(other), branches)


def _plan(target: Target) -> ScanPlan:
    if isinstance(target, Scannable):
        return target.scan_plan()
    state = target.state()
    if not state.exists:
        raise NotFound(f"there is no table at {target.address}")
    return ScanPlan(
        schema=state.schema,
        physical=to_arrow_schema(state.schema),
        files=tuple(ScanFile(file.uri, file.partition) for file in state.files),
        partition_by=state.partition_by,
        partition_in_path=target.capabilities.partition_in_path,
    )


def _selected(plan: ScanPlan, columns: Sequence[str] | None) -> ScanPlan:
    if columns is None:
        return plan
    kept = [plan.schema[name] for name in columns]
    return replace(
        plan, schema=Schema.of(kept), physical=pa.schema([plan.physical.field(column.name) for column in kept])
    )


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


def _branch(
    spark: "SparkSession", plan: ScanPlan, values: dict[str, str | None], storage: StorageSettings
) -> "DataFrame":
    from pyspark.sql import functions as F

    on_disk = all(is_local(file.uri) for file in plan.files)
    if on_disk and plan.readable_by_name and (values or not plan.partition_in_path):
        rows = spark.read.schema(to_spark_ddl(plan.schema)).parquet(*(file.uri for file in plan.files))
    else:
        rows = _read_by_workers(spark, plan, storage)
    literals = {fold(name): F.lit(value).cast("string").alias(name) for name, value in values.items()}
    return rows.select(
        *(literals.get(fold(column.name), F.col(quote_identifier(column.name))) for column in plan.schema)
    )


def _read_by_workers(spark: "SparkSession", plan: ScanPlan, storage: StorageSettings) -> "DataFrame":
    from lakebed.engines.spark.shipping import ship_kernels

    ship_kernels(spark)
    files = tuple(ScanInput(file.uri, dict(file.partition), file.deletes) for file in plan.files)
    scan = Scan(files, plan.physical, plan.by_field_id, storage.to_dict())
    tasks = spark.range(0, len(files), 1, len(files))
    return tasks.mapInArrow(scan, to_spark_ddl(plan.schema))  # type: ignore[arg-type]
