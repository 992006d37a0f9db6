"""The schema of many Parquet files as one, by name."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from lakebed.errors import AmbiguousColumnCase, SchemaIncompatible
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.types import Column, Schema, Text, fold
from lakebed.schema.widen import Mismatch, widen
from lakebed.targets.shared.footers import Footer


def union_schema(footers: Sequence[Footer], partition_by: Sequence[str]) -> Schema:
    """The columns of all files, in the order of the widest, then those of the path.

    A column that a file lacks is NULL there. Types that files disagree on are widened; where none holds both,
    SchemaIncompatible names a file. The path's value wins over a column of the same name inside a file.
    """
    in_path = {fold(name) for name in partition_by}
    found: dict[str, Column] = {}
    examples = _distinct(footers)
    for schema, uri in examples:
        here = {fold(column.name): column for column in from_arrow_schema(schema)}
        if len(here) < len(schema.names):
            from_arrow_schema(schema).require_unambiguous(side=f"file {uri}")
        for key, column in here.items():
            if key not in in_path:
                found[key] = _joined(found[key], column, uri) if key in found else column
    everywhere = set.intersection(*({fold(name) for name in schema.names} for schema, _ in examples))
    columns = (column if key in everywhere else replace(column, nullable=True) for key, column in found.items())
    return Schema.of([*columns, *(Column(name, Text()) for name in partition_by)])


def _distinct(footers: Sequence[Footer]) -> list[tuple[pa.Schema, str]]:
    by_identity: dict[int, tuple[pa.Schema, str]] = {}
    for footer in footers:
        by_identity.setdefault(id(footer.schema), (footer.schema, footer.file.uri))
    # Tables only grow, so the widest schema is the newest and has the columns in the order of their arrival.
    return sorted(by_identity.values(), key=lambda example: -len(example[0].names))


def _joined(known: Column, other: Column, uri: str) -> Column:
    if known.name != other.name:
        raise AmbiguousColumnCase(side="target", names=(known.name, other.name))
    type_ = widen(known.type, other.type)
    if isinstance(type_, Mismatch):
        raise SchemaIncompatible(
            column=known.name,
            current=str(known.type),
            incoming=str(other.type),
            reason=f"{uri}: {type_.reason}",
            remedy="The files of one dataset must agree. Rewrite those that do not.",
        )
    original = known.original or other.original
    aliases = tuple(alias for alias in dict.fromkeys((*known.aliases, *other.aliases)) if alias != original)
    return Column(known.name, type_, known.nullable or other.nullable, original, aliases)
