"""Source files in, Parquet files and facts out: what a worker runs, for one file or for a pack of small ones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import BadValue, Changed, LakebedError, UnplannedColumns
from lakebed.kernels.blocks import Misaligned
from lakebed.kernels.csv import Batch, CsvReader, header_error
from lakebed.kernels.facts import ExactTally
from lakebed.kernels.inspect import as_utf8
from lakebed.kernels.json_source import JsonBatches
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.kernels.parquet import ParquetOutput
from lakebed.kernels.parquet_source import read_parquet
from lakebed.kernels.remedies import remedy
from lakebed.kernels.rows import PartitionedOutput
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import Checksum, corruption_as_source_error, open_streams, sum_up
from lakebed.kernels.values import expectation, typed
from lakebed.model import FILE, Converted, FilePart, RejectedValue, SourceFile, Staging

# All rejected rows are in the side files; of their values this many travel to the driver.
REJECTED_RETURNED = 1000
REJECTED_FOLDER = "_rejected"
_NOWHERE = "\0"


@dataclass(frozen=True)
class Conversion:
    """What every file of one job becomes.

    `columns` pairs the name in the file's header with the name in the table. A column of the table that is in neither
    `columns` nor `constants` is NULL. Every file must have the headers in `required`. A partition column may also be a
    column of the staging's schema; without a `partition` each row goes to that of its own values. Where columns are
    not `expected` of every file, nothing is said of those that one lacks. A number with more decimals than its column
    is rounded where the conversion `rounds`, and does not fit otherwise. Headers in `waiting` hold nothing.
    Columns in `inferred` take no text that inference would not take for their type; those `in_path` are partitions
    of the rows and lie in no file.
    """

    staging: Staging
    storage: StorageSettings
    columns: tuple[tuple[str, str], ...]
    constants: Mapping[str, str]
    partition: Mapping[str, str | None] | None
    quarantine: bool = False
    currency: str | None = None
    required: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    expected: bool = True
    rounds: bool = True
    inferred: tuple[str, ...] = ()
    in_path: tuple[pa.Field, ...] = ()
    waiting: tuple[str, ...] = ()


def convert(conversion: Conversion, source: SourceFile, name: str) -> Converted:
    """Converts one file, or raises a SourceError that names file, line and column."""
    return convert_pack(conversion, (source,), name)


def convert_pack(conversion: Conversion, sources: Sequence[SourceFile], name: str) -> Converted:
    """Converts several files into as few as their rows need, in the order in which they are given."""
    exact: set[str] = set()
    while True:
        try:
            return _Task(conversion, sources, name, exact=frozenset(exact)).run()
        except _MisalignedFile as found:
            exact.add(found.uri)


class _MisalignedFile(Exception):
    """Rows of this file are written already, and its blocks were cut in the wrong place."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri


class _Task:
    def __init__(
        self, conversion: Conversion, sources: Sequence[SourceFile], name: str, *, exact: frozenset[str]
    ) -> None:
        self._conversion = conversion
        self._sources = sources
        self._source = sources[0]
        self._name = name
        self._exact = exact
        self._schema = pa.schema([*conversion.staging.schema, *conversion.in_path])
        # What holds nothing has no column, and is read as text that nobody takes.
        nowhere = tuple((original, f"{_NOWHERE}{original}") for original in conversion.waiting)
        self._columns = (*conversion.columns, *nowhere)
        self._types = {field.name: field.type for field in self._schema} | {name: pa.string() for _, name in nowhere}
        decimals = [
            column for _, column in conversion.columns if pa.types.is_decimal(self._types.get(column, pa.null()))
        ]
        self._tally = ExactTally(decimals, conversion.currency)
        self._rejected: list[RejectedValue] = []
        self._rejected_rows = 0
        self._warnings: list[str] = []

    def run(self) -> Converted:
        conversion, storage = self._conversion, self._conversion.storage
        output: ParquetOutput | PartitionedOutput = (
            PartitionedOutput(conversion.staging, storage, self._name)
            if conversion.partition is None
            else ParquetOutput(conversion.staging, storage, name=self._name, partition=conversion.partition)
        )
        side = ParquetOutput(self._side_staging(), storage, name=self._name, partition={})
        surprises: list[UnplannedColumns] = []
        try:
            for source in self._sources:
                self._source = source
                try:
                    self._convert(output, side)
                except UnplannedColumns as error:
                    # The others go on: one new plan should know the new columns of all files.
                    surprises.append(error)
            if surprises:
                raise UnplannedColumns.of_all(surprises)
            files, rejected_files = output.close(), side.close()
        except BaseException:
            output.discard()
            side.discard()
            raise
        return Converted(
            files=files,
            source=self._tally.totals,
            rounding=self._tally.rounding,
            rejected=tuple(self._rejected),
            rejected_rows=self._rejected_rows,
            rejected_files=tuple(replace(file, path=f"{REJECTED_FOLDER}/{file.path}") for file in rejected_files),
            warnings=tuple(self._warnings),
        )

    def _convert(self, output: ParquetOutput | PartitionedOutput, side: ParquetOutput) -> None:
        """One file of the pack."""
        written = False
        exact = self._source.uri in self._exact
        while True:
            try:
                for batch in self._batches(exact=exact):
                    if batch.rejected is not None:
                        self._reject(batch, side)
                    self._tally.add(batch.rows)
                    output.write(self._shaped(batch))
                    written = True
                return
            except Misaligned:
                if written:
                    raise _MisalignedFile(self._source.uri) from None
                exact = True

    def _batches(self, *, exact: bool) -> Iterator[Batch]:
        source, conversion = self._source, self._conversion
        # Of a file that several tasks read, whoever split it sees to that.
        checksum = None if source.sha256 is None or source.part is not None else Checksum()
        if source.content == "parquet":
            read = read_parquet(
                source,
                conversion.storage,
                self._columns,
                self._types,
                conversion.required,
                rounds=conversion.rounds,
            )
            self._warn_missing(read.missing)
            yield from read.batches
            if checksum is not None:
                sum_up(source, conversion.storage, checksum)
        else:
            streams = open_streams(source, conversion.storage, conversion.limits, checksum)
            with corruption_as_source_error(source), closing(streams):
                for stream in streams:
                    yield from self._read_text(stream, exact=exact)
        if checksum is not None and checksum.hex != source.sha256:
            raise Changed(f"{source.key} was written over while it was read", uri=source.uri, remedy="Run again.")

    def _read_text(self, stream: IO[bytes], *, exact: bool) -> Iterator[Batch]:
        conversion, source = self._conversion, self._source
        text = stream if source.dialect is None else as_utf8(stream, source.dialect.encoding, source.key)
        if source.content == "json":
            rows = JsonBatches(
                text,
                key=source.key,
                columns=self._columns,
                types=self._types,
                limits=conversion.limits,
                rounds=conversion.rounds,
                inferred=conversion.inferred,
            )
            yield from rows
            self._warn_missing([one for one, _ in conversion.columns if one not in rows.seen])
            self._warn_null_words(rows.null_words)
            for column, count in rows.nothings.items():
                if count:
                    said = f"column {column}: an empty list or object stands for no value ({count} rows)"
                    self._warnings.append(f"{source.key}: {said}")
            return
        reader = CsvReader(
            text,
            key=source.key,
            columns=self._columns,
            types=self._types,
            exact=exact,
            required=conversion.required,
            limits=conversion.limits,
            dialect=source.dialect,
            rounds=conversion.rounds,
            inferred=conversion.inferred,
            line_after_header=source.part.line if isinstance(source.part, FilePart) and source.part.start else None,
        )
        self._warn_missing(reader.missing)
        yield from reader
        self._warn_null_words(reader.null_words)

    def _warn_missing(self, lacking: Sequence[str]) -> None:
        folders = {original for original, _ in self._source.folders}
        missing = [original for original in lacking if original not in folders]
        if missing and self._conversion.expected:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            self._warnings.append(f"{self._source.key}: {len(missing)} columns are missing and loaded as NULL: {shown}")

    def _warn_null_words(self, counts: Mapping[str, int]) -> None:
        for column, count in counts.items():
            if count:
                self._warnings.append(
                    f"{self._source.key}: column {column}: the word NULL stands for no value ({count} rows)"
                )

    def _shaped(self, batch: Batch) -> pa.Table:
        """The rows in the columns of the table: rounded, cast, padded."""
        rows, count = batch.rows, batch.rows.num_rows
        present = set(rows.column_names)
        folders = self._folders()
        columns: list[pa.Array | pa.ChunkedArray] = []
        for field in self._schema:
            if field.name in present:
                columns.append(self._fitted(field.name, rows.column(field.name), field.type))
            elif field.name == FILE and self._source.identity is not None:
                columns.append(pa.repeat(pa.scalar(self._source.identity, field.type), count))
            elif field.name in folders:
                columns.append(pa.repeat(self._folder_value(field, folders[field.name]), count))
            elif field.name in self._conversion.constants:
                columns.append(pa.repeat(self._conversion.constants[field.name], count).cast(field.type))
            else:
                columns.append(pa.nulls(count, field.type))
        return pa.table(columns, schema=self._schema)

    def _folders(self) -> dict[str, str]:
        """The values that the file's folders give to all its rows, by the names of the table."""
        names = dict(self._conversion.columns)
        return {names[original]: text for original, text in self._source.folders if text is not None}

    def _folder_value(self, field: pa.Field, text: str) -> pa.Scalar:
        parsed = typed(pa.chunked_array([pa.array([text], pa.string())]), field.type)
        if parsed.bad:
            original = next(one for one, name in self._conversion.columns if name == field.name)
            raise BadValue(
                file=self._source.key,
                line=None,
                column=original,
                value=text,
                expected=expectation(field.type),
                remedy="The value is in the name of a folder. Rename it, or load the file on its own.",
            )
        return parsed.values[0]

    def _fitted(self, name: str, column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
        if column.type == wanted:
            return column
        if pa.types.is_decimal(wanted):
            return self._rounded(name, column, wanted)
        return column.cast(wanted)

    def _rounded(self, name: str, column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
        """Half away from zero, as DuckDB and Spark round; what it cost is counted."""
        kept = pc.round(column, ndigits=wanted.scale, round_mode="half_towards_infinity").cast(wanted)
        self._tally.rounded(name, column, kept)
        return kept

    def _reject(self, batch: Batch, side: ParquetOutput) -> None:
        """Refuses the first bad row, or keeps all of them in a side file."""
        assert batch.rejected is not None
        reasons = batch.rejected.reasons
        if not self._conversion.quarantine:
            raise self._refusal(reasons)
        self._rejected_rows += len(reasons)
        self._rejected.extend(reasons[: REJECTED_RETURNED - len(self._rejected)])
        texts = {column: batch.rejected.texts.column(column) for column in batch.rejected.texts.column_names}
        reported = {
            "lakebed_file": [self._source.key] * len(reasons),
            "lakebed_line": [one.line for one in reasons],
            "lakebed_column": [one.column for one in reasons],
            "lakebed_value": [one.value for one in reasons],
            "lakebed_expected": [one.expected for one in reasons],
            **{name: [value] * len(reasons) for name, value in self._conversion.constants.items()},
        }
        arrays = [
            pa.array(reported[field.name], field.type)
            if field.name in reported
            else texts.get(field.name, pa.nulls(len(reasons), field.type))
            for field in side_schema(self._conversion)
        ]
        side.write(pa.table(arrays, schema=side_schema(self._conversion)))

    def _refusal(self, reasons: Sequence[RejectedValue]) -> LakebedError:
        first = reasons[0]
        if not first.column:
            return header_error(first)
        return BadValue(
            file=self._source.key,
            line=first.line,
            column=first.column,
            value=first.value,
            expected=first.expected,
            count=len(reasons),
            remedy=remedy(first.value, self._type_of(first.column)),
        )

    def _type_of(self, original: str) -> pa.DataType:
        name = next((name for known, name in self._conversion.columns if known == original), original)
        return self._types.get(name, pa.string())

    def _side_staging(self) -> Staging:
        staging = self._conversion.staging
        folder = f"{staging.folder.rstrip('/')}/{REJECTED_FOLDER}"
        return replace(staging, folder=folder, schema=side_schema(self._conversion))


def side_schema(conversion: Conversion) -> pa.Schema:
    return quarantine_schema((*conversion.constants, *(name for _, name in conversion.columns)))


def quarantine_schema(names: Iterable[str]) -> pa.Schema:
    """The quarantine's columns: where and why, then whose row it was and the row itself, as text."""
    reported = [
        ("lakebed_file", pa.string()),
        ("lakebed_line", pa.int64()),
        ("lakebed_column", pa.string()),
        ("lakebed_value", pa.string()),
        ("lakebed_expected", pa.string()),
    ]
    return pa.schema([*reported, *((name, pa.string()) for name in names)])
