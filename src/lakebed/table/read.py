"""`lakebed.read`: a table of any target as a Spark DataFrame, or as a pyarrow Dataset or Table."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, overload

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.config import load_settings
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import ScanFile
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.types import Schema
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.scan import Scannable, ScanPlan
from lakebed.targets.shared.refusals import no_such_table
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


TableLike: TypeAlias = str | os.PathLike[str] | Target
"""One table: its address, the path of a folder of Parquet files, or a target that is open already."""


@overload
def read(
    target: TableLike,
    *,
    spark: None = None,
    workdir: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pads.Dataset | pa.Table: ...
@overload
def read(
    target: TableLike,
    *,
    spark: "SparkSession",
    workdir: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
) -> "DataFrame": ...
def read(
    target: TableLike,
    *,
    spark: "SparkSession | None" = None,
    workdir: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
) -> "DataFrame | pads.Dataset | pa.Table":
    """The table as it stands: a Spark DataFrame with `spark=`, else a pyarrow Dataset or Table.

    Rows that other writers deleted are left out, columns that older files lack are NULL, and types are the table's.
    Raises NotFound where there is no table.

    >>> _ = lakebed.merge(pa.table({"id": [1, 2]}), "parquet:costs", keys="id")
    >>> lakebed.read("parquet:costs").to_table()["id"].to_pylist()
    [1, 2]
    """
    opened = open_table(target, workdir=workdir, read_only=True)
    if spark is None:
        return opened.read(columns)
    return frame(spark, opened, load_settings().storage, columns=columns)


def open_table(target: TableLike, *, workdir: str | os.PathLike[str] | None = None, read_only: bool = False) -> Target:
    """The table at an address, with the settings that hold here; one that is open already stays as it was opened."""
    if not isinstance(target, str | os.PathLike):
        return target
    return open_workspace(workdir).target(Address.parse(os.fspath(target), bare_path=True), read_only=read_only)


def open_workspace(workdir: str | os.PathLike[str] | None) -> Workspace:
    """The work directory that was given, or the one that the settings name."""
    return Workspace.open({"workdir": None if workdir is None else os.fspath(workdir)})


def frame(
    spark: "SparkSession", target: Target, storage: StorageSettings, *, columns: Sequence[str] | None = None
) -> "DataFrame":
    """The table as a Spark DataFrame; lazy, but for a target that is not made of files, whose rows are handed over."""
    if not target.capabilities.made_of_files:
        rows = target.read(columns)
        table = rows if isinstance(rows, pa.Table) else rows.to_table()
        return spark.createDataFrame(table)
    from lakebed.engines.spark.scan import frame as planned_frame

    return planned_frame(spark, _selected(_plan(target), columns), storage.resolved())


def _plan(target: Target) -> ScanPlan:
    if isinstance(target, Scannable):
        return target.scan_plan()
    state = target.state()
    if not state.exists:
        raise no_such_table(target.address)
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
