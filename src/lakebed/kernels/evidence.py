"""What the values of a column have been seen to be: joined in any order, it is the same. Types are made of it later.

Nothing here guesses beyond what is exact: a number with leading zeros is text, and so is one that a decimal of the
wanted digits cannot hold.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.values import begins_too_early, decimal_digits, expectation, moment
from lakebed.model import Digits

BOOLEAN, NUMBER, DATE, TIME, MOMENT, TEXT, OBJECT, LIST = range(8)
_MOST_DIGITS = 38
_INT32, _INT64 = (1 << 31) - 1, (1 << 63) - 1
# Beyond it a text tells nobody what it is.
_EXAMPLE_LETTERS = 40

# `1e5` and `12E10` may be codes; with a point or a sign in them they are numbers.
_PLAIN = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)", re.ASCII)
_SCIENTIFIC = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)\.[0-9]+[eE][+-]?[0-9]{1,3}|(?:0|[1-9][0-9]*)[eE][+-][0-9]{1,3})", re.ASCII
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LOOKS_LIKE_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", re.ASCII)
_ZONED = re.compile(r".*(?:Z|[+-]\d\d(?::?\d\d)?)", re.ASCII)

# As many digits as an int64 surely holds.
_WHOLE_DIGITS = 18
_WHOLE_NUMBERS = rf"^-?(0|[1-9][0-9]{{0,{_WHOLE_DIGITS - 1}}})$"
_DAYS = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMES = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_MOMENTS = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$"


@dataclass
class Evidence:
    """All values of one column, or of what lies inside it.

    Of numbers it says how many bits their integers need (more than 64: none that there are), whether one has a
    fraction, and whether all fit the wanted decimal type. `declared` are the types that files say themselves.
    `example` is a value that made a column text.
    """

    kinds: set[int] = field(default_factory=set)
    bits: int = 0
    fraction: bool = False
    fits: bool = True
    fields: dict[str, "Evidence"] = field(default_factory=dict)
    element: "Evidence | None" = None
    declared: list[pa.DataType] = field(default_factory=list)
    example: str | None = None

    @property
    def seen(self) -> set[int]:
        """The kinds of all values. An object or a list of which nothing is known inside is no evidence of anything."""
        found = set(self.kinds)
        if any(inner.seen for inner in self.fields.values()):
            found.add(OBJECT)
        if self.element is not None and self.element.seen:
            found.add(LIST)
        return found

    @property
    def size(self) -> int:
        """How many columns and fields it is."""
        inside: list[Evidence] = [*self.fields.values(), *([self.element] if self.element is not None else ())]
        return 1 + sum(one.size for one in inside)

    @property
    def is_text(self) -> bool:
        """Nothing that comes can change it."""
        return TEXT in self.kinds

    def join(self, other: "Evidence") -> None:
        """Takes over what another part of the values was seen to be."""
        self.kinds |= other.kinds
        self.bits = max(self.bits, other.bits)
        self.fraction |= other.fraction
        self.fits &= other.fits
        for name, inner in other.fields.items():
            self.fields.setdefault(name, Evidence()).join(inner)
        if other.element is not None:
            self.element = self.element or Evidence()
            self.element.join(other.element)
        self.declared += [one for one in other.declared if one not in self.declared]
        if other.example is not None:
            self._exemplify(other.example)

    def see_number(self, text: str, digits: Digits) -> None:
        """A number in any notation."""
        counted = decimal_digits(text)
        if counted is None:
            self.see_plain_text(text)
            return
        whole, scale = counted
        fits = whole <= digits.whole and scale <= digits.scale
        # What is written with a point is no count of things, though its decimals may all be zero.
        fraction = not text.lstrip("-").isdigit()
        self.kinds.add(NUMBER)
        self.fraction |= fraction
        self.fits &= fits
        self.bits = max(self.bits, 32 if fraction else _bits(Decimal(text)))
        if not fits:
            self._exemplify(text)

    def see_plain_text(self, text: str) -> None:
        self.kinds.add(TEXT)
        self._exemplify(text)

    def see_text(self, text: str, digits: Digits) -> None:
        """A value of which nothing says what it is: a field of a CSV, or the value in a folder's name."""
        stripped = text.strip()
        if _PLAIN.fullmatch(stripped) or _SCIENTIFIC.fullmatch(stripped):
            self.see_number(stripped, digits)
        elif stripped.lower() in ("true", "false"):
            self.kinds.add(BOOLEAN)
        else:
            self.see_string(text)

    def see_string(self, text: str) -> None:
        """A value that is known to be text, and may be a date or a time."""
        stripped = text.strip()
        try:
            if _DAY.fullmatch(stripped):
                moment(stripped, None)
                self.kinds.add(DATE)
                return
            if _LOOKS_LIKE_TIME.fullmatch(stripped):
                moment(stripped, None)
                self.kinds.add(MOMENT if _ZONED.fullmatch(stripped[10:]) else TIME)
                return
        except ValueError:
            pass
        self.see_plain_text(text)

    def see_texts(self, values: pa.ChunkedArray, digits: Digits) -> None:
        """A column of text; NULL is no evidence. What all of it is at once is seen at once, the rest value by value."""
        if self.is_text or len(values) == values.null_count:
            return
        if self._see_whole_numbers(values, digits) or self._see_decimals(values, digits) or self._see_times(values):
            return
        for text in pc.unique(values).to_pylist():
            if text is not None:
                self.see_text(text, digits)
                if TEXT in self.kinds:
                    return

    def _see_whole_numbers(self, values: pa.ChunkedArray, digits: Digits) -> bool:
        if not _all_match(values, _WHOLE_NUMBERS):
            return False
        bounds = pc.min_max(values.cast(pa.int64())).as_py()
        for bound in bounds.values():
            self.see_number(str(bound), digits)
        return True

    def _see_decimals(self, values: pa.ChunkedArray, digits: Digits) -> bool:
        if digits.whole < 1 or digits.scale < 1:
            return False
        number = rf"^-?(0|[1-9][0-9]{{0,{digits.whole - 1}}})(\.[0-9]{{1,{digits.scale}}})?$"
        if not _all_match(values, number) or not pc.any(pc.match_substring(values, ".")).as_py():
            return False
        self.kinds.add(NUMBER)
        self.fraction = True
        self.bits = max(self.bits, 32)
        return True

    def _see_times(self, values: pa.ChunkedArray) -> bool:
        for pattern, kind, type_ in (
            (_DAYS, DATE, pa.date32()),
            (_TIMES, TIME, pa.timestamp("us")),
            (_MOMENTS, MOMENT, pa.timestamp("us", "UTC")),
        ):
            if _all_match(values, pattern):
                try:
                    if begins_too_early(values.cast(type_)):
                        return False
                except pa.ArrowInvalid:
                    return False
                self.kinds.add(kind)
                return True
        return False

    def see_json(self, value: object, digits: Digits) -> None:
        """A value of JSON, whose numbers are the text that they were written as."""
        if value is None:
            return
        if isinstance(value, JsonNumber):
            self.see_number(value, digits)
        elif isinstance(value, str):
            if not self.is_text:
                self.see_string(value)
        elif isinstance(value, bool):
            self.kinds.add(BOOLEAN)
        elif isinstance(value, dict):
            for name, inner in value.items():
                self.fields.setdefault(name, Evidence()).see_json(inner, digits)
        elif isinstance(value, list):
            self.element = self.element or Evidence()
            for inner in value:
                self.element.see_json(inner, digits)

    def see_json_values(self, values: Sequence[object], digits: Digits) -> None:
        """Many values of JSON: those of one kind are seen at once, with the same result as one by one."""
        kinds = set(map(type, values))
        kinds.discard(type(None))
        if kinds == {dict}:
            inside: dict[str, list[object]] = {}
            for value in values:
                for name, inner in value.items() if isinstance(value, dict) else ():
                    inside.setdefault(name, []).append(inner)
            for name, inners in inside.items():
                self.fields.setdefault(name, Evidence()).see_json_values(inners, digits)
        elif kinds == {list}:
            self.element = self.element or Evidence()
            elements = [inner for value in values if isinstance(value, list) for inner in value]
            self.element.see_json_values(elements, digits)
        elif kinds == {bool}:
            self.kinds.add(BOOLEAN)
        elif kinds != {str} or not self.is_text:
            texts = _texts(values) if kinds in ({str}, {JsonNumber}) else None
            seen = texts is not None and (
                self._see_json_numbers(texts, digits) if kinds == {JsonNumber} else self._see_times(texts)
            )
            if not seen:
                for value in values:
                    self.see_json(value, digits)

    def _see_json_numbers(self, values: pa.ChunkedArray, digits: Digits) -> bool:
        """Numbers of which every one fits, with and without a point."""
        if digits.whole < _WHOLE_DIGITS or digits.scale < 1:
            return False
        has_point = pc.fill_null(pc.match_substring(values, "."), False)
        pointed, whole = values.filter(has_point), values.filter(pc.invert(has_point))
        number = rf"^-?(0|[1-9][0-9]{{0,{_WHOLE_DIGITS - 1}}})\.[0-9]{{1,{digits.scale}}}$"
        if len(pointed) and not _all_match(pointed, number):
            return False
        if whole.null_count < len(whole) and not self._see_whole_numbers(whole, digits):
            return False
        if len(pointed):
            self.kinds.add(NUMBER)
            self.fraction = True
            self.bits = max(self.bits, 32)
        return True

    def _exemplify(self, text: str) -> None:
        shown = text[:_EXAMPLE_LETTERS]
        self.example = shown if self.example is None else min(self.example, shown)


_NUMBERS = (
    r"(-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)|-?(0|[1-9][0-9]*)\.[0-9]+[eE][+-]?[0-9]{1,3}"
    r"|-?(0|[1-9][0-9]*)[eE][+-][0-9]{1,3})"
)
_CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"


def strangers(texts: pa.ChunkedArray, wanted: pa.DataType) -> list[int]:
    """The rows of a text column that no inference would have taken for this type: codes, numbers for truth, and so on.

    A parser is more lenient: it reads 007 as 7, and takes a time without a zone for one in UTC.
    """
    pattern = _pattern(wanted)
    if pattern is None or len(texts) == texts.null_count:
        return []
    fits = pc.match_substring_regex(texts, rf"^\s*({pattern})\s*$")
    rows: list[int] = pc.indices_nonzero(pc.invert(pc.fill_null(fits, True))).to_pylist()
    return rows


def plain_writing(wanted: pa.DataType) -> str:
    """What messages say of a value that a parser could read and an inference would not."""
    if pa.types.is_integer(wanted) or pa.types.is_decimal(wanted) or pa.types.is_floating(wanted):
        return "plainly a number (with leading zeros, a + or as 1e5 it may be a code)"
    return expectation(wanted)


def _pattern(wanted: pa.DataType) -> str | None:
    if pa.types.is_integer(wanted):
        return r"-?(0|[1-9][0-9]*)"
    if pa.types.is_decimal(wanted) or pa.types.is_floating(wanted):
        return r"-?(0|[1-9][0-9]*)" if pa.types.is_decimal(wanted) and not wanted.scale else _NUMBERS
    if pa.types.is_boolean(wanted):
        return r"(?i:true|false)"
    if pa.types.is_date(wanted):
        return r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    if pa.types.is_timestamp(wanted):
        return _CLOCK + _ZONE if wanted.tz else rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{_CLOCK}"
    return None


def is_like(value: object, wanted: pa.DataType) -> bool:
    """The same for one value of JSON: what JSON writes as text is no number."""
    if pa.types.is_integer(wanted) or pa.types.is_decimal(wanted) or pa.types.is_floating(wanted):
        return isinstance(value, JsonNumber)
    if pa.types.is_boolean(wanted):
        return isinstance(value, bool)
    if pa.types.is_temporal(wanted):
        pattern = _compiled(wanted)
        return type(value) is str and (pattern is None or pattern.fullmatch(value.strip()) is not None)
    return True


@lru_cache(maxsize=256)
def _compiled(wanted: pa.DataType) -> re.Pattern[str] | None:
    pattern = _pattern(wanted)
    return None if pattern is None else re.compile(pattern, re.ASCII)


class JsonNumber(str):
    """A number of a JSON file, letter by letter."""

    __slots__ = ()


def join_columns(parts: Iterable[dict[str, Evidence]]) -> dict[str, Evidence]:
    """The columns of several files, in the order in which they first occur."""
    joined: dict[str, Evidence] = {}
    for part in parts:
        for name, evidence in part.items():
            joined.setdefault(name, Evidence()).join(evidence)
    return joined


def _texts(values: Sequence[object]) -> pa.ChunkedArray | None:
    """The values as a column of text; None where one cannot be written as UTF-8."""
    try:
        return pa.chunked_array([pa.array(values, pa.string())])
    except UnicodeEncodeError:
        return None


def _bits(number: Decimal) -> int:
    if abs(number) <= _INT32:
        return 32
    if abs(number) <= _INT64:
        return 64
    return 128 if number.adjusted() < _MOST_DIGITS else 256


def _all_match(values: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())
