"""The rows of a slice as a condition in SQL."""

from lakebed.model import Slice
from lakebed.schema.duckdb import quote_identifier


def where(slice_: Slice | None) -> tuple[str, list[str]]:
    """The WHERE clause and its values; nothing without a slice."""
    if slice_ is None:
        return "", []
    conditions = " AND ".join(f"{quote_identifier(column)} = ?" for column in slice_.values)
    return f" WHERE {conditions}", list(slice_.values.values())
