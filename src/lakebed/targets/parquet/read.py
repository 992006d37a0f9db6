"""Files of a Parquet dataset for a reader in this process, and the exact sums that a load is checked against."""

from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow.dataset as pads

from lakebed.errors import NotFound, SchemaError, system_refusal
from lakebed.kernels.files import filesystem
from lakebed.kernels.groups import group_columns
from lakebed.kernels.sums import exact_totals, no_totals
from lakebed.model import AnySlice, DataFile, GroupKey, Totals
from lakebed.schema.arrow import to_arrow_schema
from lakebed.storage import Storage
from lakebed.targets.base import TableState
from lakebed.targets.parquet.slices import affected


def open_dataset(root: str, files: Sequence[DataFile], state: TableState, storage: Storage) -> pads.FileSystemDataset:
    """These files in the table's schema: what one lacks is NULL, and partitions come from the path."""
    settings = storage.settings.resolved()
    fs, _ = filesystem(root, settings)
    parquet = pads.ParquetFileFormat()
    fragments = [
        parquet.make_fragment(
            filesystem(file.uri, settings)[1],
            fs,
            partition_expression=_partition_expression(file, state.partition_by),
        )
        for file in files
    ]
    return pads.FileSystemDataset(fragments, to_arrow_schema(state.schema), parquet, fs)


def totals(
    root: str,
    state: TableState,
    storage: Storage,
    slice_: AnySlice | None,
    columns: Sequence[str],
    currency: str | None,
    by: Sequence[GroupKey] | None = None,
) -> Totals:
    """Rows and exact sums of the committed table, by groups too if that is asked for."""
    if not state.exists:
        return no_totals(columns)
    wanted = [*columns, *([currency] if currency else []), *group_columns(by)]
    if absent := [column for column in wanted if column not in state.schema]:
        raise SchemaError(f"{root} has no column {', '.join(absent)}")
    values: Mapping[str, object] = slice_.values if slice_ else {}
    if any(column not in state.schema for column in values):
        return no_totals(columns)
    files = state.files
    if slice_:
        touched = affected(files, slice_, storage)
        files = (*touched.whole, *touched.mixed)
    conditions = [_condition(state.schema[column].name, value) for column, value in values.items()]
    scanner = open_dataset(root, files, state, storage).scanner(
        columns={column: pads.field(state.schema[column].name) for column in wanted},
        filter=reduce(lambda left, right: left & right, conditions) if conditions else None,
    )
    try:
        return exact_totals(scanner.to_batches(), columns, currency=currency, by=by)
    except FileNotFoundError as error:
        raise NotFound(f"{root} has changed while it was read: {error}", uri=root) from error
    except OSError as error:
        raise system_refusal(error, root) from error


def _condition(column: str, value: object) -> pads.Expression:
    if isinstance(value, frozenset):
        return pads.field(column).isin(sorted(value))
    return pads.field(column).is_null() if value is None else pads.field(column) == value


def _partition_expression(file: DataFile, partition_by: Sequence[str]) -> pads.Expression:
    parts = [_condition(name, file.partition.get(name)) for name in partition_by]
    return reduce(lambda left, right: left & right, parts) if parts else pads.scalar(True)
