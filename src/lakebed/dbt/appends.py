"""Appends that count once: the commit says which model wrote which rows, dbt's database that it knows of the commit.

The table is committed before dbt's database is. Where a run dies in between, the table holds a commit that dbt has not
acknowledged: the same rows again are then skipped, and other rows are refused, since nobody knows whether some of them
are there already.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import duckdb

from lakebed.errors import TargetError
from lakebed.schema.duckdb import quote_identifier, quote_literal
from lakebed.targets.base import TableState, Target
from lakebed.targets.snapshots import HasSnapshots

_OURS = "lakebed."  # what the records of snapshots leave out
MODEL = "lakebed.dbt.model"
INVOCATION = "lakebed.dbt.invocation"
DIGEST = "lakebed.dbt.digest"
NUMBER = "lakebed.dbt.append"

APPENDS = "lakebed.dbt_appends"


def writer_name(model: str) -> str:
    """Under which name a table numbers the appends of a model."""
    return f"dbt:{model}"


def digest_query(relation: str) -> str:
    """One value for all rows of a relation, in whatever order they are; a row that is there twice counts twice.

    DuckDB's hashes are those of one version of it, so the version is part of the value: after another is installed an
    interrupted append is not recognised, and refused.
    """
    hashes = f"SELECT hash(model_rows) AS h FROM {relation} AS model_rows"
    return (
        "SELECT version() || ':' || count(*) || ':' || coalesce(sum(h::HUGEINT), 0) || ':' || coalesce(bit_xor(h), 0)"
        f" FROM ({hashes})"
    )


@dataclass(frozen=True)
class Pending:
    """A commit that dbt's database does not know of. What cannot be found out any more is None."""

    number: int
    digest: str | None
    parent: int | None  # the snapshot before it
    snapshot: int | None


@dataclass(frozen=True)
class Acknowledgements:
    """Which appends dbt's database knows of: a table of its own in it."""

    database: str
    connect: Callable[[], duckdb.DuckDBPyConnection]

    @property
    def table(self) -> str:
        return f"{quote_identifier(self.database)}.{APPENDS}"

    def prepare(self) -> None:
        """Makes the table where there is none."""
        connection = self.connect()
        try:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self.table.rpartition('.')[0]}")
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self.table} (model VARCHAR, target VARCHAR, number BIGINT,"
                " acknowledged_at TIMESTAMPTZ DEFAULT now())"
            )
        finally:
            connection.close()

    def knows(self, model: str, address: str, number: int) -> bool:
        """Whether dbt's database was committed after this append."""
        connection = self.connect()
        try:
            found = connection.execute(
                f"SELECT 1 FROM {self.table} WHERE model = ? AND target = ? AND number = ?", [model, address, number]
            ).fetchall()
        finally:
            connection.close()
        return bool(found)

    def statement(self, model: str, address: str, number: int) -> str:
        """What dbt runs in the transaction that makes the append visible in its database."""
        values = f"{quote_literal(model)}, {quote_literal(address)}, {number}"
        return f"INSERT INTO {self.table} (model, target, number) VALUES ({values})"


def find_pending(table: Target, state: TableState, model: str, known: Acknowledgements) -> Pending | None:
    """The last append of the model, where dbt's database does not know of it."""
    number = state.txns.get(writer_name(model))
    if number is None or known.knows(model, table.address, number):
        return None
    if isinstance(table, HasSnapshots):
        for record in table.snapshots():
            said = {f"{_OURS}{name}": value for name, value in record.properties.items()}
            if said.get(NUMBER) == str(number):
                return Pending(number, said.get(DIGEST), record.parent, record.id)
    last = table.last_commit()
    told = {} if last is None else last.properties
    return Pending(number, told.get(DIGEST) if told.get(NUMBER) == str(number) else None, None, None)


def next_number(state: TableState, model: str) -> int:
    """A number that this model never gave to an append, one that was rolled back included."""
    return max(time.time_ns(), state.txns.get(writer_name(model), 0) + 1)


def refusal(model: str, address: str, pending: Pending) -> TargetError:
    """What is said where other rows come after an append that dbt does not know of."""
    undo = ""
    if pending.parent is not None:
        undo = f"Undo it with `lakebed rollback {address} {pending.parent}` and run again; or, if "
    return TargetError(
        f"{model}: an earlier run appended rows to {address} and ended before dbt's database knew of it, and the model "
        "selects other rows now, some of which may be there already",
        remedy=f"{undo or 'If '}the rows that the model selects now are not in the table yet, run with --vars "
        f"'{{lakebed_accept: {model.rpartition('.')[2]}}}'.",
    )
