"""What Spark's workers do for the data source `lakebed`: read files of a table, and write rows into parts of one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LakebedError
from lakebed.kernels.conform import as_type
from lakebed.kernels.rows import RowsTask, RowsWritten, attempt
from lakebed.kernels.scan import Scan
from lakebed.model import ScanFile


@dataclass(frozen=True)
class TableRows:
    """A planned read. `wire` are the columns that Spark asked for, in the types that it takes them in."""

    scan: Scan
    wire: pa.Schema
    condition: pc.Expression | None = None

    def read(self, part: ScanFile | pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows of one file, or those that the driver handed over."""
        batches = part.to_batches() if isinstance(part, pa.Table) else self.scan.read(part)
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            if self.condition is not None:
                rows = rows.filter(self.condition)
            columns = [as_type(rows.column(one.name), one.type) for one in self.wire]
            yield from pa.table(columns, schema=self.wire).to_batches()


@dataclass(frozen=True)
class PartWritten:
    """What one task wrote, and how: the commit takes the files as they are if the table still wants them so."""

    task: RowsTask
    written: RowsWritten


def write_part(task: RowsTask, batches: Iterable[pa.RecordBatch]) -> PartWritten | LakebedError:
    """The rows of one Spark partition; an error comes back as a value."""
    done = attempt(task, batches, "part")
    return done if isinstance(done, LakebedError) else PartWritten(task, done)
