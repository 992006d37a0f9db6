"""Columns that only a later file of a delivery has, or has more of: what they add to the delivery."""

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from lakebed.errors import SourceError, UnplannedColumns
from lakebed.model import Delivery, SourceColumn
from lakebed.source.header import NOT_TELLING


def with_unplanned(delivery: Delivery, surprise: UnplannedColumns) -> Delivery:
    """The delivery with these columns, typed by its manifest or by the Parquet files that have them.

    A struct that has grown has the fields of all its files.
    """
    columns = {column.original: column for column in delivery.columns}
    listed = {column.original: column for column in delivery.listed}
    for name in surprise.names:
        known = columns.get(name) or listed.get(name) or SourceColumn(name)
        types = [type_ for type_ in surprise.types.get(name, ()) if isinstance(type_, pa.DataType)]
        columns[name] = _typed(known, types, delivery)
    return replace(delivery, columns=tuple(columns.values()))


def _typed(column: SourceColumn, types: Iterable[pa.DataType], delivery: Delivery) -> SourceColumn:
    nested, declared = column.nested, column.declared_type
    for type_ in types:
        if pa.types.is_nested(type_):
            nested = type_ if nested is None else _unified(column.original, nested, type_, delivery)
            declared = str(nested)
        elif nested is None:
            declared = (declared or str(type_)) if str(type_) in NOT_TELLING else str(type_)
    return SourceColumn(column.original, declared, nested)


def _unified(name: str, one: pa.DataType, other: pa.DataType, delivery: Delivery) -> pa.DataType:
    schemas = [pa.schema([pa.field(name, type_)]) for type_ in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(name).type
    except pa.ArrowException as error:
        raise SourceError(
            f"{delivery.slice}: column {name} is {one} in one file of the delivery and {other} in another",
            remedy="Ask for the delivery again, or load the files as deliveries of their own.",
        ) from error
