"""Removal and arrival of rows, inside the one transaction of a commit."""

from collections.abc import Sequence

import pyarrow.dataset as pads

from lakebed.errors import SchemaError, TargetError
from lakebed.kernels.files import filesystem
from lakebed.model import LOAD, AnySlice, Staging, WrittenFile
from lakebed.schema.duckdb import RULES, quote_identifier, quote_literal
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.types import Column, Schema, Text
from lakebed.storage import Storage, is_local, join, local_path
from lakebed.targets.duckdb.file import Connection, first_row
from lakebed.targets.duckdb.schema import evolve, read_schema
from lakebed.targets.duckdb.slices import where
from lakebed.targets.load_log import HISTORY, LoggedLoad


def delete_slice(connection: Connection, table: str, schema: Schema, slice_: AnySlice) -> None:
    """Removes the rows of a slice; a table without the columns that tell them apart is refused."""
    if absent := [column for column in slice_.values if column not in schema]:
        raise SchemaError(
            f"{table} has no column {', '.join(absent)}, so the rows of {slice_} cannot be told apart",
            remedy="Load into a table of its own: this one was not made by lakebed.",
        )
    condition, values = where(slice_)
    connection.execute(f"DELETE FROM {quote_identifier(table)}{condition}", values)


def keep_rows(connection: Connection, table: str, schema: Schema, load: LoggedLoad) -> None:
    """Copies the rows of a load that is about to be replaced into the table of such rows, which is made if need be."""
    beside = f"{table}{HISTORY}"
    current = read_schema(connection, beside)
    if current is not None and LOAD not in current:
        raise TargetError(
            f"{table} cannot keep replaced deliveries in {beside}: there is another table of that name",
            remedy=f"Rename {beside}, or load into a table of another name.",
        )
    plan = plan_evolution(current, schema.with_columns([Column(LOAD, Text())]), Policy(rules=RULES))
    evolve(connection, beside, current, plan)
    condition, values = where(load.slice)
    names = ", ".join(map(quote_identifier, schema.names))
    connection.execute(
        f"INSERT INTO {quote_identifier(beside)} BY NAME SELECT {names}, ? AS {quote_identifier(LOAD)}"
        f" FROM {quote_identifier(table)}{condition}",
        [load.id, *values],
    )


def forget_rows(connection: Connection, table: str, ids: Sequence[str]) -> None:
    """Removes the rows of loads that are kept no longer."""
    beside = f"{table}{HISTORY}"
    if ids and (schema := read_schema(connection, beside)) is not None and LOAD in schema:
        connection.execute(
            f"DELETE FROM {quote_identifier(beside)} WHERE {quote_identifier(LOAD)} IN (SELECT unnest(?))", [list(ids)]
        )


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
