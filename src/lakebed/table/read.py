"""`lakebed.read`: a table of any target as a Spark DataFrame, or as a pyarrow Dataset or Table."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias, overload

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.config import load_settings
from lakebed.kernels.slices import in_slice
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import AnySlice, ScanFile
from lakebed.schema.arrow import from_arrow_schema, to_arrow_schema
from lakebed.schema.spark import quote_identifier
from lakebed.schema.types import Schema, fold
from lakebed.storage import Storage
from lakebed.table.as_of import HeldRows, Moment, TableLoads, count_rows, parse_moment
from lakebed.table.lent_keys import storage_of
from lakebed.table.where import Condition, UnknownCondition, Where, excludes, parse_where
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
    where: Where | None = None,
    as_of: Moment | None = None,
) -> pads.Dataset | pa.Table: ...
@overload
def read(
    target: TableLike,
    *,
    spark: "SparkSession",
    workdir: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    as_of: Moment | None = None,
) -> "DataFrame": ...
def read(
    target: TableLike,
    *,
    spark: "SparkSession | None" = None,
    workdir: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
    as_of: Moment | None = None,
) -> "DataFrame | pads.Dataset | pa.Table":
    """The table as it stands: a Spark DataFrame with `spark=`, else a pyarrow Dataset or Table.

    Rows that other writers deleted are left out, columns that older files lack are NULL, and types are the table's.
    `columns` chooses some of them. `where` chooses rows: a condition in SQL, or `{column: value}`, each value taken in
    its column's type, None being NULL. Raises NotFound where there is no table.

    `as_of` gives a loaded table as it was known at the end of a day, or at a moment, as a Table or DataFrame: the rows
    of the deliveries that were loaded by then, under the columns of today. Raises TargetError, naming the delivery,
    where rows of then were not retained.

    >>> _ = lakebed.merge(pa.table({"id": [1, 2], "day": ["mon", "tue"]}), "parquet:costs", keys="id")
    >>> lakebed.read("parquet:costs", where="day = 'tue' OR id > 5").to_table()["id"].to_pylist()
    [2]
    """
    opened = open_table(target, workdir=workdir, read_only=True)
    if as_of is not None:
        held = _held_at(opened, as_of, workdir)
        if spark is not None:
            storage = storage_of(opened, Storage(load_settings().storage))
            return frame_of_rows(spark, opened, held, storage, columns, where)
        return table_of_rows(opened, held, columns, where)
    if spark is not None:
        storage = storage_of(opened, Storage(load_settings().storage))
        return frame(spark, opened, storage.settings, columns=columns, where=where)
    if where is None:
        return opened.read(columns)
    state = opened.state()
    condition = parse_where(where, state.schema)
    wanted = state.schema.names if columns is None else columns
    found = opened.read(list({fold(name): name for name in (*wanted, *condition.columns)}.values()))
    chosen = [state.schema[name].name for name in wanted]
    if isinstance(found, pads.Dataset):
        # A filtered Dataset stays lazy only as it is; fewer columns than the condition asks for make it a Table.
        filtered = found.filter(condition.expression)
        return filtered if len(chosen) == len(found.schema.names) else filtered.to_table(columns=chosen)
    return found.filter(condition.expression).select(chosen)


def _held_at(opened: Target, as_of: Moment, workdir: str | os.PathLike[str] | None) -> tuple[HeldRows, ...]:
    with open_workspace(workdir).ledger_for_reading() as ledger:
        held = TableLoads.of(opened, ledger).at(parse_moment(as_of))
    count_rows(held)
    return held


def table_of_rows(
    opened: Target, held: Sequence[HeldRows], columns: Sequence[str] | None, where: Where | None
) -> pa.Table:
    """The rows of these loads in this process, under the columns of the table."""
    schema = opened.state().schema
    condition = None if where is None else parse_where(where, schema)
    wanted = schema.names if columns is None else [schema[name].name for name in columns]
    also = () if condition is None else (schema[name].name for name in condition.columns)
    asked = list(dict.fromkeys((*wanted, *also)))
    physical = to_arrow_schema(Schema.of(schema[name] for name in asked))
    parts = []
    for one in held:
        there = one.target.state().schema
        needed = list({fold(name): name for name in (*asked, *one.slice.values) if name in there}.values())
        rows = one.target.read(needed)
        table = rows if isinstance(rows, pa.Table) else rows.to_table(filter=_is_in(one.slice, there))
        inside = table.filter(in_slice(table, {there[name].name: value for name, value in one.slice.values.items()}))
        found = {fold(name): inside.column(name) for name in inside.column_names}
        arrays = [
            found[fold(field.name)].cast(field.type) if fold(field.name) in found else pa.nulls(len(inside), field.type)
            for field in physical
        ]
        parts.append(pa.table(arrays, schema=physical))
    together = pa.concat_tables([physical.empty_table(), *parts])
    return (together if condition is None else together.filter(condition.expression)).select(wanted)


def _is_in(slice_: AnySlice, schema: Schema) -> pads.Expression:
    parts = [pads.field(schema[name].name) == value for name, value in slice_.values.items()]
    return reduce(lambda left, right: left & right, parts)


def frame_of_rows(
    spark: "SparkSession",
    opened: Target,
    held: Sequence[HeldRows],
    storage: Storage,
    columns: Sequence[str] | None,
    where: Where | None,
) -> "DataFrame":
    """The rows of these loads as a Spark DataFrame, under the columns of the table."""
    from pyspark.sql import functions as F

    schema = opened.state().schema
    now = frame(spark, opened, storage.settings)
    together = now.limit(0)
    for one in held:
        rows = frame(spark, one.target, storage.settings, where=dict(one.slice.values))
        there = {fold(name): name for name in rows.columns}
        together = together.unionByName(
            rows.select(
                *(
                    (F.col(quote_identifier(there[fold(field.name)])) if fold(field.name) in there else F.lit(None))
                    .cast(field.dataType)
                    .alias(field.name)
                    for field in now.schema
                )
            )
        )
    return _chosen(together, schema, columns, where)


def open_table(target: TableLike, *, workdir: str | os.PathLike[str] | None = None, read_only: bool = False) -> Target:
    """The table at an address, with the settings that hold here; one that is open already stays as it was opened."""
    if not isinstance(target, str | os.PathLike):
        return target
    return open_workspace(workdir).target(Address.parse(os.fspath(target), bare_path=True), read_only=read_only)


def open_workspace(workdir: str | os.PathLike[str] | None) -> Workspace:
    """The work directory that was given, or the one that the settings name."""
    return Workspace.open({"workdir": None if workdir is None else os.fspath(workdir)})


def frame(
    spark: "SparkSession",
    target: Target,
    storage: StorageSettings,
    *,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
) -> "DataFrame":
    """The table as a Spark DataFrame; lazy, but for a target that is not made of files, whose rows are handed over."""
    if not target.capabilities.made_of_files:
        rows = target.read(columns if where is None else None)
        table = rows if isinstance(rows, pa.Table) else rows.to_table()
        return _chosen(spark.createDataFrame(table), from_arrow_schema(table.schema), columns, where)
    from lakebed.engines.spark.scan import frame as planned_frame

    plan = plan_scan(target)
    if where is None:
        return planned_frame(spark, select_columns(plan, columns), storage.resolved())
    try:
        condition = parse_where(where, plan.schema)
    except UnknownCondition:
        # Spark understands it, and then every column may be meant.
        return _chosen(planned_frame(spark, plan, storage.resolved()), plan.schema, columns, where)
    needed = None if columns is None else list({fold(one): one for one in (*columns, *condition.columns)}.values())
    pruned = prune_files(select_columns(plan, needed), condition)
    return _chosen(planned_frame(spark, pruned, storage.resolved()), plan.schema, columns, where)


def _chosen(frame: "DataFrame", schema: Schema, columns: Sequence[str] | None, where: Where | None) -> "DataFrame":
    """These columns of the rows that fulfil the condition, which Spark itself evaluates."""
    from pyspark.sql import functions as F

    if isinstance(where, str):
        frame = frame.where(where)
    elif where is not None:
        for name, value in parse_where(where, schema).equal.items():
            frame = frame.where(F.col(quote_identifier(name)).eqNullSafe(F.lit(value)))
    return frame if columns is None else frame.select(*(F.col(quote_identifier(schema[one].name)) for one in columns))


def prune_files(plan: ScanPlan, condition: Condition) -> ScanPlan:
    """The plan without the files whose partition excludes every row."""
    return replace(plan, files=tuple(file for file in plan.files if not excludes(condition, file.partition)))


def plan_scan(target: Target) -> ScanPlan:
    """The files of a table that is made of files, and what must be known to read them. Raises NotFound without one."""
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


def select_columns(plan: ScanPlan, columns: Sequence[str] | None) -> ScanPlan:
    """The plan for these columns alone; all without any."""
    if columns is None:
        return plan
    kept = [plan.schema[name] for name in columns]
    return replace(
        plan, schema=Schema.of(kept), physical=pa.schema([plan.physical.field(column.name) for column in kept])
    )
