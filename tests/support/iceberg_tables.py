"""A smallest engine for tests of the Iceberg target: rows in, files in the staging's schema out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Slice, Staging, WrittenFile
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.types import Schema
from lakebed.storage import join
from lakebed.targets.base import Change, Commit, TableState
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget

OCTOBER = Slice("111122223333", "report", "2026-10")
NOVEMBER = Slice("111122223333", "report", "2026-11")


def open_table(
    workdir: Path, name: str = "billing.costs", *, storage: StorageSettings | None = None, **catalog: str
) -> IcebergTarget:
    namespace, _, table = name.rpartition(".")
    settings = CatalogSettings.for_workdir(workdir, properties=catalog or None, storage=storage)
    return IcebergTarget(namespace, table, settings)


def of_slice(rows: pa.Table, slice_: Slice, delivery: str = "delivery-1") -> pa.Table:
    for name, value in {**slice_.values, "lakebed_delivery": delivery}.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.string()))
    return rows


def plan(target: IcebergTarget, state: TableState, incoming: Schema) -> EvolutionPlan:
    current = state.schema if state.exists else None
    return plan_evolution(current, incoming, Policy(rules=target.capabilities.rules))


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows in the physical schema: by name without regard to case, NULL where they have no such column."""
    named = {name.casefold(): rows[name] for name in rows.column_names}
    columns = [
        named[field.name.casefold()].cast(field.type)
        if field.name.casefold() in named
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def write(
    rows: pa.Table, staging: Staging, *, path: str = "part-0.parquet", storage: StorageSettings | None = None
) -> WrittenFile:
    files, inside = filesystem(join(staging.folder, path), (storage or StorageSettings()).resolved())
    pq.write_table(fitted(rows, staging.schema), inside, filesystem=files)
    return WrittenFile(path, rows.num_rows, files.get_file_info(inside).size)


def load(
    target: IcebergTarget,
    rows: pa.Table,
    slice_: Slice | None = None,
    *,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> Commit:
    """What the pipeline does, without conversion: plan, stage, write, rewrite mixed files, commit."""
    state = target.state()
    incoming = of_slice(rows, slice_) if slice_ else rows
    evolution = plan(target, state, from_arrow_schema(incoming.schema))
    staging = target.stage(state, evolution, partition_by=partition_by)
    storage = target.settings.storage
    written = [write(incoming, staging, storage=storage)] if rows.num_rows else []
    removed = []
    if slice_ is not None:
        touched = target.affected(state, slice_)
        for number, file in enumerate(touched.mixed):
            files, inside = filesystem(file.uri, storage.resolved())
            old = pq.read_table(inside, filesystem=files)
            keep = [any(row[key] != value for key, value in slice_.values.items()) for row in old.to_pylist()]
            written.append(write(old.filter(pa.array(keep)), staging, path=f"kept-{number}.parquet", storage=storage))
        removed = [*touched.whole, *touched.mixed]
    change = Change(evolution, tuple(written), tuple(removed), slice_, properties or {})
    return target.commit(state, staging, change)


def rows_of(target: IcebergTarget) -> list[dict[str, object]]:
    found = target.read()
    table = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(table.to_pylist(), key=str)
