"""One source file in, Parquet files and facts out: the task that a worker runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import BadValue, LakebedError
from lakebed.kernels.blocks import Misaligned
from lakebed.kernels.csv import Batch, CsvReader, header_error
from lakebed.kernels.facts import ExactTally
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.kernels.parquet import ParquetOutput
from lakebed.kernels.parquet_source import read_parquet
from lakebed.kernels.remedies import remedy
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import corruption_as_source_error, open_streams
from lakebed.model import Converted, RejectedValue, SourceFile, Staging

# All rejected rows are in the side files; of their values this many travel to the driver.
REJECTED_RETURNED = 1000
REJECTED_FOLDER = "_rejected"


@dataclass(frozen=True)
class Conversion:
    """What every file of one job becomes.

    `columns` pairs the name in the file's header with the name in the table. A column of the table that is in neither
    `columns` nor `constants` is NULL. Every file must have the headers in `required`. A partition column may also be a
    column of the staging's schema.
    """

    staging: Staging
    storage: StorageSettings
    columns: tuple[tuple[str, str], ...]
    constants: Mapping[str, str]
    partition: Mapping[str, str | None]
    quarantine: bool = False
    currency: str | None = None
    required: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS


def convert(conversion: Conversion, source: SourceFile, name: str) -> Converted:
    """Converts one file, or raises a SourceError that names file, line and column."""
    try:
        return _Task(conversion, source, name, exact=False).run()
    except Misaligned:
        return _Task(conversion, source, name, exact=True).run()


class _Task:
    def __init__(self, conversion: Conversion, source: SourceFile, name: str, *, exact: bool) -> None:
        self._conversion = conversion
        self._source = source
        self._name = name
        self._exact = exact
        self._schema = conversion.staging.schema
        self._types = {field.name: field.type for field in self._schema}
        decimals = [
            column for _, column in conversion.columns if pa.types.is_decimal(self._types.get(column, pa.null()))
        ]
        self._tally = ExactTally(decimals, conversion.currency)
        self._rejected: list[RejectedValue] = []
        self._rejected_rows = 0
        self._warnings: list[str] = []

    def run(self) -> Converted:
        conversion, storage = self._conversion, self._conversion.storage
        output = ParquetOutput(conversion.staging, storage, name=self._name, partition=conversion.partition)
        side = ParquetOutput(self._side_staging(), storage, name=self._name, partition={})
        try:
            for batch in self._batches():
                if batch.rejected is not None:
                    self._reject(batch, side)
                self._tally.add(batch.rows)
                output.write(self._shaped(batch))
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

    def _batches(self) -> Iterator[Batch]:
        storage, columns, limits = self._conversion.storage, self._conversion.columns, self._conversion.limits
        if self._source.content == "parquet":
            read = read_parquet(self._source, storage, columns, self._types, self._conversion.required)
            self._warn_missing(read.missing)
            yield from read.batches
            return
        with corruption_as_source_error(self._source), closing(open_streams(self._source, storage, limits)) as streams:
            for stream in streams:
                reader = CsvReader(
                    stream,
                    key=self._source.key,
                    columns=columns,
                    types=self._types,
                    exact=self._exact,
                    required=self._conversion.required,
                    limits=limits,
                )
                self._warn_missing(reader.missing)
                yield from reader
                self._warn_null_words(reader.null_words)

    def _warn_missing(self, missing: Sequence[str]) -> None:
        if missing:
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
        columns: list[pa.Array | pa.ChunkedArray] = []
        for field in self._schema:
            if field.name in present:
                columns.append(self._fitted(field.name, rows.column(field.name), field.type))
            elif field.name in self._conversion.constants:
                columns.append(pa.repeat(self._conversion.constants[field.name], count).cast(field.type))
            else:
                columns.append(pa.nulls(count, field.type))
        return pa.table(columns, schema=self._schema)

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
