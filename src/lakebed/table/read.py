"""`lakebed.read`: a table of any target as a Spark DataFrame, or as a pyarrow Dataset or Table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.config import load_settings
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.types import Schema
from lakebed.storage import StorageSettings
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.scan import ScanFile, Scannable, ScanPlan
from lakebed.targets.shared.refusals import no_such_table
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    Raises NotFound where there is no table.
    """
    opened = open_table(target, workdir=workdir)
    if spark is None:
        return opened.read(columns)
    return frame(spark, opened, load_settings().storage.settings(), columns=columns)


def open_table(target: str, *, workdir: str | Path | None = None) -> Target:
    """The table at an address, with the settings that hold here."""
    workspace = Workspace.open({"workdir": None if workdir is None else str(workdir)})
    return workspace.target(Address.parse(target, bare_path=True))


def frame(
    spark: "SparkSession", target: Target, storage: StorageSettings, *, columns: Sequence[str] | None = None
) -> "DataFrame":
    """The table as a Spark DataFrame; lazy, but for a target that is not made of files, whose rows are handed over."""
    if not target.capabilities.made_of_files:
        rows = target.read(columns)
        table = rows if isinstance(rows, pa.Table) else rows.to_table()
        return spark.createDataFrame(table)
    from lakebed.engines.spark.scan import frame as planned_frame

    return planned_frame(spark, _selected(_plan(target), columns), storage.to_dict())


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
