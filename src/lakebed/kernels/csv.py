"""CSV to typed Arrow tables, block by block; what does not parse is reported with line, column and value.

An empty field is NULL, quoted or not, as with DuckDB's reader: some writers quote every field, so quotes mean nothing.
Everything else is kept as it stands: leading zeros, blanks. The word NULL is text in a column of text; in any
other it is NULL, and counted. An empty line is no row, but for a file of one column, where it is a row of NULL.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.csv as pacsv

from lakebed.errors import EngineError, HeaderError
from lakebed.kernels.blocks import COMMAS, Block, BlockReader, Misaligned, records
from lakebed.kernels.evidence import plain_writing, strangers
from lakebed.kernels.header import distinct_originals, match_header, refuse_other_separators
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.kernels.values import checked, exact_type, typed
from lakebed.model import Dialect, RejectedValue

_HOLDS_MORE_THAN_LINE_ENDS = re.compile(rb"[^\r\n]").search


@dataclass(frozen=True)
class RejectedRows:
    """Rows kept out of the table: their text in the columns of the file, and what was wrong, one entry a row."""

    texts: pa.Table
    reasons: list[RejectedValue]


@dataclass(frozen=True)
class Batch:
    """The good rows of a block by table name, and those that were kept out."""

    rows: pa.Table
    rejected: RejectedRows | None


@dataclass(frozen=True)
class FileColumn:
    """One field of the file's rows: its header, and its name and type in the table."""

    original: str
    name: str
    wanted: pa.DataType


class CsvReader:
    """Reads one stream. `exact` follows every quote; without it Misaligned asks for a second try with it.

    Without `columns` every field is text, under its own original.
    """

    def __init__(
        self,
        stream: IO[bytes],
        *,
        key: str,
        columns: Sequence[tuple[str, str]] | None = None,
        types: Mapping[str, pa.DataType] | None = None,
        exact: bool,
        required: Collection[str] = (),
        limits: Limits = DEFAULT_LIMITS,
        dialect: Dialect | None = None,
        rounds: bool = True,
        inferred: Collection[str] = (),
        line_after_header: int | None = None,
    ) -> None:
        self._key = key
        self._exact = exact
        self._dialect = dialect or COMMAS
        self._rounds = rounds
        self._inferred = frozenset(inferred)
        self._blocks = BlockReader(
            stream, key=key, exact=exact, limits=limits, dialect=self._dialect, line_after_header=line_after_header
        )
        header = self._blocks.header
        if dialect is None:
            refuse_other_separators(header, file=key)
        originals = distinct_originals(header)
        planned = [(original, original) for original in originals] if columns is None else columns
        names, self.missing = match_header(header, planned, file=key, required=required)
        self.null_words: Counter[str] = Counter()
        self.columns = [
            FileColumn(original, name, pa.string() if types is None else types[name])
            for original, name in zip(originals, names, strict=True)
        ]

    def __iter__(self) -> Iterator[Batch]:
        for block in self._blocks:
            if self._empty_lines_count or _HOLDS_MORE_THAN_LINE_ENDS(block.data):
                yield self._read(block)

    @property
    def _empty_lines_count(self) -> bool:
        return len(self.columns) == 1

    def _read(self, block: Block) -> Batch:
        """All columns as text, which never fails on a value, and then each by its type."""
        misshapen: list[str] = []
        try:
            table = self._split(block, pa.string(), misshapen)
        except pa.ArrowInvalid:  # bytes that are not UTF-8
            misshapen.clear()
            table = self._split(block, pa.binary(), misshapen)
        if misshapen and not self._exact:
            raise Misaligned
        values: list[pa.ChunkedArray] = []
        bad: dict[int, tuple[FileColumn, str]] = {}
        for column, read in zip(self.columns, table.columns, strict=True):
            parsed = typed(read, exact_type(column.wanted, rounds=self._rounds))
            self.null_words[column.original] += parsed.null_words
            found, faults = checked(parsed, column.wanted, rounds=self._rounds)
            values.append(found)
            if column.name in self._inferred and pa.types.is_string(read.type):
                faults = {row: plain_writing(column.wanted) for row in strangers(read, column.wanted)} | faults
            for row, expected in faults.items():
                bad.setdefault(row, (column, expected))
        rows = pa.table(values, names=[column.name for column in self.columns])
        if not bad and not misshapen:
            return Batch(rows, None)
        rejected = self._rejected(block, bad, good_rows=table.num_rows)
        if bad:
            rows = rows.filter(pa.array([row not in bad for row in range(table.num_rows)], type=pa.bool_()))
        return Batch(rows, rejected)

    def _split(self, block: Block, kind: pa.DataType, misshapen: list[str]) -> pa.Table:
        def note(row: pacsv.InvalidRow) -> str:
            misshapen.append(row.text)
            return "skip"

        keys = [str(position) for position in range(len(self.columns))]
        return pacsv.read_csv(
            pa.BufferReader(block.data),
            read_options=pacsv.ReadOptions(column_names=keys, block_size=len(block.data) + 1, use_threads=False),
            parse_options=pacsv.ParseOptions(
                delimiter=self._dialect.delimiter,
                quote_char=self._dialect.quote or False,
                newlines_in_values=True,
                invalid_row_handler=note,
                ignore_empty_lines=not self._empty_lines_count,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(keys, kind),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )

    def _rejected(self, block: Block, bad: Mapping[int, tuple[FileColumn, str]], *, good_rows: int) -> RejectedRows:
        """What was wrong, with lines; reads the block a second time, as Python's csv does."""
        reasons: list[RejectedValue] = []
        texts: list[dict[str, str | None]] = []
        row = -1
        for record in records(block, self._dialect):
            if not record.fields and not self._empty_lines_count:
                continue
            fields = record.fields or [""]
            if len(fields) != len(self.columns):
                reasons.append(self._misshapen(record.line, fields))
                texts.append(dict(zip((column.name for column in self.columns), fields, strict=False)))
                continue
            row += 1
            if row not in bad:
                continue
            by_name = {column.name: text or None for column, text in zip(self.columns, fields, strict=True)}
            column, expected = bad[row]
            value = by_name[column.name] or ""
            reasons.append(RejectedValue(self._key, record.line, column.original, value, expected))
            texts.append(by_name)
        if row + 1 != good_rows:
            raise EngineError(
                f"{self._key}: pyarrow read {good_rows} rows where Python's csv finds {row + 1}, "
                f"in the {len(block.data)} bytes from line {block.line} on"
            )
        schema = pa.schema([(column.name, pa.string()) for column in self.columns])
        return RejectedRows(pa.Table.from_pylist(texts, schema=schema), reasons)

    def _misshapen(self, line: int, fields: Sequence[str]) -> RejectedValue:
        wanted = f"a row of {len(self.columns)} fields, as the header has (it has {len(fields)})"
        return RejectedValue(self._key, line, "", self._dialect.delimiter.join(fields), wanted)


def header_error(rejected: RejectedValue) -> HeaderError:
    """A row with too few or too many fields."""
    return HeaderError(
        f"expected {rejected.expected}: {rejected.value[:80]!r}",
        file=rejected.file,
        line=rejected.line or 1,
        remedy="Load with --on-bad-value quarantine to keep such rows out of the table.",
    )
