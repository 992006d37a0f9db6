"""The protocol of the load: an engine turns source files into new immutable Parquet files and says what it wrote."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.model import (
    DEFAULT_DIGITS,
    AnySlice,
    Compacted,
    Converted,
    DataFile,
    Digits,
    ScanFile,
    SortKey,
    SourceFile,
    Staging,
    Totals,
    WrittenFile,
)
from lakebed.schema.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.errors import LakebedError
    from lakebed.kernels.copy import CopiedBytes
    from lakebed.kernels.inspect import FileFacts

OnBadValue: TypeAlias = Literal["refuse", "quarantine"]


@dataclass(frozen=True)
class ConvertJob:
    """Source files in, files of the table's schema out.

    `columns` names each incoming column by its original header and says what it is called in the table; the type is the
    one of the staging's schema. What the table has besides is NULL, except for `constants`, which every row carries.
    `partition` goes into the paths; a partition column is also written into the files if the staging's schema has it.
    Without one each row goes to the partition of its own values. `currency_column` is a table name. A file that lacks
    one of the originals in `required` is refused; where columns are `expected`, what a file lacks is a warning.
    """

    files: tuple[SourceFile, ...]
    columns: Schema
    constants: Mapping[str, str]
    staging: Staging
    partition: Mapping[str, str] | None
    on_bad_value: OnBadValue = "refuse"
    currency_column: str | None = None
    required: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    expected: bool = True
    rounds: bool = True  # a number with more decimals than its column; else it does not fit
    inferred: tuple[str, ...] = ()  # columns that take no text but what inference would take for their type
    aliases: tuple[tuple[str, str], ...] = ()  # further originals of columns
    waiting: tuple[str, ...] = ()  # originals that hold nothing, of which the table has no column yet


@dataclass(frozen=True)
class InspectJob:
    """Files of which nothing is known but what they are called.

    `delimiter`, `quote` and `encoding` are what the user says of them; what is None is found out.
    """

    files: tuple[SourceFile, ...]
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    infer: bool = True
    digits: Digits = DEFAULT_DIGITS
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class CompactJob:
    """Packs of files in, one file of the staging's schema out for each. The files of a pack are of one partition."""

    packs: tuple[tuple[DataFile, ...], ...]
    staging: Staging
    sort_by: tuple[SortKey, ...] = ()


@dataclass(frozen=True)
class CountJob:
    """Files of a table, whose rows of a slice are to be counted and summed up.

    `schema` has the columns, the currency and those of the slice, with field ids where the table has them.
    """

    files: tuple[ScanFile, ...]
    schema: "pa.Schema"
    columns: tuple[str, ...]
    currency: str | None
    slice: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FileDone:
    """Progress: one source file has been converted."""

    file: SourceFile
    rows: int


LoadProgress: TypeAlias = Callable[[FileDone], None]


class Engine(Protocol):
    """Reads, converts, rewrites; decides nothing."""

    @property
    def name(self) -> str: ...

    def copy(self, pairs: Sequence[tuple[str, str]]) -> "Sequence[CopiedBytes | LakebedError]":
        """Copies files, each from one place to another that workers reach, and says of each what arrived or why not."""
        ...

    def inspect(self, job: InspectJob) -> "tuple[FileFacts, ...]":
        """Reads every file once and says what it is, in the order of the job, or raises what the first bad one is."""
        ...

    def convert(self, job: ConvertJob, progress: LoadProgress | None = None) -> Converted:
        """Converts every file of the job, or raises and leaves only staged files behind."""
        ...

    def convert_all(self, jobs: Sequence[ConvertJob]) -> "Sequence[Converted | LakebedError]":
        """Converts several jobs at once: of each what came out of it, or why nothing did."""
        ...

    def rewrite(
        self,
        files: Sequence[DataFile],
        staging: Staging,
        *,
        without: AnySlice | None = None,
        only: AnySlice | None = None,
    ) -> tuple[WrittenFile, ...]:
        """The rows of these files in the staging's schema, without those of a slice, or `only` those of one."""
        ...

    def count(self, job: CountJob) -> Totals:
        """Rows and exact sums of the committed files."""
        ...

    def compact(self, job: CompactJob) -> tuple[Compacted, ...]:
        """Makes one file of each pack, and says what went in and what was read back."""
        ...
