"""Writes the data files of a delivery: the same bytes for the same seed."""

import io
import json
import zipfile
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from lakebed.samples.columns import TAG, athena_name
from lakebed.samples.kinds import MAPS, NUMBER_MAPS, SampleFormat
from lakebed.samples.rows import SampleTally, Sheet, header, headers, write_rows

# isal packs ten times as fast; there is no wheel of it for every machine.
gzip = import_module("isal.igzip" if find_spec("isal") else "gzip")

SUFFIXES: dict[SampleFormat, str] = {
    "gzip": "csv.gz",
    "zip": "csv.zip",
    "csv": "csv",
    "parquet": "snappy.parquet",
}


class SupportsWrite(Protocol):
    """What a CSV is written to: a file, or something that packs it."""

    def write(self, data: bytes, /) -> object: ...


def write_file(
    path: Path, format: SampleFormat, sheet: Sheet, rng: Random, rows: int, tally: SampleTally, *, last: bool
) -> None:
    """One file of a delivery. Nothing in it depends on the clock or the machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if format == "parquet":
        buffer = io.BytesIO()
        _write_csv(buffer, sheet, rng, rows, tally, last=last)
        pq.write_table(_typed(buffer.getvalue(), sheet), path, compression="snappy")
        return
    with path.open("wb") as file:
        if format == "gzip":
            # The name and the time would be part of the header.
            with closing(gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=1, mtime=0)) as packed:
                _write_csv(packed, sheet, rng, rows, tally, last=last)
        elif format == "zip":
            member = zipfile.ZipInfo(path.name.removesuffix(".zip"), date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            with zipfile.ZipFile(file, "w") as archive, archive.open(member, "w", force_zip64=True) as packed:
                _write_csv(packed, sheet, rng, rows, tally, last=last)
        else:
            _write_csv(file, sheet, rng, rows, tally, last=last)


def _write_csv(file: SupportsWrite, sheet: Sheet, rng: Random, rows: int, tally: SampleTally, *, last: bool) -> None:
    file.write(header(sheet).encode())
    write_rows(sheet, rng, rows, tally, file.write, last=last)


def finished_names(sheet: Sheet) -> dict[str, str]:
    """What each column is called in Parquet. Of two that would be alike, AWS's Parquet has one."""
    names: dict[str, str] = {}
    for original in headers(sheet):
        name = athena_name(original) if TAG in {cell.header for cell in sheet.cells} else original
        if name not in names.values():
            names[original] = name
    return names


def _typed(text: bytes, sheet: Sheet) -> pa.Table:
    """The lines with the types of AWS's own Parquet: doubles, timestamps, maps, and text for the rest."""
    decimals = {cell.header for cell in sheet.cells if cell.is_decimal}
    times = {cell.header for cell in sheet.cells if cell.key.endswith("Date")}
    names = finished_names(sheet)
    types = {
        name: pa.float64() if name in decimals else pa.timestamp("ms") if name in times else pa.string()
        for name in names
    }
    table = pa.csv.read_csv(
        pa.BufferReader(text),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(names),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            timestamp_parsers=["%Y-%m-%dT%H:%M:%SZ"],
        ),
    )
    table = table.rename_columns(list(names.values()))
    for name in MAPS:
        if (index := table.schema.get_field_index(name)) >= 0:
            value = pa.float64() if name in NUMBER_MAPS else pa.string()
            table = table.set_column(index, name, _as_map(table.column(name), value))
    return table


def _as_map(column: pa.ChunkedArray, value: pa.DataType) -> pa.Array:
    """JSON objects as a map; there are few different ones, so each is parsed once."""
    coded = column.combine_chunks().dictionary_encode()
    parsed = [list(json.loads(text).items()) for text in coded.dictionary.to_pylist()]
    return pa.array(parsed, pa.map_(pa.string(), value)).take(coded.indices)
