"""Where a source that is large puts down what memory should not hold."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from lakebed.kernels.mapped import map_table, rechunked, write_batches
from lakebed.kernels.merge_files import at_once
from lakebed.storage import system_errors

# From so many rows on the keys of a source, and what is looked up in them, lie on disk in shares.
LARGE_ROWS = 1_048_576


class Spill:
    """A temporary folder, made when it is first needed and gone when the context ends."""

    def __init__(self, large_rows: int = LARGE_ROWS) -> None:
        self.large_rows = large_rows
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "Spill":
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def folder(self) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="lakebed-merge-")
        return self._folder.name

    def put_down(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, rows: int | None = None) -> pa.Table:
        """The rows on disk, mapped and not loaded, in batches of one length."""
        path = str(Path(self.folder, f"{uuid4().hex}.arrow"))
        with system_errors(self.folder):
            write_batches(path, schema, rechunked(batches, rows or at_once(schema)))
        return map_table(path)


def is_even(table: pa.Table) -> bool:
    """Whether the table lies in batches of one length, neither too short nor too long to be asked one by one."""
    lengths = [batch.num_rows for batch in table.to_batches()]
    fitting = at_once(table.schema)
    return (
        all(length == lengths[0] for length in lengths[:-1])
        and lengths[-1] <= lengths[0]
        and fitting // 4 <= lengths[0] <= fitting * 4
    )
