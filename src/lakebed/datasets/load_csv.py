"""One CSV file into a table of a DuckDB connection: the specification's `load_csv_file`, on the kernels of the load."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from lakebed.engines.protocols.load import ConvertJob
from lakebed.engines.registry import local_engine
from lakebed.model import SourceColumn, SourceFile, Staging
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.duckdb import RULES, quote_identifier, quote_literal
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.identity import Identities, assign
from lakebed.schema.names import Naming, distinct_originals, has_finished_names
from lakebed.schema.types import Column, Schema
from lakebed.source.column_dictionary import DEFAULT_DECIMALS
from lakebed.source.deliveries import FileForm, file_form
from lakebed.source.header import read_header
from lakebed.source.schema import ManifestLike, incoming_schema, source_columns
from lakebed.storage import Storage, absolute
from lakebed.targets.duckdb.file import first_row
from lakebed.targets.duckdb.schema import evolve, read_schema


def load_csv_file(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    csv_path: str,
    manifest: ManifestLike,
    *,
    decimals: str = DEFAULT_DECIMALS,
    naming: Naming = "spec",
) -> int:
    """Loads one CSV, gzip or plain by its name, and returns how many rows came.

    The table is created, or gets the columns that it lacks, by the manifest and by the file's own header: what only the
    header has is taken as the dictionary of known columns has it, else as text. Each column is found by its original
    name, which its comment keeps, whatever order the headers of other months have. Schema and rows arrive together or
    not at all, inside the caller's transaction if there is one. Raises BadValue with file, line and column for a value
    that does not parse; nothing becomes NULL in silence.
    """
    storage = Storage()
    file = _source_file(str(csv_path), storage)
    current = read_schema(connection, table)
    planned = _plan(current, source_columns(manifest), read_header(file, storage), decimals, naming)
    with tempfile.TemporaryDirectory(prefix="lakebed-csv-") as folder:
        staging = Staging("csv", folder, to_arrow_schema(planned.evolution.final))
        converted = local_engine(storage.settings).convert(
            ConvertJob(files=(file,), columns=planned.columns, constants={}, staging=staging, partition={})
        )
        with _transaction(connection):
            evolve(connection, table, current, planned.evolution)
            for written in converted.files:
                connection.execute(
                    f"INSERT INTO {quote_identifier(table)} BY NAME SELECT * FROM"
                    f" read_parquet({quote_literal(f'{folder}/{written.path}')}, hive_partitioning = false)"
                )
    return converted.source.rows


@dataclass(frozen=True)
class _Planned:
    evolution: EvolutionPlan
    columns: Schema  # those of the file, by original, as the table names and types them


def _plan(
    current: Schema | None, listed: tuple[SourceColumn, ...], header: tuple[str, ...], decimals: str, naming: Naming
) -> _Planned:
    """The manifest's columns first, in its order, then those that only the file has."""
    names = distinct_originals(column.original for column in listed)
    declared = {name: column.declared_type for name, column in zip(names, listed, strict=True)}
    columns = [SourceColumn(name, declared.get(name)) for name in dict.fromkeys((*names, *header))]
    originals = [column.original for column in columns]
    identities = Identities.from_schema(current or Schema())
    identities = assign(identities, originals, naming, finished_names=has_finished_names(originals))
    incoming = incoming_schema(columns, identities, decimals=decimals, current=current)
    evolution = plan_evolution(current, incoming, Policy(rules=RULES))
    final = evolution.final
    in_file = (
        Column(final[name].name, final[name].type, original=original)
        for original, name in ((original, identities[original]) for original in header)
    )
    return _Planned(evolution, Schema.of(in_file))


def _source_file(path: str, storage: Storage) -> SourceFile:
    uri = absolute(path)
    entry = storage.head(uri)
    form = file_form(uri) or FileForm("csv", "none")
    return SourceFile(uri, path, form.content, form.compression, entry.size_bytes, entry.etag)


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """A transaction of our own, or the caller's where one is open: a second BEGIN would abort it."""
    if _is_in_transaction(connection):
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _is_in_transaction(connection: duckdb.DuckDBPyConnection) -> bool:
    """Statements of one transaction have one id; outside of one, each has its own."""
    first, second = (first_row(connection, "SELECT txid_current()") for _ in range(2))
    return first == second
