"""Finds out how a text file is written, from its first bytes: its encoding, what parts its fields, what quotes them."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from lakebed.errors import ConfigError
from lakebed.kernels.blocks import read_records
from lakebed.model import Dialect

SAMPLE_BYTES = 256 << 10
_SAMPLE_RECORDS = 200
# Of fewer letters nothing can be said.
_FEWEST_PAIRS = 4
# The longest first: a UTF-32 mark begins like a UTF-16 one.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = (",", ";", "\t", "|")
_QUOTES = ('"', "'")
# What Excel writes above the header.
_SEPARATOR = re.compile(r'"?sep=([^\r\n])"?\r?\n', re.IGNORECASE)


def detect_encoding(start: bytes) -> str:
    """What the first bytes tell: a mark, or the zeros between letters that UTF-16 has without one. Else it is UTF-8.

    That a file is none, of which its first bytes may say nothing, is seen when it is read whole: `EightBits`.
    """
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name
    pairs = len(start) // 2
    if pairs >= _FEWEST_PAIRS and b"\0" in start:
        odd, even = start[1::2].count(0), start[0 : 2 * pairs : 2].count(0)
        if odd > 0.4 * pairs and even < 0.1 * pairs:
            return "utf-16-le"
        if even > 0.4 * pairs and odd < 0.1 * pairs:
            return "utf-16-be"
    return "utf-8"


class EightBits:
    """Whether a file that is not UTF-8 is written in an encoding of one byte a letter; fed with all of its bytes.

    Where anything in it is UTF-8 beyond ASCII, it is UTF-8 with damage, and no guess is made.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
        self._letters: set[str] = set()

    def feed(self, data: bytes, *, last: bool = False) -> None:
        if not data.isascii() or last:
            self._letters.update(self._decoder.decode(data, last))

    @property
    def encoding(self) -> str | None:
        """None where it is UTF-8, or broken UTF-8."""
        bad = {ord(letter) - 0xDC00 for letter in self._letters if "\udc80" <= letter <= "\udcff"}
        beyond = any(letter > "\x7f" and not "\udc80" <= letter <= "\udcff" for letter in self._letters)
        if not bad or beyond:
            return None
        controls = [byte for byte in bad if byte < 0xA0]
        undefined = any(byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) for byte in controls)
        return "cp1252" if controls and not undefined else "latin-1"


def detect_marks(sample: str, *, whole: bool, delimiter: str | None = None, quote: str | None = None) -> Dialect:
    """The delimiter and the quote that read the sample best: those by which its records have equally many fields.

    `whole` says that the sample is the whole file. A given delimiter or quote is kept; a file of one column has commas.
    """
    told = _SEPARATOR.match(sample)
    if told is not None:
        found = detect_marks(sample[told.end() :], whole=whole, delimiter=delimiter or told[1], quote=quote)
        return replace(found, skipped_lines=1)
    best, found = (0.0, 0), Dialect(delimiter or ",", quote or '"')
    for mark in _QUOTES if quote is None else (quote,):
        for candidate in _DELIMITERS if delimiter is None else (delimiter,):
            dialect = Dialect(candidate, mark)
            header, share = _judge(list(_records(sample, dialect, whole=whole)))
            if header < 2 or (mark == "'" and not _quotes_values(sample, dialect)):
                continue
            if (score := (round(share, 2), header)) > best:
                best, found = score, dialect
    return found


def _records(sample: str, dialect: Dialect, *, whole: bool) -> Iterator[Sequence[str]]:
    """The first records. The last of a sample that was cut off may be half a record."""
    try:
        read = [record for record in islice(read_records(sample, dialect), _SAMPLE_RECORDS) if record]
    except csv.Error:
        return
    yield from read if whole or len(read) == _SAMPLE_RECORDS else read[:-1]


def _judge(records: Sequence[Sequence[str]]) -> tuple[int, float]:
    """How many fields the header has, and how many of the records have as many."""
    if not records:
        return 0, 0.0
    header = len(records[0])
    return header, sum(len(record) == header for record in records) / len(records)


def _quotes_values(sample: str, dialect: Dialect) -> bool:
    """Whether the quote really stands around values, and is no apostrophe: it does so in the header, or everywhere."""
    quote = dialect.quote or ""
    first = sample.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    fields = first.split(dialect.delimiter)
    return all(len(field) > 1 and field.startswith(quote) and field.endswith(quote) for field in fields)


def require_known(encoding: str) -> str:
    """The encoding under Python's name for it, or ConfigError."""
    try:
        found = codecs.lookup(encoding)
    except LookupError:
        found = None
    if found is None or not found._is_text_encoding:
        raise ConfigError(
            f"there is no encoding {encoding!r}", remedy="Known are utf-8, utf-16, latin-1, cp1252 and many more."
        )
    return found.name
