"""Which data files of a table hold rows of a slice."""

from collections.abc import Iterable

from pyiceberg.table import Table

from lakebed.model import AnySlice, DataFile
from lakebed.targets.base import Affected
from lakebed.targets.iceberg.schema import physical_schema
from lakebed.targets.shared import slices


def affected(files: Iterable[DataFile], slice_: AnySlice, table: Table) -> Affected:
    """The files that the slice touches."""
    names = [name for name in slice_.values if name in table.schema().column_names]
    columns = physical_schema(table.schema().select(*names))
    return slices.affected(list(files), slice_, columns, lambda file: table.io.new_input(file.uri).open())
