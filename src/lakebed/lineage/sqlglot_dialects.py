"""sqlglot's dialects, each made once: rules without state, which all analyses share."""

from functools import cache

from sqlglot.dialects.dialect import Dialect


@cache
def sqlglot_dialect(name: str) -> Dialect:
    """What sqlglot knows of a dialect; an empty name is its own."""
    return Dialect.get_or_raise(name or None)
