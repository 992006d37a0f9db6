"""What travels to a worker and what comes back: plain values, made of the standard library and pyarrow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

import pyarrow as pa

from lakebed.kernels.storage_settings import StorageSettings


@dataclass(frozen=True)
class Input:
    """One source file: where it lies, and the name under which messages speak of it."""

    uri: str
    key: str
    content: Literal["csv", "parquet"]
    compression: Literal["none", "gzip", "zip"]


@dataclass(frozen=True)
class Place:
    """Where files are written, and the schema that they have. A partition column may also be a column of the schema."""

    folder: str
    schema: pa.Schema
    storage: StorageSettings


@dataclass(frozen=True)
class Conversion:
    """What every file of one job becomes.

    `columns` pairs the name in the file's header with the name in the table. A column of the table that is in neither
    `columns` nor `constants` is NULL.
    """

    place: Place
    columns: tuple[tuple[str, str], ...]
    constants: Mapping[str, str]
    partition: Mapping[str, str | None]
    quarantine: bool = False
    currency: str | None = None


@dataclass(frozen=True)
class Output:
    """A file that was written: its path below the folder, and minimum, maximum and NULLs of its columns."""

    path: str
    rows: int
    size_bytes: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    bounds: Mapping[str, tuple[object, object, int | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rejected:
    """One value that did not parse."""

    line: int | None
    column: str
    value: str
    expected: str


@dataclass(frozen=True)
class Facts:
    """What converting one file found: everything that the driver ever sees of its rows."""

    outputs: tuple[Output, ...] = ()
    rows: int = 0
    sums: Mapping[str, Decimal] = field(default_factory=dict)
    by_currency: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    rounding: Mapping[str, tuple[int, Decimal]] = field(default_factory=dict)
    rejected: tuple[Rejected, ...] = ()
    rejected_rows: int = 0
    rejected_outputs: tuple[Output, ...] = ()
    warnings: tuple[str, ...] = ()
