"""How a table keeps the originals of a column in the one text that its format has for them.

That text is the original itself, as it always was. Where a column has several, or where the one looks like such a list,
it is a JSON list, the first decided first.
"""

import json

from lakebed.schema.types import Column


def originals_text(column: Column) -> str | None:
    """What the table keeps: an Iceberg field's doc, a DuckDB column's comment, the metadata of a Parquet field."""
    if column.original is None:
        return None
    if not column.aliases and _listed(column.original) is None:
        return column.original
    return json.dumps([column.original, *column.aliases], ensure_ascii=False)


def read_originals(text: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The original and its aliases."""
    listed = None if text is None else _listed(text)
    return (text, ()) if listed is None else (listed[0], tuple(listed[1:]))


def _listed(text: str) -> list[str] | None:
    if not text.startswith('["'):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None
