"""AWS's words for types in ours, and the types of columns whose manifest has none."""

import re

import pyarrow as pa

from lakebed.errors import ConfigError
from lakebed.schema.arrow import from_arrow
from lakebed.schema.names import normalize_column_name
from lakebed.schema.types import Boolean, DataType, Date, Decimal, Float, Integer, Map, Null, Text, Timestamp
from lakebed.source.billing_dictionary import KNOWN_DATETIMES, KNOWN_DECIMALS, KNOWN_MAPS, KNOWN_NUMBER_MAPS

DEFAULT_DECIMALS = "38,18"
DATETIME = Timestamp("us")
TEXT_MAP = Map(Text(), Text())
NUMBER_MAP = Map(Text(), Float(64))

_DECIMAL_TYPES = frozenset({"BigDecimal", "OptionalBigDecimal"})
_DECIMALS_SETTING = re.compile(r"\s*(\d{1,2})\s*,\s*(\d{1,2})\s*")


def parse_decimals(setting: str) -> Decimal:
    """The `decimals` setting, `38,18` or the specification's `18,2`, as a type."""
    found = _DECIMALS_SETTING.fullmatch(setting)
    precision, scale = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (1 <= precision <= 38 and scale <= precision):
        raise ConfigError(
            f"decimals = {setting!r} is not a precision and a scale",
            remedy="Write precision,scale with a precision of at most 38, such as 38,18.",
        )
    return Decimal(precision, scale)


def column_type(original: str, declared_type: str | None = None, *, decimals: str = DEFAULT_DECIMALS) -> DataType:
    """Our type for a billing column: the manifest's where it declares one, else what is known of the column, else text.

    Columns of the category resourceTags are text whatever is declared.
    """
    category, slash, _ = original.partition("/")
    if slash and category == "resourceTags":
        return Text()
    known = known_type(original, decimals=decimals)
    if not slash and isinstance(known, Map):
        # Whatever a manifest calls them, these are objects.
        return known
    if declared_type is None:
        return known or Text()
    if declared_type in _DECIMAL_TYPES:
        return parse_decimals(decimals)
    if declared_type == "DateTime":
        return DATETIME
    if not slash and declared_type == "null":
        # A Parquet file that holds nothing but NULL in the column: its type is not known.
        return known or Null()
    return Text() if slash else _export_type(declared_type, decimals)


def known_type(original: str, *, decimals: str = DEFAULT_DECIMALS) -> DataType | None:
    """What is known of a billing column by its name alone, in whichever format it is written; None where nothing is."""
    for name in (normalize_column_name(original, "spec"), normalize_column_name(original, "athena")):
        if name in KNOWN_DECIMALS:
            return parse_decimals(decimals)
        if name in KNOWN_DATETIMES:
            return DATETIME
        if name in KNOWN_MAPS and "/" not in original:
            return NUMBER_MAP if name in KNOWN_NUMBER_MAPS else TEXT_MAP
    return None


def nested_type(original: str, nested: pa.DataType) -> DataType:
    """Our type for a struct, list or map of a Parquet file: as it is there, but for a map that is known to be one."""
    type_ = from_arrow(nested, column=original)
    known = known_type(original)
    return known if isinstance(known, Map) and isinstance(type_, Map) and known == NUMBER_MAP else type_


def _export_type(declared: str, decimals: str) -> DataType:
    """The words of Data Exports and of Parquet files, where money is a double: it becomes a decimal by its text."""
    word = re.split(r"[(\[<]", declared.strip().lower(), maxsplit=1)[0]
    match word:
        case "double" | "float" | "decimal" | "decimal128":
            return parse_decimals(decimals)
        case "timestamp" | "datetime":
            return DATETIME
        case "map":
            return TEXT_MAP
        case "bigint" | "long" | "int64" | "int" | "integer" | "int32":
            return Integer(64)
        case "boolean" | "bool":
            return Boolean()
        case "date" | "date32":
            return Date()
        case _:
            return Text()
