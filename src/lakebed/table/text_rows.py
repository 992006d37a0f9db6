"""CSV and JSON files as rows of a merge, typed by the table they go into; a value that does not fit is named.

Text has no types: a column that the table has is read as the table's type, to the last digit, and one that it lacks as
text from CSV, or as what JSON makes of it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, islice
from typing import IO, Any, Protocol

import pyarrow as pa

from lakebed.errors import BadValue, SourceError
from lakebed.kernels.blocks import BlockReader, Misaligned
from lakebed.kernels.conform import as_type
from lakebed.kernels.csv import CsvReader
from lakebed.kernels.header import distinct_originals
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import corruption_as_source_error, open_streams
from lakebed.kernels.values import expectation, typed
from lakebed.model import RejectedValue, SourceFile

ROWS_AT_ONCE = 10_000
REMEDY = "Correct the file and merge it again: nothing was merged."

Row = dict[str, Any]


class TextRows(Protocol):
    """One file: what it holds, and its rows as often as they are asked for."""

    def schema(self) -> pa.Schema: ...

    def batches(self) -> Iterator[pa.Table]: ...


@dataclass(frozen=True)
class CsvRows:
    """A CSV file with a header. `types` are those of the table's columns, by folded name."""

    file: SourceFile
    types: Mapping[str, pa.DataType]
    storage: StorageSettings

    def schema(self) -> pa.Schema:
        with corruption_as_source_error(self.file), closing(open_streams(self.file, self.storage)) as streams:
            header = distinct_originals(BlockReader(next(streams), key=self.file.key, exact=False).header)
        return pa.schema([(name, _plain_type(self.types.get(name.casefold()))) for name in header])

    def batches(self) -> Iterator[pa.Table]:
        schema = self.schema()
        read = 0
        try:
            for table in self._read(schema, exact=False):
                read += table.num_rows
                yield table
        except Misaligned:
            # Rows already given are given once: the second reading begins behind them.
            for table in self._read(schema, exact=True):
                skipped = min(read, table.num_rows)
                read -= skipped
                if skipped < table.num_rows:
                    yield table.slice(skipped)

    def _read(self, schema: pa.Schema, *, exact: bool) -> Iterator[pa.Table]:
        columns = [(name, name) for name in schema.names]
        types = {field.name: field.type for field in schema}
        with corruption_as_source_error(self.file), closing(open_streams(self.file, self.storage)) as streams:
            for stream in streams:
                for batch in CsvReader(stream, key=self.file.key, columns=columns, types=types, exact=exact):
                    if batch.rejected is not None:
                        raise _refusal(batch.rejected.reasons[0], len(batch.rejected.reasons))
                    yield pa.table(
                        [self._fitted(batch.rows.column(field.name), field) for field in schema], schema=schema
                    )

    def _fitted(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        try:
            return as_type(column, field.type)
        except pa.ArrowInvalid as error:
            raise SourceError(
                f"{self.file.key}, column {field.name}: a number has more digits than {field.type}: {error}",
                remedy=REMEDY,
            ) from error


@dataclass(frozen=True)
class JsonRows:
    """A JSON file: an object on each line, or one list of objects."""

    file: SourceFile
    types: Mapping[str, pa.DataType]
    storage: StorageSettings

    def schema(self) -> pa.Schema:
        """The columns in the order in which they first occur; all lines are read, since each may have others."""
        found: dict[str, pa.DataType] = {}
        for rows in self._chunks():
            for name in dict.fromkeys(name for _, row in rows for name in row):
                known = self.types.get(name.casefold())
                if known is not None:
                    found[name] = known
                    continue
                here = self._inferred(name, [row.get(name) for _, row in rows])
                if name in found and found[name] != here:
                    both = [pa.schema([(name, kind)]) for kind in (found[name], here)]
                    here = self._unified(name, both)
                found[name] = here
        return pa.schema(list(found.items()))

    def batches(self) -> Iterator[pa.Table]:
        schema = self.schema()
        for rows in self._chunks():
            yield pa.table([self._column(field, rows) for field in schema], schema=schema)

    def _column(self, field: pa.Field, rows: list[tuple[int, Row]]) -> pa.ChunkedArray:
        values = [row.get(field.name) for _, row in rows]
        if pa.types.is_nested(field.type) or field.name.casefold() not in self.types:
            try:
                return pa.chunked_array([_array(values, field.type)])
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
                raise SourceError(
                    f"{self.file.key}, column {field.name}: a value is not {field.type}: {error}", remedy=REMEDY
                ) from error
        texts = pa.chunked_array([pa.array([_text(value) for value in values], pa.string())])
        parsed = typed(texts, field.type)
        if parsed.bad:
            first = parsed.bad[0]
            value = texts[first].as_py() or ""
            wrong = RejectedValue(self.file.key, rows[first][0], field.name, value, expectation(field.type))
            raise _refusal(wrong, len(parsed.bad))
        return parsed.values

    def _inferred(self, name: str, values: list[Any]) -> pa.DataType:
        try:
            return pa.infer_type([_with_floats(value) for value in values])
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise self._mixed(name, error) from error

    def _unified(self, name: str, schemas: list[pa.Schema]) -> pa.DataType:
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise self._mixed(name, error) from error

    def _mixed(self, name: str, error: Exception) -> SourceError:
        return SourceError(
            f"{self.file.key}, column {name}: its values are of several types: {error}",
            remedy="Write them as one type, or add the column to the table first: lakebed evolve.",
        )

    def _chunks(self) -> Iterator[list[tuple[int, Row]]]:
        with corruption_as_source_error(self.file), closing(open_streams(self.file, self.storage)) as streams:
            for stream in streams:
                rows = self._rows(stream)
                while chunk := list(islice(rows, ROWS_AT_ONCE)):
                    yield chunk

    def _rows(self, stream: IO[bytes]) -> Iterator[tuple[int, Row]]:
        lines = _lines(stream)
        first = next(((number, line) for number, line in lines if line.strip()), None)
        if first is None:
            return
        if first[1].lstrip().startswith(b"["):
            whole = b"\n".join([first[1], *(line for _, line in lines)])
            listed = self._parsed(whole, first[0])
            if not isinstance(listed, list):
                raise self._no_object(first[0], listed)
            yield from ((first[0], self._object(one, first[0])) for one in listed)
            return
        for number, line in chain([first], lines):
            if line.strip():
                yield number, self._object(self._parsed(line, number), number)

    def _parsed(self, text: bytes, line: int) -> Any:
        try:
            return json.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            at = line + (error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0)
            raise SourceError(f"{self.file.key}, line {at}: not JSON: {error}", remedy=REMEDY) from error

    def _object(self, value: Any, line: int) -> Row:
        if not isinstance(value, dict):
            raise self._no_object(line, value)
        return value

    def _no_object(self, line: int, value: object) -> SourceError:
        return SourceError(
            f"{self.file.key}, line {line}: a row is an object of columns, and this is {type(value).__name__}",
            remedy=REMEDY,
        )


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream by their numbers. Streams of archives have `read` and nothing else."""
    pending, number = b"", 0
    while block := stream.read(1 << 20):
        *whole, pending = (pending + block).split(b"\n")
        for line in whole:
            number += 1
            yield number, line
    if pending:
        yield number + 1, pending


def _plain_type(kind: pa.DataType | None) -> pa.DataType:
    """A type that text can be read as; what is nested stays text, and is refused by name where the table has more."""
    return pa.string() if kind is None or pa.types.is_nested(kind) or pa.types.is_binary(kind) else kind


def _text(value: object) -> str | None:
    """A JSON value as CSV would write it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else json.dumps(value, default=str, ensure_ascii=False)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([_with_floats(value) for value in values], kind)


def _with_floats(value: Any) -> Any:
    """Numbers with a point as the floats that JSON's readers make of them, where no column wants them exact."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_with_floats(part) for part in value]
    return {name: _with_floats(part) for name, part in value.items()} if isinstance(value, dict) else value


def _refusal(wrong: RejectedValue, count: int) -> SourceError:
    if not wrong.column:
        return SourceError(f"{wrong.file}, line {wrong.line}: expected {wrong.expected}", remedy=REMEDY)
    return BadValue(
        file=wrong.file,
        line=wrong.line,
        column=wrong.column,
        value=wrong.value,
        expected=wrong.expected,
        count=count,
        remedy=REMEDY,
    )


def unified(files: Iterable[pa.Schema]) -> pa.Schema:
    """The columns of several files, by name, in the order in which they first occur."""
    return pa.unify_schemas(list(files), promote_options="permissive")
