"""Text to typed values: at the speed of pyarrow's casts where they can be trusted, else exactly, by distinct value."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, Inexact
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.model import EXACT as EXACT

# Exports of databases, FOCUS's own sample among them, write this word for no value. In text it may be a value.
NULL_WORD = "NULL"

# The first of January of the year 1, in days since 1970.
_FIRST_DAY = -719162

# Sums and refusals are made at this scale, whatever narrower one the table has.
FULL_SCALE = 18

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class ParsedColumn:
    """The values of a column, NULL where the text did not parse; `bad` has the positions of those.

    `null_words` counts the texts that say NULL themselves.
    """

    values: pa.ChunkedArray
    bad: list[int]
    null_words: int = 0


def typed(read: pa.ChunkedArray, wanted: pa.DataType) -> ParsedColumn:
    """A column of text, or of bytes where some are not UTF-8, as the wanted type. NULL stays NULL."""
    if pa.types.is_binary(read.type):
        texts, undecodable = _decoded(read)
        parsed = typed(texts, wanted)
        return replace(parsed, bad=sorted({*undecodable, *parsed.bad})) if undecodable else parsed
    fast = _cast(read, wanted)
    return parse(read, wanted) if fast is None else ParsedColumn(fast, [])


def exact_type(wanted: pa.DataType, *, rounds: bool = True) -> pa.DataType:
    """The type in which values are read: decimals with all their digits, before any rounding."""
    if rounds and pa.types.is_decimal(wanted):
        return pa.decimal128(38, max(FULL_SCALE, wanted.scale))
    return wanted


def checked(
    parsed: ParsedColumn, wanted: pa.DataType, *, rounds: bool = True
) -> tuple[pa.ChunkedArray, dict[int, str]]:
    """The values, and for each row that is bad what was expected: of its exact type, or of the table's narrower one."""
    faults = {row: expectation(exact_type(wanted, rounds=rounds)) for row in parsed.bad}
    if rounds and pa.types.is_decimal(wanted):
        faults |= {row: expectation(wanted) for row in too_large(parsed.values, wanted)}
    return parsed.values, faults


def too_large(values: pa.ChunkedArray, wanted: pa.DataType) -> list[int]:
    """The rows of a decimal column that the wanted decimal type cannot hold, even rounded to its scale."""
    whole = wanted.precision - wanted.scale
    if holds(values, whole - 1):
        return []
    limit = EXACT.subtract(Decimal(10) ** whole, Decimal((0, (5,), -wanted.scale - 1)))
    beyond = pc.greater_equal(pc.abs(values).cast(pa.decimal256(76, 38)), pa.scalar(limit, pa.decimal256(76, 38)))
    rows: list[int] = pc.indices_nonzero(pc.fill_null(beyond, False)).to_pylist()
    return rows


def holds(values: pa.ChunkedArray, whole: int) -> bool:
    """No value has more than `whole` digits before the point.

    pyarrow 26 does not notice when a cast to a larger scale wraps around: whoever casts decimals asks this first.
    """
    bounds = pc.min_max(values).as_py()
    return bounds["max"] is None or max(-bounds["min"], bounds["max"]).adjusted() < whole


def _cast(texts: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray | None:
    """pyarrow's own cast, or None where it fails or cannot be trusted."""
    if texts.type == wanted:
        return texts
    if pa.types.is_nested(wanted) or (pa.types.is_decimal(wanted) and not _castable(texts, wanted)):
        return None
    # pyarrow wants to know beforehand whether times have a zone.
    steps = [pa.timestamp(wanted.unit, "UTC"), wanted] if pa.types.is_timestamp(wanted) else [wanted]
    for step in steps:
        try:
            found = texts.cast(step).cast(wanted)
        except pa.ArrowInvalid:
            continue
        return None if begins_too_early(found) else found
    return None


def begins_too_early(values: pa.ChunkedArray) -> bool:
    """A day or a time lies before the year 1: Arrow knows such years, Python, which reads single values, does not."""
    if not pa.types.is_date(values.type) and not pa.types.is_timestamp(values.type):
        return False
    first = pc.min(values)
    return bool(first.is_valid and first.cast(pa.date32(), safe=False).value < _FIRST_DAY)


def _castable(texts: pa.ChunkedArray, wanted: pa.DataType) -> bool:
    """No text writes a number too large for the type: pyarrow 26 lets some wrap around (4E+20 becomes 5.97E+19).

    A text of no more letters than the type has whole digits cannot, unless it has a positive exponent.
    """
    whole = wanted.precision - wanted.scale
    longest = pc.max(pc.binary_length(texts)).as_py()
    if longest is None:
        return True
    if longest <= whole and not any(_grows(chunk.buffers()[2]) for chunk in texts.chunks):
        return True
    plain = rf"^[+-]?[0-9]{{0,{whole}}}(\.[0-9]*)?([eE]-[0-9]{{1,3}})?$"
    return bool(pc.all(pc.match_substring_regex(texts, plain)).as_py())


def _grows(data: pa.Buffer | None) -> bool:
    """The texts in this buffer have an exponent that is not negative."""
    if data is None:
        return False
    letters = data.to_pybytes()
    return any(letter in letters and letters.count(letter) != letters.count(letter + b"-") for letter in (b"E", b"e"))


def _decoded(read: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[int]]:
    """The bytes as text, NULL and named where they are not UTF-8. An empty value is NULL here too."""
    texts: list[str | None] = []
    undecodable: list[int] = []
    for row, value in enumerate(read.to_pylist()):
        try:
            texts.append(value.decode("utf-8") if value else None)
        except UnicodeDecodeError:
            texts.append(None)
            undecodable.append(row)
    return pa.chunked_array([pa.array(texts, pa.string())]), undecodable


def parse(texts: pa.ChunkedArray, wanted: pa.DataType) -> ParsedColumn:
    """Every text as a value of the wanted type, slowly; only what is named bad becomes NULL."""
    one = parser(wanted)
    encoded = pc.dictionary_encode(texts.combine_chunks())
    good: list[Any] = []
    bad: list[bool] = []
    for text in encoded.dictionary.to_pylist():
        try:
            good.append(one(text))
            bad.append(False)
        except ValueError:
            good.append(None)
            bad.append(True)
    values = pa.chunked_array([pa.array(good, type=wanted).take(encoded.indices)])
    null_words = int(pc.sum(pc.equal(texts, NULL_WORD)).as_py() or 0)
    if not any(bad):
        return ParsedColumn(values, [], null_words)
    marked = pc.fill_null(pa.array(bad).take(encoded.indices), False)
    return ParsedColumn(values, pc.indices_nonzero(marked).to_pylist(), null_words)


def expectation(wanted: pa.DataType) -> str:
    """What messages say a value should have been."""
    if pa.types.is_decimal(wanted):
        whole = wanted.precision - wanted.scale
        return f"a number of at most {whole} digits before the point and {wanted.scale} decimals"
    if pa.types.is_timestamp(wanted):
        return "a time like 2026-10-01T00:00:00Z"
    if pa.types.is_map(wanted):
        return "a JSON object" if is_text(wanted.item_type) else "a JSON object of numbers"
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
    except Inexact as error:
        raise ValueError(text) from error
    if scaled.is_nan() or scaled.adjusted() >= wanted.precision - wanted.scale:
        raise ValueError(text)
    return scaled


def decimal_digits(text: str) -> tuple[int, int] | None:
    """How many digits the number that the text writes has before and behind the point; None where it writes none."""
    if not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if not number:
        return 0, 0
    # Zeros at the end of the decimals need no place, zeros before the point do. Any context would have too few digits
    # for some text.
    written = "".join(map(str, number.as_tuple().digits))
    zeros = len(written) - len(written.rstrip("0"))
    return max(0, number.adjusted() + 1), max(0, -int(number.as_tuple().exponent) - zeros)


def moment(text: str, zone: str | None) -> datetime:
    """The moment in UTC. A time without a zone is UTC already: billing data knows no other."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    fraction = found["fraction"] or ""
    if fraction[6:].strip("0"):
        raise ValueError(text)
    offset = found["zone"] or "Z"
    try:
        at = datetime.fromisoformat(f"{found['day']}T{found['time'] or '00:00'}{'+00:00' if offset == 'Z' else offset}")
        at = at.replace(microsecond=int(fraction[:6].ljust(6, "0"))).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error
    return at if zone else at.replace(tzinfo=None)


def _pairs(text: str) -> list[tuple[str, str | None]]:
    """The members of a JSON object; what is not text there is kept as its JSON."""
    try:
        found = json.loads(text, parse_float=str, parse_int=str)
        if not isinstance(found, dict):
            raise ValueError(text)
        return [
            (key, value if value is None or isinstance(value, str) else json.dumps(value))
            for key, value in found.items()
        ]
    except RecursionError as error:
        raise ValueError(text) from error


def _valued_pairs(text: str, value: Callable[[str | None], object]) -> list[tuple[str, object]]:
    return [(key, value(part)) for key, part in _pairs(text)]


def _finite(text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text)


def _refuse(text: str) -> object:
    """No text is a struct or a list."""
    raise ValueError(text)


def parser(wanted: pa.DataType) -> Callable[[str | None], object]:
    """What reads one text as a value of the type, or raises ValueError."""
    if pa.types.is_decimal(wanted):
        return _unless_null(lambda text: decimal_from(text, wanted))
    if pa.types.is_timestamp(wanted):
        return _unless_null(lambda text: moment(text, wanted.tz))
    if pa.types.is_map(wanted):
        item = parser(wanted.item_type)
        return _unless_null(_pairs if is_text(wanted.item_type) else lambda text: _valued_pairs(text, item))
    if pa.types.is_nested(wanted):
        return _unless_null(_refuse)
    if pa.types.is_floating(wanted):
        return _unless_null(_finite)
    if is_text(wanted):
        return lambda text: text
    return _unless_null(lambda text: _cast_one(text.strip(), wanted))


def _cast_one(text: str, wanted: pa.DataType) -> object:
    try:
        return pa.scalar(text).cast(wanted).as_py()
    except OverflowError as error:  # a year that Python does not know
        raise ValueError(text) from error


def _unless_null(one: Callable[[str], object]) -> Callable[[str | None], object]:
    return lambda text: None if text is None or text == NULL_WORD else one(text)
