"""JSON files to rows: an object on each line, one after the other, or in a list. Every number is kept as written."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import IO, Any

import pyarrow as pa

from lakebed.errors import SourceError, UnplannedColumns
from lakebed.kernels.csv import Batch, RejectedRows
from lakebed.kernels.evidence import JsonNumber, is_like, strangers
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits, json_depth
from lakebed.kernels.values import ParsedColumn, checked, exact_type, expectation, is_text, parser, typed
from lakebed.model import RejectedValue

_CHUNK_BYTES = 4 << 20
_ROWS_AT_ONCE = 8192
_BLANKS = " \t\r\n"
_TOO_DEEP = "it is nested too deeply"
_AN_OBJECT = "a JSON object, of which each key is a column"

Row = dict[str, Any]


@dataclass
class JsonRows:
    """Some rows of a file with their lines, and what is no row."""

    lines: list[int]
    rows: list[Row]
    rejected: list[RejectedValue]


def read_json(stream: IO[bytes], *, key: str, limits: Limits = DEFAULT_LIMITS) -> Iterator[JsonRows]:
    """The rows of a stream. A line that is no JSON is rejected; where rows are not lines, it is SourceError."""
    text = _Text(stream, key, limits)
    found = JsonRows([], [], [])
    for line, value, wrong in text.values():
        if wrong is None and isinstance(value, dict):
            found.lines.append(line)
            found.rows.append(value)
        else:
            shown = wrong[0] if wrong is not None else _printable(as_text(value)) or "null"
            said = _AN_OBJECT if wrong is None else f"{_AN_OBJECT}: {wrong[1]}"
            found.rejected.append(RejectedValue(key, line, "", shown[:500], said))
        if len(found.lines) + len(found.rejected) >= _ROWS_AT_ONCE:
            yield found
            found = JsonRows([], [], [])
    yield found


class _Text:
    """The values of a text, each with the line on which it begins."""

    def __init__(self, stream: IO[bytes], key: str, limits: Limits) -> None:
        self._stream = stream
        self._key = key
        self._limits = limits
        self._line = 1
        self._rest = b""
        self._buffer = ""
        self._ended = False
        self._decoder = json.JSONDecoder(
            parse_float=JsonNumber, parse_int=JsonNumber, parse_constant=_no_constant, object_pairs_hook=_object
        )

    def values(self) -> Iterator[tuple[int, Any, tuple[str, str] | None]]:
        while not self._ended and not self._buffer.strip("\ufeff" + _BLANKS):
            self._fill()
        begin = self._buffer.lstrip("\ufeff" + _BLANKS)
        self._line += self._buffer[: len(self._buffer) - len(begin)].count("\n")
        self._buffer = begin
        if not begin:
            return
        yield from self._lines() if self._has_lines() else self._sequence()

    def _has_lines(self) -> bool:
        """The first line is a value, or the next one begins an object of its own."""
        if self._buffer.startswith("["):
            return False
        while "\n" not in self._buffer and not self._ended and len(self._buffer) <= self._limits.line_bytes:
            self._fill()
        first, _, more = self._buffer.partition("\n")
        try:
            self._decoder.decode(first)
        except (ValueError, RecursionError):
            return more.startswith("{")
        return True

    def _lines(self) -> Iterator[tuple[int, Any, tuple[str, str] | None]]:
        while True:
            whole, newline, self._buffer = self._buffer.rpartition("\n")
            if self._ended and self._buffer:
                whole, self._buffer = whole + newline + self._buffer, ""
            for line in whole.split("\n") if newline or whole else ():
                number, self._line = self._line, self._line + 1
                if not line or line.isspace():
                    continue
                if self._is_too_deep(line):
                    yield number, None, (line, _TOO_DEEP)
                    continue
                try:
                    yield number, self._decoder.decode(line), None
                except (ValueError, RecursionError) as error:
                    yield number, None, (line, _said(error))
            if self._ended:
                return
            if len(self._buffer) > self._limits.line_bytes:
                raise SourceError(
                    f"{self._key}, line {self._line}: no line ends within {self._limits.line_bytes} bytes",
                    remedy=self._limits.remedy("line_bytes"),
                )
            self._fill()

    def _sequence(self) -> Iterator[tuple[int, Any, tuple[str, str] | None]]:
        """Values one after the other, or inside of one list, with any space between them."""
        inside = self._buffer.startswith("[")
        place = 1 if inside else 0
        first = True
        while True:
            place = self._skip(place)
            if place == len(self._buffer):
                if inside:
                    raise self._broken("the list is not closed")
                return
            mark = self._buffer[place]
            if inside and mark == "]":
                place = self._skip(place + 1)
                if place < len(self._buffer):
                    raise self._broken("something follows the list")
                return
            if inside and not first:
                if mark != ",":
                    raise self._broken("a comma is missing between two values")
                place = self._skip(place + 1)
            line = self._line
            value, place = self._decode(place)
            first = False
            yield line, value, None

    def _skip(self, place: int) -> int:
        """The place of the next letter that is no blank; lines are counted on the way."""
        while True:
            while place < len(self._buffer) and self._buffer[place] in _BLANKS:
                self._line += self._buffer[place] == "\n"
                place += 1
            if place < len(self._buffer) or self._ended:
                return place
            self._buffer = ""
            self._fill()
            place = 0

    def _decode(self, place: int) -> tuple[Any, int]:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, place)
                # A number may go on behind what was read.
                if end < len(self._buffer) or self._ended:
                    if self._is_too_deep(self._buffer[place:end]):
                        raise self._broken(_TOO_DEEP)
                    self._line += self._buffer.count("\n", place, end)
                    self._buffer = self._buffer[end:]
                    return value, 0
                error: Exception | None = None
            except (ValueError, RecursionError) as raised:
                error = raised
            if len(self._buffer) - place > self._limits.line_bytes:
                raise SourceError(
                    f"{self._key}, line {self._line}: no value ends within {self._limits.line_bytes} bytes"
                    f"{': ' + _said(error) if error else ''}",
                    remedy=self._limits.remedy("line_bytes"),
                )
            if self._ended:
                raise self._broken(_said(error) if error else "it ends too early")
            self._buffer, place = self._buffer[place:], 0
            self._fill(max(_CHUNK_BYTES, len(self._buffer)))

    def _is_too_deep(self, text: str) -> bool:
        """What is nested deeper than the limit: whoever walks through it would have to hold too much at once."""
        limit = self._limits.json_depth
        return text.count("[") + text.count("{") > limit and json_depth(text) > limit

    def _broken(self, said: str) -> SourceError:
        return SourceError(
            f"{self._key}, line {self._line}: not JSON: {said}",
            remedy="Mend or copy the file again. Of JSON with an object on each line, one bad line can be set aside.",
        )

    def _fill(self, size: int = _CHUNK_BYTES) -> None:
        data = self._stream.read(size)
        self._ended = not data
        data = self._rest + data
        try:
            self._buffer += data.decode("utf-8")
            self._rest = b""
        except UnicodeDecodeError as error:
            # A letter may be cut in two.
            if self._ended or error.start < len(data) - 3:
                line = self._line + self._buffer.count("\n") + data.count(b"\n", 0, error.start)
                raise SourceError(
                    f"{self._key}, line {line}: not UTF-8: {error.reason}",
                    remedy="Say what it is written in, as in --encoding latin-1, or copy the file again.",
                ) from error
            self._buffer += data[: error.start].decode("utf-8")
            self._rest = data[error.start :]


def _object(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} comes twice in one object")
    return row


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is no value of JSON")


def _said(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at letter {error.colno}"
    return _TOO_DEEP if isinstance(error, RecursionError) else str(error)


def as_text(value: object) -> str | None:
    """A value as a column of text holds it: text as it is, all else as JSON, every number as it was written."""
    if value is None or isinstance(value, str):
        return value if value is None else str(value)
    return _dumped(value)


def _dumped(value: object) -> str:
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {_dumped(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dumped, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


class JsonBatches:
    """Rows of one file as batches of the table's types."""

    def __init__(
        self,
        stream: IO[bytes],
        *,
        key: str,
        columns: Sequence[tuple[str, str]],
        types: Mapping[str, pa.DataType],
        limits: Limits = DEFAULT_LIMITS,
        rounds: bool = True,
        inferred: Collection[str] = (),
    ) -> None:
        self._stream = stream
        self._key = key
        self._columns = columns
        self._types = types
        self._limits = limits
        self._rounds = rounds
        self._inferred = frozenset(inferred)
        self.seen: set[str] = set()
        self.null_words: Counter[str] = Counter()
        self.nothings: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Batch]:
        for part in read_json(self._stream, key=self._key, limits=self._limits):
            present = {name for row in part.rows for name in row}
            self.seen |= present
            self._require_planned(present)
            yield self._batch(part, [pair for pair in self._columns if pair[0] in present])

    def _require_planned(self, present: set[str]) -> None:
        planned = {original for original, _ in self._columns}
        if unknown := [name for name in present if name not in planned]:
            raise UnplannedColumns(file=self._key, names=sorted(unknown))

    def _batch(self, part: JsonRows, columns: Sequence[tuple[str, str]]) -> Batch:
        values: list[pa.ChunkedArray] = []
        bad: dict[int, RejectedValue] = {}
        for original, name in columns:
            given = [row.get(original) for row in part.rows]
            wanted = self._types[name]
            exact = exact_type(wanted, rounds=self._rounds)
            alike = parse_alike(given, exact)
            parsed = _parsed(given, exact) if alike is None else alike
            self.null_words[original] += parsed.null_words
            found, faults = checked(parsed, wanted, rounds=self._rounds)
            if alike is None and name in self._inferred and not pa.types.is_nested(wanted):
                faults |= {
                    row: expectation(wanted)
                    for row, value in enumerate(given)
                    if not holds_nothing(value) and not is_like(value, wanted)
                }
            if alike is None and not pa.types.is_nested(wanted):
                self.nothings[original] += sum(isinstance(one, dict | list) and holds_nothing(one) for one in given)
            values.append(found)
            for row, expected in faults.items():
                shown = _printable(as_text(given[row])) or ""
                bad.setdefault(row, RejectedValue(self._key, part.lines[row], original, shown, expected))
        names = [name for _, name in columns]
        rows = pa.table(values, names=names) if names else pa.table({"": pa.nulls(len(part.rows))})
        if not bad and not part.rejected:
            return Batch(rows, None)
        aside = sorted(bad)
        texts = [
            {name: _printable(as_text(part.rows[row].get(original))) for original, name in columns} for row in aside
        ]
        schema = pa.schema([(name, pa.string()) for name in names])
        reasons = [*(bad[row] for row in aside), *part.rejected]
        kept = pa.Table.from_pylist([*texts, *({} for _ in part.rejected)], schema=schema)
        good = rows.filter(pa.array([row not in bad for row in range(rows.num_rows)], pa.bool_())) if bad else rows
        return Batch(good, RejectedRows(kept, reasons))


def parse_alike(values: Sequence[Any], wanted: pa.DataType) -> ParsedColumn | None:
    """The column, where all its values are of the kind that JSON writes this type as; None where each is looked at.

    So nothing in it is like another type, and nothing is an object or a list that holds nothing.
    """
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if kinds == {bool} and pa.types.is_boolean(wanted):
        return ParsedColumn(pa.chunked_array([pa.array(values, pa.bool_())]), [])
    is_number = pa.types.is_integer(wanted) or pa.types.is_decimal(wanted) or pa.types.is_floating(wanted)
    if kinds != {JsonNumber if is_number else str} or not (
        is_number or is_text(wanted) or pa.types.is_temporal(wanted)
    ):
        return None
    try:
        texts = pa.chunked_array([pa.array(values, pa.string())])
    except UnicodeEncodeError:
        return None
    return typed(texts, wanted) if not strangers(texts, wanted) else None


def _parsed(values: Sequence[Any], wanted: pa.DataType) -> ParsedColumn:
    if not pa.types.is_nested(wanted):
        texts = [None if holds_nothing(value) else as_text(value) for value in values]
        bad: list[int] = []
        try:
            column = pa.array(texts, pa.string())
        except UnicodeEncodeError:
            bad = [row for row, text in enumerate(texts) if text is not None and not _is_encodable(text)]
            column = pa.array([None if row in bad else text for row, text in enumerate(texts)], pa.string())
        parsed = typed(pa.chunked_array([column]), wanted)
        return ParsedColumn(parsed.values, sorted({*parsed.bad, *bad}), parsed.null_words)
    fit = _fitter(wanted)
    good: list[Any] = []
    wrong: list[int] = []
    for row, value in enumerate(values):
        try:
            good.append(fit(value))
        except ValueError:
            good.append(None)
            wrong.append(row)
    return ParsedColumn(pa.chunked_array([pa.array(good, wanted)]), wrong)


def _printable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode()


def _is_encodable(text: str) -> bool:
    """Half a pair of surrogates, which JSON can write, is no text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fitter(wanted: pa.DataType) -> Any:
    """What makes a value of a nested type of one of JSON, or raises ValueError where it would lose something."""
    if pa.types.is_struct(wanted):
        inside = {one.name: _fitter(one.type) for one in wanted}
        folded = {name.casefold(): name for name in inside}
        return lambda value: _struct(value, inside, folded)
    if pa.types.is_list(wanted):
        element = _fitter(wanted.value_type)
        return lambda value: None if _is_absent(value, list) else [element(one) for one in _of(value, list)]
    if pa.types.is_map(wanted):
        item = _fitter(wanted.item_type)
        return lambda value: None if _is_absent(value, dict) else [(k, item(v)) for k, v in _of(value, dict).items()]
    read = _reader(wanted)

    def scalar(value: object) -> object:
        if value is None or holds_nothing(value):
            return None
        if not is_like(value, wanted):
            raise ValueError(expectation(wanted))
        return read(value)

    return scalar


def _reader(wanted: pa.DataType) -> Callable[[Any], object]:
    """What makes a value of the type of one of JSON that is like it: as `parser`, without asking pyarrow each time."""
    if pa.types.is_boolean(wanted):
        return lambda value: value
    if pa.types.is_integer(wanted):
        most = 1 << (wanted.bit_width - (1 if pa.types.is_signed_integer(wanted) else 0))
        least = -most if pa.types.is_signed_integer(wanted) else 0
        return lambda text: _within(int(text), least, most)
    if pa.types.is_date32(wanted):
        return lambda text: date.fromisoformat(text.strip())
    if is_text(wanted):
        return _encodable
    return parser(wanted)


def _within(number: int, least: int, most: int) -> int:
    if not least <= number < most:
        raise ValueError(number)
    return number


def _encodable(value: object) -> str | None:
    text = as_text(value)
    if text is not None and not text.isascii() and not _is_encodable(text):
        raise ValueError(text)
    return text


def _struct(value: object, inside: Mapping[str, Any], folded: Mapping[str, str]) -> dict[str, Any] | None:
    if _is_absent(value, dict):
        return None
    fitted: dict[str, Any] = {}
    for name, one in _of(value, dict).items():
        own = folded.get(name.casefold())
        if own is None and holds_nothing(one):
            continue  # it waits for its first value
        if own is None or own in fitted:
            raise ValueError(f"the field {name} has no place")
        fitted[own] = inside[own](one)
    return fitted


def holds_nothing(value: object) -> bool:
    """NULL, and lists and objects of nothing else: what no type can be told from."""
    if isinstance(value, dict):
        return all(map(holds_nothing, value.values()))
    return value is None or (isinstance(value, list) and all(map(holds_nothing, value)))


def _is_absent(value: object, kind: type) -> bool:
    """No value, or an empty one of another kind."""
    return value is None or (not isinstance(value, kind) and holds_nothing(value))


def _of(value: object, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value
