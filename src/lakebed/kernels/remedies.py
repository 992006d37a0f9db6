"""What to do about a value that was refused: advice that helps with that value, and none that cannot."""

import re
from decimal import Decimal

import pyarrow as pa

from lakebed.kernels.values import FULL_SCALE, decimal_digits

# What one decimal type can hold.
MOST_DIGITS = 38

_QUARANTINE = "load with --on-bad-value quarantine to keep such rows out of the table."
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_SEPARATED = re.compile(r"[+-]?[0-9]{1,3}([_', \u00a0\u202f][0-9]{3})+(\.[0-9]*)?|[+-]?[0-9]+(_[0-9]+)+")
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")


def remedy(value: str, wanted: pa.DataType) -> str:
    """What helps with this value in a column of this type."""
    if not pa.types.is_decimal(wanted):
        return f"Correct the file, or {_QUARANTINE}"
    text = value.strip()
    digits = decimal_digits(text)
    if digits is not None:
        if digits[0] <= wanted.precision - wanted.scale and digits[1] <= wanted.scale:
            return f"Write the number as {Decimal(text):f}, or {_QUARANTINE}"
        return _wider_decimals(*digits, wanted)
    if _NOT_FINITE.fullmatch(text):
        return f"{text} cannot be added up: leave the field empty where there is no value, or {_QUARANTINE}"
    if _SEPARATED.fullmatch(text):
        return f"Write the number without separators, as in {Decimal(re.sub('[^0-9.+-]', '', text))}, or {_QUARANTINE}"
    if _COMMA.fullmatch(text):
        return f"Write the number with a point before its decimals, as in {text.replace(',', '.')}, or {_QUARANTINE}"
    return f"Correct the file, or {_QUARANTINE}"


def _wider_decimals(whole: int, decimals: int, wanted: pa.DataType) -> str:
    """A decimal type that holds so many digits before and behind the point, where there is one."""
    scale = max(decimals, wanted.scale)
    # Values are read with all their decimals, so that sums are exact; a narrower type rounds only afterwards.
    if whole + max(scale, FULL_SCALE) <= MOST_DIGITS:
        return f"Load with --decimals {MOST_DIGITS},{scale}, which holds this number, or {_QUARANTINE}"
    most = MOST_DIGITS - FULL_SCALE
    if decimals <= FULL_SCALE:
        why = f"no setting of --decimals holds more than {most} digits before the point, and this number has {whole}"
    else:
        why = f"no decimal type holds the {whole + decimals} digits of this number"
    return f"Correct the file ({why}), or {_QUARANTINE}"
