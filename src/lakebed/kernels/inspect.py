"""What a file is, read once from end to end: its checksum, how it is written, its columns and what their values are."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import IO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import LakebedError, SourceError
from lakebed.kernels.blocks import BLOCK_BYTES, Misaligned
from lakebed.kernels.csv import CsvReader
from lakebed.kernels.dialects import SAMPLE_BYTES, EightBits, detect_encoding, detect_marks, require_known
from lakebed.kernels.evidence import Evidence
from lakebed.kernels.files import filesystem
from lakebed.kernels.header import distinct_originals
from lakebed.kernels.json_source import read_json
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import AsUtf8, Checksum, corruption_as_source_error, open_streams, sum_up
from lakebed.model import DEFAULT_DIGITS, Dialect, Digits, SourceFile


@dataclass(frozen=True)
class Inspection:
    """What every file of one job is asked.

    `delimiter`, `quote` and `encoding` are what a user says of the files; what is None is found out. An empty quote
    means that nothing is quoted. Without `infer` only columns are looked for, and not what their values are.
    """

    storage: StorageSettings
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    infer: bool = True
    digits: Digits = DEFAULT_DIGITS
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class FileFacts:
    """What a file was found to be. One without columns is empty."""

    sha256: str
    size_bytes: int
    rows: int
    columns: dict[str, Evidence] = field(default_factory=dict)
    dialect: Dialect | None = None


def inspect(inspection: Inspection, source: SourceFile) -> FileFacts:
    """Reads one file, or raises a SourceError that names it. What does not parse is left for its conversion to name."""
    if source.content == "parquet":
        return _inspect_parquet(inspection, source)
    with corruption_as_source_error(source):
        return _inspect_json(inspection, source) if source.content == "json" else _inspect_csv(inspection, source)


def _inspect_parquet(inspection: Inspection, source: SourceFile) -> FileFacts:
    checksum = Checksum()
    sum_up(source, inspection.storage, checksum)
    opened, path = filesystem(source.uri, inspection.storage)
    try:
        file = pq.ParquetFile(opened.open_input_file(path))
        schema = file.schema_arrow
        schema.to_string()  # names that are no UTF-8 show now
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"{source.key}: not readable as Parquet: {error}", remedy="Copy the file again: it is damaged or cut short."
        ) from error
    inspection.limits.require_columns(schema.names, source.key)
    names = distinct_originals(schema.names)
    columns = {name: Evidence(declared=[one.type]) for name, one in zip(names, schema, strict=True)}
    return FileFacts(checksum.hex, checksum.size_bytes, file.metadata.num_rows, columns)


def _inspect_json(inspection: Inspection, source: SourceFile) -> FileFacts:
    checksum = Checksum()
    rows = 0
    encoding = "utf-8"
    columns: dict[str, Evidence] = {}
    with closing(open_streams(source, inspection.storage, inspection.limits, checksum)) as streams:
        for stream in streams:
            start, stream = _peek(stream)
            encoding = inspection.encoding or detect_encoding(start)
            for part in read_json(as_utf8(stream, encoding, source.key), key=source.key, limits=inspection.limits):
                rows += len(part.rows)
                for name in dict.fromkeys(name for row in part.rows for name in row):
                    given = [row[name] for row in part.rows if name in row]
                    evidence = columns.setdefault(name, Evidence())
                    if inspection.infer:
                        evidence.see_json_values(given, inspection.digits)
                    elif any(value is not None for value in given):
                        evidence.see_plain_text("")
                # Objects whose keys are data, and not columns, would have no end of fields.
                inspection.limits.require_columns(range(sum(one.size for one in columns.values())), source.key)
    return FileFacts(checksum.hex, checksum.size_bytes, rows, columns, Dialect(encoding=encoding))


def _inspect_csv(inspection: Inspection, source: SourceFile) -> FileFacts:
    facts, other = _read_csv(inspection, source, inspection.encoding)
    if other is not None:
        facts, _ = _read_csv(inspection, source, other)
    return facts


def _read_csv(inspection: Inspection, source: SourceFile, encoding: str | None) -> tuple[FileFacts, str | None]:
    """What the file is, and another encoding to read it in, where it is not what its beginning made of it."""
    try:
        return _CsvPass(inspection, source, encoding, exact=False).run()
    except Misaligned:
        return _CsvPass(inspection, source, encoding, exact=True).run()


class _CsvPass:
    def __init__(self, inspection: Inspection, source: SourceFile, encoding: str | None, *, exact: bool) -> None:
        self._inspection = inspection
        self._source = source
        self._encoding = encoding
        self._exact = exact
        self._rows = 0
        self._columns: dict[str, Evidence] = {}
        self._dialect: Dialect | None = None

    def run(self) -> tuple[FileFacts, str | None]:
        checksum, bits = Checksum(), EightBits()
        inspection = self._inspection
        with closing(open_streams(self._source, inspection.storage, inspection.limits, checksum)) as streams:
            for stream in streams:
                start, whole = _peek(stream)
                if not start.strip(b"\xef\xbb\xbf\xff\xfe\r\n\0 \t"):
                    # Nothing is in it: read to its end, for the checksum.
                    while whole.read(BLOCK_BYTES):
                        pass
                    continue
                watched = _Watched(whole, bits)
                broken: LakebedError | None = None
                try:
                    self._read(start, cast(IO[bytes], watched))
                except LakebedError as error:
                    broken = error
                while watched.read(BLOCK_BYTES):
                    pass
                if broken is not None and self._other(bits) is None:
                    raise broken
        facts = FileFacts(checksum.hex, checksum.size_bytes, self._rows, self._columns, self._dialect)
        return facts, self._other(bits)

    def _other(self, bits: EightBits) -> str | None:
        """The encoding that all bytes of the file speak for, where its beginning spoke for UTF-8."""
        guessed = self._encoding is None and self._dialect is not None and self._dialect.encoding == "utf-8"
        return bits.encoding if guessed else None

    def _read(self, start: bytes, stream: IO[bytes]) -> None:
        encoding = self._encoding or detect_encoding(start)
        self._dialect = self._dialect or _dialect(self._inspection, start, encoding)
        reader = CsvReader(
            as_utf8(stream, encoding, self._source.key),
            key=self._source.key,
            exact=self._exact,
            limits=self._inspection.limits,
            dialect=self._dialect,
        )
        seen = [self._columns.setdefault(column.original, Evidence()) for column in reader.columns]
        for batch in reader:
            self._rows += batch.rows.num_rows
            if self._inspection.infer:
                for evidence, values in zip(seen, batch.rows.columns, strict=True):
                    evidence.see_texts(values, self._inspection.digits)
        if not self._inspection.infer:
            for evidence in seen:
                evidence.see_plain_text("")


def _dialect(inspection: Inspection, start: bytes, encoding: str) -> Dialect:
    whole = len(start) < SAMPLE_BYTES
    sample = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    quote = inspection.quote
    found = detect_marks(sample, whole=whole, delimiter=inspection.delimiter, quote=quote or None)
    return replace(found, quote=None if quote == "" else found.quote, encoding=encoding)


def as_utf8(stream: IO[bytes], encoding: str, key: str) -> IO[bytes]:
    """The stream as UTF-8, which the readers take."""
    if require_known(encoding) == "utf-8":
        return stream
    return cast(IO[bytes], AsUtf8(stream, encoding, key))


def _peek(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a stream, and the stream with them."""
    start = b""
    while len(start) < SAMPLE_BYTES and (more := stream.read(SAMPLE_BYTES - len(start))):
        start += more
    return start, cast(IO[bytes], _Joined(start, stream))


class _Joined:
    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self._start = start
        self._stream = stream

    def read(self, size: int) -> bytes:
        start, self._start = self._start, b""
        return start or self._stream.read(size)


class _Watched:
    def __init__(self, stream: IO[bytes], bits: EightBits) -> None:
        self._stream = stream
        self._bits = bits

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._bits.feed(data, last=not data)
        return data


@dataclass(frozen=True)
class InspectTasks:
    """Every file of an inspection, in packs; a task reads one pack."""

    inspection: Inspection
    packs: tuple[tuple[SourceFile, ...], ...]

    def __call__(self, number: int) -> Sequence[FileFacts | LakebedError]:
        return [self._attempt(file) for file in self.packs[number]]

    def _attempt(self, file: SourceFile) -> FileFacts | LakebedError:
        try:
            return inspect(self.inspection, file)
        except LakebedError as error:
            return error
