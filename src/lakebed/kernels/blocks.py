"""Cuts a CSV stream into blocks of whole records, each with the number of its first line.

Blocks bound the memory of a task, and they are what is read again when a value does not parse.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from lakebed.errors import HeaderError, SourceError
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits, allow_long_fields
from lakebed.model import Dialect

if TYPE_CHECKING:
    from _csv import Reader

BLOCK_BYTES = 8 << 20
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_NEWLINE = b"\n"
_EMPTY_LINES = re.compile(rb"(?:\r?\n)*")
# What billing data is written in.
COMMAS = Dialect()


class Marks:
    """The bytes of a dialect that decide where records end."""

    def __init__(self, dialect: Dialect) -> None:
        self.delimiter = dialect.delimiter.encode()
        self.quote = None if dialect.quote is None else dialect.quote.encode()
        quote, delimiter = re.escape(self.quote or b'"'), re.escape(self.delimiter)
        # Pairs of quotes, of which the first stands where a value begins, or doubles the one before it.
        self._pairs = re.compile(
            rb"(?:[^%b]*+(?<![^%b\r\n%b])%b[^%b]*+%b)*+[^%b]*+" % (quote, delimiter, quote, quote, quote, quote, quote)
        )
        self._begins = self.delimiter + b"\r\n"

    def pair_up(self, data: bytes) -> bool:
        """Every quote has a partner, and stands where it can."""
        return self.quote is None or self.quote not in data or self._pairs.fullmatch(data) is not None

    def paired_end(self, data: bytes) -> int:
        """Behind the last newline that an even number of quotes precedes."""
        if self.quote is None or self.quote not in data:
            return data.rfind(_NEWLINE) + 1
        quotes = data.count(self.quote)
        end = len(data)
        while (newline := data.rfind(_NEWLINE, 0, end)) >= 0:
            quotes -= data.count(self.quote, newline, end)
            if quotes % 2 == 0:
                return newline + 1
            end = newline
        return 0

    def first_end(self, data: bytes) -> int:
        """Behind the first newline outside quotes; 0 where there is none."""
        outside = 0
        for quoted in self._quoted_values(data):
            if newline := data.find(_NEWLINE, outside, quoted.start) + 1:
                return newline
            outside = quoted.stop
        return data.find(_NEWLINE, outside) + 1

    def exact_end(self, data: bytes, *, last: bool) -> int:
        """Behind the last newline outside quotes; with `last`, the whole length unless a quote is open at the end."""
        end = outside = 0
        for quoted in self._quoted_values(data):
            end = data.rfind(_NEWLINE, outside, quoted.start) + 1 or end
            if quoted.stop > len(data):
                return end
            outside = quoted.stop
        return len(data) if last else data.rfind(_NEWLINE, outside) + 1 or end

    def _quoted_values(self, data: bytes) -> Iterator[range]:
        """Where quoted values stand; one that is not closed reaches beyond the end.

        A quote opens a value only at its beginning; elsewhere in an unquoted value it is a letter like any other.
        """
        if self.quote is None:
            return
        position = 0
        while (quote := data.find(self.quote, position)) >= 0:
            position = quote + 1
            if quote and data[quote - 1] not in self._begins:
                continue
            closing = data.find(self.quote, position)
            while closing >= 0 and data[closing + 1 : closing + 2] == self.quote:
                closing = data.find(self.quote, closing + 2)
            position = closing + 1 if closing >= 0 else len(data) + 1
            yield range(quote, position)


def read_records(text: str, dialect: Dialect = COMMAS) -> "Reader":
    """Python's own reader of a dialect."""
    allow_long_fields()
    return csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
    )


class Misaligned(Exception):
    """A block was cut in the wrong place: quotes stand where only a full scan can tell what they mean."""


@dataclass(frozen=True)
class Block:
    """Whole records; `line` is the physical line of the first, quoted line ends counted."""

    data: bytes
    line: int


@dataclass(frozen=True)
class CsvRecord:
    """One record, and the line on which it begins."""

    line: int
    fields: list[str]


class BlockReader:
    """Reads a stream's header, then its blocks.

    Counting quotes finds the record ends in any file whose quotes come in pairs, at the speed of memchr. A stray quote
    inside an unquoted field breaks the count, which raises Misaligned; `exact=True` then follows every quote from the
    beginning.
    """

    def __init__(
        self,
        stream: IO[bytes],
        *,
        key: str,
        exact: bool,
        limits: Limits = DEFAULT_LIMITS,
        dialect: Dialect = COMMAS,
        line_after_header: int | None = None,
    ) -> None:
        """`line_after_header` is where the stream goes on after its header, if not on the next line."""
        self._stream = stream
        self._read = 0
        self._key = key
        self.dialect = dialect
        self._marks = Marks(dialect)
        self._exact = exact
        self._limits = limits
        self._rest = self._read_more(max(BLOCK_BYTES, len(_BOM)))
        if self._rest.startswith(_UTF16):
            raise SourceError(
                f"{key}: the file is UTF-16, not UTF-8", remedy="Convert it first: iconv -f UTF-16 -t UTF-8."
            )
        self._rest = self._rest.removeprefix(_BOM)
        self.line = 1
        for _ in range(dialect.skipped_lines):
            self._rest = self._rest.partition(_NEWLINE)[2]
            self.line += 1
        self.header = self._read_header()
        if line_after_header is not None:
            self.line = line_after_header

    @property
    def offset(self) -> int:
        """How many bytes of the stream are header or in blocks that were given out."""
        return self._read - len(self._rest)

    def _read_more(self, size: int = BLOCK_BYTES) -> bytes:
        more = self._stream.read(size)
        self._read += len(more)
        return more

    def _read_header(self) -> list[str]:
        """The first record that is not an empty line."""
        self._skip_empty_lines()
        while True:
            if end := self._marks.first_end(self._rest):
                return self._parse_header(self._rest[:end])
            self._refuse_long_header(len(self._rest))
            more = self._read_more(BLOCK_BYTES)
            if not more:
                if not self._rest.strip(b"\r\n"):
                    raise HeaderError(
                        "there is no header: the file is empty",
                        file=self._key,
                        remedy="Copy the file again: a file without rows still has a header.",
                    )
                return self._parse_header(self._rest)
            self._rest += more

    def _skip_empty_lines(self) -> None:
        while True:
            empty = _EMPTY_LINES.match(self._rest)
            end = empty.end() if empty is not None else 0
            self.line += self._rest.count(_NEWLINE, 0, end)
            self._rest = self._rest[end:]
            if self._rest not in (b"", b"\r"):
                return
            more = self._read_more(BLOCK_BYTES)
            self._rest += more
            if not more:
                return

    def _refuse_long_header(self, size_bytes: int) -> None:
        if size_bytes > self._limits.header_bytes:
            raise HeaderError(
                "the header does not end, or is very long: is a quote never closed, or are line ends not newlines?",
                file=self._key,
                line=self.line,
                remedy=self._limits.remedy("header_bytes"),
            )

    def _parse_header(self, data: bytes) -> list[str]:
        self._refuse_long_header(len(data))
        self._rest = self._rest[len(data) :]
        line, self.line = self.line, self.line + data.count(_NEWLINE)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise HeaderError("the header is not UTF-8", file=self._key, line=line) from error
        reader = read_records(text, self.dialect)
        names = next(reader)
        if any(reader):
            raise HeaderError(
                "lines end in a carriage return alone, without a newline",
                file=self._key,
                line=line,
                remedy="Convert the file first: tr '\\r' '\\n'.",
            )
        self._limits.require_columns(names, self._key)
        return names

    def __iter__(self) -> Iterator[Block]:
        while True:
            more = self._read_more(BLOCK_BYTES)
            data = self._rest + more
            if more:
                end = self._marks.exact_end(data, last=False) if self._exact else self._marks.paired_end(data)
            else:
                end = len(data)
                self._refuse_open_quote(data)
            if end:
                block = Block(data[:end], self.line)
                if not self._exact and not self._marks.pair_up(block.data):
                    raise Misaligned
                self.line += block.data.count(_NEWLINE)
                self._rest = data[end:]
                yield block
            else:
                self._rest = data
            if not more:
                return
            self._refuse_endless()

    def _refuse_open_quote(self, data: bytes) -> None:
        if not self._exact and self._marks.quote is not None and data.count(self._marks.quote) % 2:
            raise Misaligned
        if self._exact and self._marks.exact_end(data, last=True) < len(data):
            line = self.line + data.count(_NEWLINE, 0, self._marks.exact_end(data, last=False))
            raise SourceError(
                f"{self._key}, line {line}: the file ends inside a quoted value",
                remedy="Copy the file again: it ends too early.",
            )

    def _refuse_endless(self) -> None:
        if len(self._rest) > self._limits.line_bytes:
            if not self._exact:
                raise Misaligned
            raise SourceError(
                f"{self._key}, line {self.line}: no record ends within {self._limits.line_bytes} bytes: is a quote"
                " never closed, or are line ends not newlines?",
                remedy=self._limits.remedy("line_bytes"),
            )


def records(block: Block, dialect: Dialect = COMMAS) -> Iterator[CsvRecord]:
    """The records of a block with their lines, read slowly and only when a message needs them.

    An empty line is a record without fields.
    """
    reader = read_records(block.data.decode("utf-8", errors="replace"), dialect)
    begins = 0
    for fields in reader:
        yield CsvRecord(block.line + begins, fields)
        begins = reader.line_num
