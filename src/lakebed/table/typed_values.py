"""A value that a user gives for a column, in the column's type: text will do for a date or a number."""

import math

import pyarrow as pa

from lakebed.errors import ConfigError
from lakebed.schema.arrow import to_arrow
from lakebed.schema.types import Column, List, Map, Struct


def typed_value(column: Column, given: object) -> object:
    """The value as Python has it; None is NULL. Raises ConfigError where the column cannot hold it."""
    if given is None:
        return None
    if isinstance(column.type, List | Map | Struct):
        raise ConfigError(
            f"the column {column.name} is {column.type}", remedy="Choose rows by columns that hold single values."
        )
    kind = to_arrow(column.type)
    try:
        scalar = pa.scalar(given)
        typed = scalar.cast(kind)
        # Text is read as the column's type; any other value must survive the way there and back.
        exact = isinstance(given, str | float) or typed.cast(scalar.type) == scalar
        value: object = typed.as_py()
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _unfit(column, given) from error
    if not exact or (isinstance(value, float) and math.isnan(value)):
        raise _unfit(column, given)
    return value


def _unfit(column: Column, given: object) -> ConfigError:
    return ConfigError(
        f"the value {given!r} is none of the column {column.name}, which is {column.type}",
        remedy="Give a value of that type, or None for NULL.",
    )
