"""The rows of a slice as a condition in SQL."""

from lakebed.model import AnySlice
from lakebed.schema.duckdb import quote_identifier


def where(slice_: AnySlice | None) -> tuple[str, list[object]]:
    """The WHERE clause and its values; nothing without a slice, or for one that is every row."""
    if slice_ is None or not slice_.values:
        return "", []
    conditions = " AND ".join(f"{quote_identifier(column)} {_is(value)}" for column, value in slice_.values.items())
    given = [sorted(value) if isinstance(value, frozenset) else value for value in slice_.values.values()]
    return f" WHERE {conditions}", [value for value in given if value is not None]


def _is(value: object) -> str:
    if isinstance(value, frozenset):
        return "IN (SELECT unnest(?))"
    return "IS NULL" if value is None else "= ?"
