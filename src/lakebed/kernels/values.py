"""Text to typed values, slowly and exactly: what the fast reader refuses comes here, one distinct value at a time."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Holds any sum of decimal(38) values, which the default of 28 digits would round; Inexact is a trap, not a guess.
EXACT = Context(prec=400, Emin=-100_000, Emax=100_000, traps=[InvalidOperation, DivisionByZero, Overflow, Inexact])

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Parsed:
    """The values of a column, NULL where the text did not parse; `bad` has the positions of those."""

    values: pa.Array
    bad: list[int]


def parse(texts: pa.Array, wanted: pa.DataType) -> Parsed:
    """Every text as a value of the wanted type. NULL stays NULL, and only NULL becomes NULL without being named bad."""
    one = _parser(wanted)
    encoded = pc.dictionary_encode(texts)
    good: list[Any] = []
    bad: list[bool] = []
    for text in encoded.dictionary.to_pylist():
        try:
            good.append(one(text))
            bad.append(False)
        except ValueError:
            good.append(None)
            bad.append(True)
    values = pa.array(good, type=wanted).take(encoded.indices)
    if not any(bad):
        return Parsed(values, [])
    marked = pc.fill_null(pa.array(bad).take(encoded.indices), False)
    return Parsed(values, pc.indices_nonzero(marked).to_pylist())


def expectation(wanted: pa.DataType) -> str:
    """What messages say a value should have been."""
    if pa.types.is_decimal(wanted):
        whole = wanted.precision - wanted.scale
        return f"a number of at most {whole} digits before the point and {wanted.scale} decimals"
    if pa.types.is_timestamp(wanted):
        return "a time like 2026-10-01T00:00:00Z"
    if pa.types.is_map(wanted):
        return "a JSON object"
    if is_text(wanted):
        return "UTF-8 text"
    return f"a value of type {wanted}"


def is_text(wanted: pa.DataType) -> bool:
    return bool(pa.types.is_string(wanted) or pa.types.is_large_string(wanted))


def decimal_from(text: str, wanted: pa.DataType) -> Decimal:
    """The number that the text writes, in any notation; ValueError unless the type holds it to the last digit."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise ValueError(text)
    number = Decimal(stripped)
    if not number:
        return Decimal(0)
    try:
        scaled = EXACT.quantize(number, Decimal((0, (1,), -wanted.scale)))
    except (Inexact, InvalidOperation) as error:
        raise ValueError(text) from error
    if scaled.adjusted() >= wanted.precision - wanted.scale:
        raise ValueError(text)
    return scaled


def _moment(text: str, wanted: pa.DataType) -> datetime:
    """The moment in UTC. A time without a zone is UTC already: billing data knows no other."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    fraction = found["fraction"] or ""
    if fraction[6:].strip("0"):
        raise ValueError(text)
    zone = found["zone"] or "Z"
    moment = datetime.fromisoformat(f"{found['day']}T{found['time'] or '00:00'}{'+00:00' if zone == 'Z' else zone}")
    moment = moment.replace(microsecond=int(fraction[:6].ljust(6, "0"))).astimezone(UTC)
    return moment if wanted.tz else moment.replace(tzinfo=None)


def _pairs(text: str) -> list[tuple[str, str | None]]:
    """The members of a JSON object; what is not text there is kept as its JSON."""
    try:
        found = json.loads(text, parse_float=str, parse_int=str)
    except RecursionError as error:
        raise ValueError(text) from error
    if not isinstance(found, dict):
        raise ValueError(text)
    return [
        (key, value if value is None or isinstance(value, str) else json.dumps(value)) for key, value in found.items()
    ]


def _parser(wanted: pa.DataType) -> Callable[[str | None], object]:
    if pa.types.is_decimal(wanted):
        return _unless_null(lambda text: decimal_from(text, wanted))
    if pa.types.is_timestamp(wanted):
        return _unless_null(lambda text: _moment(text, wanted))
    if pa.types.is_map(wanted):
        return _unless_null(_pairs)
    return _unless_null(lambda text: pa.scalar(text).cast(wanted).as_py())


def _unless_null(one: Callable[[str], object]) -> Callable[[str | None], object]:
    return lambda text: None if text is None else one(text)
