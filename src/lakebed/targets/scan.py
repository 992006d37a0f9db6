"""A read as a plan: which files, in which schema, and what must be known to read them rightly."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lakebed.model import ScanFile
from lakebed.schema.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScanPlan:
    """The files of a table as it stands; `physical` is its schema in Arrow, with field ids where there are any."""

    schema: Schema
    physical: "pa.Schema"
    files: tuple[ScanFile, ...]
    partition_by: tuple[str, ...] = ()
    by_field_id: bool = False
    partition_in_path: bool = False

    @property
    def readable_by_name(self) -> bool:
        """Any Parquet reader that fills missing columns with NULL reads these files rightly."""
        return not self.by_field_id and all(file.is_whole for file in self.files)


@runtime_checkable
class Scannable(Protocol):
    """A target that knows more about reading its files than their names and partitions."""

    def scan_plan(self) -> ScanPlan: ...
