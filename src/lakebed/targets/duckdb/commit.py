"""Removal and arrival of rows, inside the one transaction of a commit."""

from collections.abc import Sequence

import pyarrow.dataset as pads

from lakebed.errors import SchemaError, TargetError
from lakebed.kernels.files import filesystem
from lakebed.model import AnySlice, Staging, WrittenFile
from lakebed.schema.duckdb import quote_identifier, quote_literal
from lakebed.schema.types import Schema
from lakebed.storage import Storage, is_local, join, local_path
from lakebed.targets.duckdb.file import Connection, first_row
from lakebed.targets.duckdb.slices import where


def delete_slice(connection: Connection, table: str, schema: Schema, slice_: AnySlice) -> None:
    """Removes the rows of a slice; a table without the columns that tell them apart is refused."""
    if absent := [column for column in slice_.values if column not in schema]:
        raise SchemaError(
            f"{table} has no column {', '.join(absent)}, so the rows of {slice_} cannot be told apart",
            remedy="Load into a table of its own: this one was not made by lakebed.",
        )
    condition, values = where(slice_)
    connection.execute(f"DELETE FROM {quote_identifier(table)}{condition}", values)


def insert_staged(
    connection: Connection, table: str, staging: Staging, files: Sequence[WrittenFile], storage: Storage
) -> None:
    """Inserts the rows of staged files by name, and raises where not as many came as their writer said."""
    if not files:
        return
    columns = ", ".join(map(quote_identifier, staging.schema.names))
    into = f"INSERT INTO {quote_identifier(table)} BY NAME SELECT {columns} FROM"
    if is_local(staging.folder):
        done = first_row(connection, f"{into} {staged_rows(staging, files)}")
    else:
        # DuckDB needs an extension for object stores, PyArrow does not.
        settings = storage.settings.resolved()
        opened = [filesystem(join(staging.folder, file.path), settings) for file in files]
        staged = pads.dataset(
            [path for _, path in opened], schema=staging.schema, format="parquet", filesystem=opened[0][0]
        )
        connection.register("lakebed_staged", staged)
        done = first_row(connection, f"{into} lakebed_staged")
        connection.unregister("lakebed_staged")
    if done is None or done[0] != (expected := sum(file.rows for file in files)):
        raise TargetError(f"{table}: {done and done[0]} rows arrived, their writer said {expected}")


def staged_rows(staging: Staging, files: Sequence[WrittenFile]) -> str:
    """The rows of staged local files as a table function."""
    paths = (str(local_path(join(staging.folder, file.path))) for file in files)
    names = ", ".join(quote_literal(_literal_path(path)) for path in paths)
    return f"read_parquet([{names}], hive_partitioning = false)"


def _literal_path(path: str) -> str:
    """A path that DuckDB takes letter by letter, though it reads names as patterns."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
