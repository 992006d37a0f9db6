"""Values passed between the steps and to workers: frozen, engine-free, each with one meaning.

It needs the standard library and pyarrow only, and travels to workers with the kernels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

# Money is added up in this, before and after it is written: it has more digits than a sum of decimals, or of doubles
# from 1e308 to 5e-324, can have. The default of 28 would round. Inexact is a trap, not a guess; NaN stays NaN.
EXACT = Context(prec=1000, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact])

# The four columns that every loaded table has besides those of the source. Reserved.
PAYER = "lakebed_payer"
REPORT = "lakebed_report"
PERIOD = "lakebed_period"
DELIVERY = "lakebed_delivery"
RESERVED_COLUMNS = (PAYER, REPORT, PERIOD, DELIVERY)

# The column of a table that `lakebed ingest` fills: the checksum of the file that a row came from. Reserved too.
FILE = "lakebed_file"

# The column of the table beside a loaded one that keeps replaced rows: the load that they came with. Reserved too.
LOAD = "lakebed_load"

Content: TypeAlias = Literal["csv", "json", "parquet"]
Compression: TypeAlias = Literal["none", "gzip", "zip"]
SourceKind: TypeAlias = Literal["cur", "cur2", "focus", "plain"]
DeliveryState: TypeAlias = Literal["discovered", "staging", "staged", "loading", "loaded", "failed", "superseded"]

WriteMode: TypeAlias = Literal["append", "replace_slice", "overwrite"]
"""What becomes of the rows that a table has: all stay, those of a slice go, or all go."""
# The fields that a source lacks inside a struct that it has: None is the whole field, else what a struct in it lacks.
Lacking: TypeAlias = "Mapping[str, Lacking | None]"


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """What one delivery replaces: the rows of one payer, report and period."""

    payer: str
    report: str
    period: str

    @property
    def values(self) -> dict[str, str]:
        """The columns that every row of the slice agrees on."""
        return {PAYER: self.payer, REPORT: self.report, PERIOD: self.period}

    def __str__(self) -> str:
        return f"{self.report} {self.period} of {self.payer}"


@dataclass(frozen=True, slots=True)
class ColumnSlice:
    """The rows whose columns have these values, each a Python value of its column's type; None is NULL.

    A frozenset is any of its values, none of which is NULL. Without a column it is every row.
    """

    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.values.items()) or "all rows"


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return f"is one of {len(value)} values"
    return f"= {'NULL' if value is None else value}"


AnySlice: TypeAlias = Slice | ColumnSlice


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as its source declares it: the original name, and the source's own word for the type, if it has one.

    A struct, list or map of a Parquet file is `nested` too, which no word can say.
    """

    original: str
    declared_type: str | None = None
    nested: "pa.DataType | None" = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written: what parts its fields, what they may be put between (None: nothing), its encoding.

    Before its header may be lines that are no data: Excel writes `sep=;` there.
    """

    delimiter: str = ","
    quote: str | None = '"'
    encoding: str = "utf-8"
    skipped_lines: int = 0

    def __str__(self) -> str:
        names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks", ":": "colons"}
        quoted = "no quotes" if self.quote is None else f"quotes {self.quote}"
        return f"{names.get(self.delimiter, self.delimiter)}, {quoted}, {self.encoding}"


@dataclass(frozen=True, slots=True)
class Digits:
    """The decimal type that numbers with a point are to fit."""

    precision: int = 38
    scale: int = 18

    @property
    def whole(self) -> int:
        return self.precision - self.scale


DEFAULT_DIGITS = Digits()


@dataclass(frozen=True, slots=True)
class GzipMember:
    """A member of a gzip file: where it begins in the file, and where its text begins in the whole text."""

    packed_at: int = 0
    text_at: int = 0


@dataclass(frozen=True, slots=True)
class FilePart:
    """Records of a large file: its text from `start` to `end`, in bytes, after a header that ends at `header`.

    `line` is the number of the first of its lines. The text of a gzip file is unpacked from its `member` on.
    """

    start: int
    end: int
    header: int
    line: int
    member: GzipMember | None = None

    @property
    def is_first(self) -> bool:
        return not self.start


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """Some of the data files in a ZIP: from the `first` on, before the one that is number `stop`; bytes of text."""

    first: int
    stop: int
    size_bytes: int

    @property
    def is_first(self) -> bool:
        return not self.first


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a delivery, or a part of one: where it lies now, and the name that messages use for it.

    A file without a manifest may have a `dialect` of its own, columns that its `folders` give to all its rows, by their
    originals, and an `identity` that its rows carry. Where its `sha256` is known, it must be that when it is read.
    """

    uri: str
    key: str
    content: Content
    compression: Compression
    size_bytes: int
    etag: str | None = None
    dialect: Dialect | None = None
    folders: tuple[tuple[str, str | None], ...] = ()
    identity: str | None = None
    sha256: str | None = None
    part: FilePart | ArchivePart | None = None


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A copy of one source file: where it lies, and what it must still be when it is read."""

    key: str
    uri: str
    size_bytes: int
    sha256: str
    etag: str | None = None  # of the source object when it was copied


@dataclass(frozen=True, slots=True)
class Delivery:
    """One whole month to date of one report, as its manifest describes it.

    `columns` are those of the manifest until its files have been looked at, then those of the files; `listed` are the
    manifest's all the time, spelt as the files spell them. A file is `missing` where it is not there or holds nothing;
    the latter are `empty` too.
    """

    slice: Slice
    id: str
    kind: SourceKind
    manifest: str | None
    columns: tuple[SourceColumn, ...]
    files: tuple[SourceFile, ...]
    missing: tuple[str, ...] = ()
    created_at: datetime | None = None
    overwritten_in_place: bool = False
    manifest_etag: str | None = None
    listed: tuple[SourceColumn, ...] = ()
    empty: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Every file that the manifest lists is there."""
        return not self.missing

    @property
    def missing_names(self) -> tuple[str, ...]:
        """The missing files as messages name them."""
        return tuple(f"{key} (0 bytes)" if key in self.empty else key for key in self.missing)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a file says of one column. `exact` is False where the format shortened the text of minimum or maximum."""

    minimum: object | None
    maximum: object | None
    nulls: int | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table as it stands. `partition` has the columns whose values are partitions; where a table has others
    (months, buckets), files of one partition agree in `partition_key` too.
    """

    uri: str
    rows: int
    size_bytes: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    fingerprint: str = ""
    partition_key: str = ""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A new immutable file that an engine wrote into a staging folder; `path` is relative to that folder."""

    path: str
    rows: int
    size_bytes: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Totals:
    """Rows and exact sums of a slice; `by_currency` has the sums again for each currency code."""

    rows: int
    sums: Mapping[str, Decimal] = field(default_factory=dict)
    by_currency: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rounding:
    """What a narrower decimal type cost one column: values changed, and the table's sum minus the source's."""

    values: int
    difference: Decimal


@dataclass(frozen=True, slots=True)
class RejectedValue:
    """A value that did not parse, kept for the quarantine table with the row it stood in.

    Rows of Parquet files are counted from 1; a row with too few or too many fields has an empty `column`.
    """

    file: str
    line: int | None
    column: str
    value: str
    expected: str


@dataclass(frozen=True, slots=True)
class Converted:
    """What a conversion wrote and what it found, measured on the source before anything was rounded.

    `rejected` has the first values of each file that were kept out; all rows kept out are in `rejected_files`, as text.
    `source` counts what went into the table, so the rows of the files are `source.rows + rejected_rows`.
    """

    files: tuple[WrittenFile, ...]
    source: Totals
    rounding: Mapping[str, Rounding] = field(default_factory=dict)
    rejected: tuple[RejectedValue, ...] = ()
    rejected_rows: int = 0
    rejected_files: tuple[WrittenFile, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """Rows that a merge inserts, updates and deletes: counted, never estimated."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.inserted or self.updated or self.deleted)

    def __add__(self, other: "MergeCounts") -> "MergeCounts":
        return MergeCounts(self.inserted + other.inserted, self.updated + other.updated, self.deleted + other.deleted)


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge, or one task of it, wrote, and the rows it counted while writing."""

    files: tuple[WrittenFile, ...]
    counts: MergeCounts


@dataclass(frozen=True, slots=True)
class Contents:
    """What rows hold, whatever their order: how many they are, NULLs by column, exact sums of numbers, text lengths."""

    rows: int
    nulls: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compacted:
    """Files that became one: what was read from the old ones, and what was read back from the new one."""

    files: tuple[WrittenFile, ...]
    before: Contents
    after: Contents


@dataclass(frozen=True, slots=True)
class SortKey:
    """One column of an order of rows."""

    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class EqualityDelete:
    """A file in which others deleted rows by their values, and the columns that it compares, with field ids."""

    uri: str
    columns: "pa.Schema"


@dataclass(frozen=True, slots=True)
class ScanFile:
    """One data file to read, the partition that it belongs to, and the files in which others deleted rows of it: by
    their positions, or by their values.
    """

    uri: str
    partition: Mapping[str, str | None] = field(default_factory=dict)
    deletes: tuple[str, ...] = ()
    equality: tuple[EqualityDelete, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Every row of it counts."""
        return not self.deletes and not self.equality


@dataclass(frozen=True, slots=True)
class Staging:
    """Where an engine writes before a commit, and the physical schema, with field ids where the format has them."""

    id: str
    folder: str
    schema: "pa.Schema"
    partition_by: tuple[str, ...] = ()
