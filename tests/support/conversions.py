"""Small conversions for tests: text in, the table and the facts out."""

import gzip
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.kernels.convert import Conversion, convert
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Converted, SourceFile, Staging

EXACT = pa.decimal128(38, 18)
MOMENT = pa.timestamp("us")
TEXT = pa.string()
TAGS = pa.map_(pa.string(), pa.string())

Packing = Literal["none", "gzip", "zip"]


def packed(data: bytes, packing: Packing) -> bytes:
    """The bytes as a file of that kind holds them."""
    if packing == "gzip":
        return gzip.compress(data)
    if packing == "zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("report.csv", data)
        return buffer.getvalue()
    return data


def run(
    folder: Path,
    data: str | bytes,
    columns: Sequence[tuple[str, pa.DataType]],
    *,
    compression: Packing = "none",
    constants: dict[str, str] | None = None,
    quarantine: bool = False,
    currency: str | None = None,
    content: Literal["csv", "parquet"] = "csv",
    raw: bytes | None = None,
) -> tuple[Converted, pa.Table]:
    """Converts one file whose columns keep their names, and reads back what was written."""
    file = folder / "report-1.csv"
    plain = data.encode() if isinstance(data, str) else data
    file.write_bytes(packed(plain, compression) if raw is None else raw)
    schema = pa.schema([*columns, *((name, TEXT) for name in constants or {})])
    conversion = Conversion(
        staging=Staging("test", str(folder / "out"), schema),
        storage=StorageSettings(),
        columns=tuple((name, name) for name, _ in columns),
        constants=constants or {},
        partition={},
        quarantine=quarantine,
        currency=currency,
    )
    facts = convert(conversion, SourceFile(str(file), file.name, content, compression, file.stat().st_size), "00000")
    return facts, written(folder / "out", facts, schema)


def written(folder: Path, facts: Converted, schema: pa.Schema) -> pa.Table:
    """The rows of the files that the facts name."""
    paths = [str(folder / output.path) for output in facts.files]
    return pads.dataset(paths, schema=schema, format="parquet").to_table() if paths else schema.empty_table()


def column(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table.column(name).to_pylist()
    return values
