"""Rows that another writer deleted by their values, as streams do: those that have the values of one of its rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.kernels.columns import field_id, find_columns
from lakebed.kernels.conform import conform
from lakebed.model import EqualityDelete


@dataclass(frozen=True)
class Marks:
    """The values of one or several delete files that compare the same columns."""

    columns: pa.Schema
    values: tuple[pa.ChunkedArray, ...]


def read_marks(deletes: Sequence[EqualityDelete], open_: Callable[[str], Any]) -> list[Marks]:
    """What these files mark as deleted; files that compare the same columns together."""
    found: dict[tuple[int | None, ...], tuple[pa.Schema, list[list[pa.Array]]]] = {}
    for delete in deletes:
        with open_(delete.uri) as raw:
            rows = pq.read_table(raw)
        given = [column.combine_chunks() for column in rows.columns]
        columns = conform(rows.schema, given, delete.columns, rows.num_rows, by_id=True)
        ids = tuple(field_id(field) for field in delete.columns)
        _, known = found.setdefault(ids, (delete.columns, [[] for _ in columns]))
        for parts, column in zip(known, columns, strict=True):
            parts.append(column)
    return [
        Marks(schema, tuple(pa.chunked_array(parts, field.type) for parts, field in zip(all_, schema, strict=True)))
        for schema, all_ in found.values()
    ]


def with_compared(schema: pa.Schema, marks: Iterable[Marks]) -> pa.Schema:
    """The schema, and behind it the columns that the marks compare and it lacks."""
    known = {field_id(field) for field in schema}
    more: dict[int | None, pa.Field] = {}
    for field in (field for one in marks for field in one.columns):
        if field_id(field) not in known:
            more.setdefault(field_id(field), field)
    return pa.schema([*schema, *more.values()])


def without_marked(columns: Sequence[pa.Array], schema: pa.Schema, marks: Iterable[Marks]) -> list[pa.Array]:
    """The columns, in this schema, without the rows that are marked."""
    stays = None
    for one in marks:
        places = find_columns(one.columns, schema)
        marked = is_marked([columns[place] for place in places if place is not None], one.values)
        stays = pc.invert(marked) if stays is None else pc.and_not(stays, marked)
    return list(columns) if stays is None else [column.filter(stays) for column in columns]


def is_marked(columns: Sequence[pa.Array], values: Sequence[pa.ChunkedArray]) -> pa.Array:
    """True for rows that have, in all columns together, the values of one row of `values`; NULL is a value too.

    Values are told apart by their numbers among those that are marked, and then rows by the numbers of their values.
    """
    ours: Any = None
    theirs: Any = None
    for column, marked in zip(columns, values, strict=True):
        known = marked.unique()
        numbers = [pc.index_in(one, value_set=known).cast(pa.int64()) for one in (column, marked)]
        if ours is None:
            ours, theirs = numbers
            continue
        pairs = [
            pc.add(pc.multiply(one, pa.scalar(len(known), pa.int64())), more)
            for one, more in zip((ours, theirs), numbers, strict=True)
        ]
        present = pairs[1].unique()
        ours, theirs = (pc.index_in(one, value_set=present).cast(pa.int64()) for one in pairs)
    return ours.is_valid()
