"""CSV to typed Arrow tables, block by block: fast where the values are as expected, exact and by name where not.

An empty field is NULL, quoted or not, as with DuckDB's reader: some writers quote every field, so quotes mean nothing.
Everything else is kept as it stands: leading zeros, blanks, the word NULL.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from lakebed.errors import EngineError, HeaderError
from lakebed.kernels.blocks import Block, BlockReader, Misaligned, records
from lakebed.kernels.header import match_header
from lakebed.kernels.job import Rejected
from lakebed.kernels.values import Parsed, expectation, is_text, parse

# Sums and refusals are made at this scale, whatever narrower one the table has.
FULL_SCALE = 18
_FAILED_COLUMN = re.compile(r"In CSV column #(\d+)")


@dataclass(frozen=True)
class RejectedRows:
    """Rows kept out of the table: their text in the columns of the file, and what was wrong, one entry a row."""

    texts: pa.Table
    reasons: list[Rejected]


@dataclass(frozen=True)
class Batch:
    """The good rows of a block by table name, and those that were kept out."""

    rows: pa.Table
    rejected: RejectedRows | None


@dataclass
class Column:
    """One column of a file while it is read: its type in the table, and the readings to try, fastest first."""

    original: str
    name: str
    wanted: pa.DataType
    readings: tuple[pa.DataType, ...]
    # The first reading to try; it moves on when a block needed the next one (times without a zone).
    start: int = field(default=0)


def exact_type(wanted: pa.DataType) -> pa.DataType:
    """The type in which values are read: decimals with all their digits, before any rounding."""
    if pa.types.is_decimal(wanted):
        return pa.decimal128(38, max(FULL_SCALE, wanted.scale))
    return wanted


class CsvReader:
    """Reads one stream. `exact` follows every quote; without it Misaligned asks for a second try with it."""

    def __init__(
        self,
        stream: IO[bytes],
        *,
        key: str,
        columns: Sequence[tuple[str, str]],
        types: Mapping[str, pa.DataType],
        exact: bool,
    ) -> None:
        self._key = key
        self._exact = exact
        self._blocks = BlockReader(stream, key=key, exact=exact)
        header = self._blocks.header or []
        self.empty = self._blocks.header is None
        names, self.missing = match_header(header, columns, file=key) if header else ([], ())
        self._columns = [
            Column(original, name, types[name], _readings(types[name]))
            for original, name in zip(header, names, strict=True)
        ]

    def __iter__(self) -> Iterator[Batch]:
        for block in self._blocks:
            if block.data.strip(b"\r\n"):
                yield self._read(block)

    def _read(self, block: Block) -> Batch:
        rungs = [column.start for column in self._columns]
        while True:
            misshapen: list[str] = []
            try:
                table = self._parse(block, rungs, misshapen)
            except pa.ArrowInvalid as error:
                self._step_down(rungs, error)
                continue
            overflowing = self._overflowing(table, rungs)
            if not overflowing:
                break
            for position in overflowing:
                rungs[position] += 1
        if misshapen and not self._exact:
            raise Misaligned
        return self._finish(block, table, rungs, misshapen=len(misshapen))

    def _parse(self, block: Block, rungs: Sequence[int], misshapen: list[str]) -> pa.Table:
        def note(row: pacsv.InvalidRow) -> str:
            misshapen.append(row.text)
            return "skip"

        keys = [str(position) for position in range(len(self._columns))]
        types = {key: column.readings[rung] for key, column, rung in zip(keys, self._columns, rungs, strict=True)}
        return pacsv.read_csv(
            pa.BufferReader(block.data),
            read_options=pacsv.ReadOptions(column_names=keys, block_size=len(block.data) + 1, use_threads=False),
            parse_options=pacsv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=note, ignore_empty_lines=len(keys) > 1
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True
            ),
        )

    def _step_down(self, rungs: list[int], error: pa.ArrowInvalid) -> None:
        """Reads the column that failed in its next way; the last way of each column takes any bytes."""
        found = _FAILED_COLUMN.search(str(error))
        if found is None:
            raise EngineError(f"{self._key}: pyarrow cannot read it as CSV: {error}") from error
        position = int(found[1])
        rungs[position] += 1
        if rungs[position] >= len(self._columns[position].readings):
            raise EngineError(f"{self._key}: pyarrow cannot read column {position + 1}: {error}") from error

    def _overflowing(self, table: pa.Table, rungs: Sequence[int]) -> list[int]:
        """Decimal columns with values that pyarrow let through although they have more than 38 digits."""
        found = []
        for position, column in enumerate(self._columns):
            reading = column.readings[rungs[position]]
            if pa.types.is_decimal(reading):
                bounds = pc.min_max(table.column(position)).as_py()
                if bounds["max"] is not None and max(-bounds["min"], bounds["max"]).adjusted() >= 38 - reading.scale:
                    found.append(position)
        return found

    def _finish(self, block: Block, table: pa.Table, rungs: Sequence[int], *, misshapen: int) -> Batch:
        values: list[pa.ChunkedArray] = []
        bad: dict[int, list[Column]] = {}
        for position, column in enumerate(self._columns):
            read = table.column(position)
            if pa.types.is_binary(read.type):
                parsed = _parse_bytes(read.combine_chunks(), exact_type(column.wanted))
                for row in parsed.bad:
                    bad.setdefault(row, []).append(column)
                read = pa.chunked_array([parsed.values])
            else:
                column.start = rungs[position]
                if pa.types.is_timestamp(read.type):
                    read = read.cast(column.wanted)
            values.append(read)
        rows = pa.table(values, names=[column.name for column in self._columns])
        if not bad and not misshapen:
            return Batch(rows, None)
        rejected = self._rejected(block, bad, good_rows=table.num_rows)
        if bad:
            keep = pa.array([row not in bad for row in range(table.num_rows)], type=pa.bool_())
            rows = rows.filter(keep)
        return Batch(rows, rejected)

    def _rejected(self, block: Block, bad: Mapping[int, Sequence[Column]], *, good_rows: int) -> RejectedRows:
        """What was wrong, with lines; reads the block a second time, as Python's csv does."""
        reasons: list[Rejected] = []
        texts: list[dict[str, str | None]] = []
        row = -1
        for record in records(block):
            fields = record.fields
            if len(fields) != len(self._columns):
                reasons.append(self._misshapen(record.line, fields))
                texts.append(dict(zip((column.name for column in self._columns), fields, strict=False)))
                continue
            row += 1
            if row not in bad:
                continue
            by_name = {column.name: text or None for column, text in zip(self._columns, fields, strict=True)}
            first = bad[row][0]
            reasons.append(Rejected(record.line, first.original, by_name[first.name] or "", _expected(first)))
            texts.append(by_name)
        if row + 1 != good_rows:
            raise EngineError(
                f"{self._key}: pyarrow read {good_rows} rows where Python's csv finds {row + 1}, "
                f"in the {len(block.data)} bytes from line {block.line} on"
            )
        schema = pa.schema([(column.name, pa.string()) for column in self._columns])
        return RejectedRows(pa.Table.from_pylist(texts, schema=schema), reasons)

    def _misshapen(self, line: int, fields: Sequence[str]) -> Rejected:
        wanted = f"a row of {len(self._columns)} fields, as the header has (it has {len(fields)})"
        return Rejected(line, "", ",".join(fields), wanted)


def header_error(file: str, rejected: Rejected) -> HeaderError:
    """A row with too few or too many fields."""
    return HeaderError(
        f"expected {rejected.expected}: {rejected.value[:80]!r}",
        file=file,
        line=rejected.line or 1,
        remedy="Load with --on-bad-value quarantine to keep such rows out of the table.",
    )


def _expected(column: Column) -> str:
    return expectation(exact_type(column.wanted))


def _readings(wanted: pa.DataType) -> tuple[pa.DataType, ...]:
    """Ways to read a column, fastest first. The last is bytes, which always works and goes through `values.parse`."""
    if pa.types.is_timestamp(wanted):
        # pyarrow wants to know beforehand whether the texts have a zone.
        return (pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.binary())
    if pa.types.is_decimal(wanted):
        return (exact_type(wanted), pa.binary())
    if is_text(wanted):
        return (pa.string(), pa.binary())
    if pa.types.is_nested(wanted):
        return (pa.binary(),)
    return (wanted, pa.binary())


def _parse_bytes(read: pa.Array, wanted: pa.DataType) -> Parsed:
    """The careful way: NULL rule, encoding, then the type."""
    filled = pc.if_else(pc.equal(pc.binary_length(read), 0), None, read)
    try:
        texts, undecodable = filled.cast(pa.string()), []
    except pa.ArrowInvalid:
        decoded = [_decoded(value) for value in filled.to_pylist()]
        undecodable = [row for row, text in enumerate(decoded) if text is _UNDECODABLE]
        texts = pa.array([None if text is _UNDECODABLE else text for text in decoded], type=pa.string())
    parsed = Parsed(texts.cast(wanted), []) if is_text(wanted) else parse(texts, wanted)
    return Parsed(parsed.values, sorted({*undecodable, *parsed.bad}))


_UNDECODABLE = "\0undecodable"


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return _UNDECODABLE
