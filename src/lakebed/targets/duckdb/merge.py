"""Merges staged rows into a DuckDB table, inside a transaction that the caller holds."""

import logging
from collections import Counter
from collections.abc import Sequence
from uuid import uuid4

import duckdb

from lakebed.model import MergeCounts, Staging
from lakebed.schema.duckdb import quote_identifier as q
from lakebed.schema.duckdb import struct_with_kept_fields, to_duckdb
from lakebed.schema.types import Schema
from lakebed.targets.base import RowMerge, RowsMerged
from lakebed.targets.duckdb.commit import staged_rows
from lakebed.targets.duckdb.file import Connection, first_row

log = logging.getLogger(__name__)

MERGE_SINCE = (1, 4, 0)


def null_keys(connection: Connection, table: str, keys: Sequence[str]) -> dict[str, int]:
    """How often each key column of the table is NULL, for those where it is."""
    counts = ", ".join(f"count(*) - count({q(key)})" for key in keys)
    row = first_row(connection, f"SELECT {counts} FROM {q(table)}") or ()
    return {key: int(count) for key, count in zip(keys, row, strict=True) if count}


def merge_rows(connection: Connection, table: str, staging: Staging, merge: RowMerge) -> RowsMerged:
    """Changes the rows of a table that already has the plan's columns, by the staged files."""
    final = merge.evolution.final
    staged = staged_rows(staging, merge.files) if merge.files else _no_rows(merge)
    source = f"lakebed_source_{uuid4().hex}"
    columns = [q(name) for name in merge.delivered]
    columns += [_null(final, name) for name in merge.emptied]
    connection.execute(f"CREATE TEMP TABLE {source} AS SELECT {', '.join(columns)} FROM {staged}")
    try:
        actions = _apply(connection, table, source, merge, [*merge.delivered, *merge.emptied])
        counted = first_row(connection, f"SELECT count(*) FROM {q(table)}")
    finally:
        connection.execute(f"DROP TABLE {source}")
    counts = MergeCounts(actions["INSERT"], actions["UPDATE"], actions["DELETE"])
    return RowsMerged(counts, int(counted[0]) if counted else 0)


def _no_rows(merge: RowMerge) -> str:
    final = merge.evolution.final
    return f"(SELECT {', '.join(_null(final, name) for name in merge.delivered)} LIMIT 0)"


def _null(final: Schema, name: str) -> str:
    return f"CAST(NULL AS {to_duckdb(final[name].type, column=name)}) AS {q(name)}"


def _apply(connection: Connection, table: str, source: str, merge: RowMerge, columns: Sequence[str]) -> Counter[str]:
    matches = " AND ".join(f"target.{q(key)} = source.{q(key)}" for key in merge.keys)
    if merge.delete_matched:
        log.info("DELETE and INSERT are used: MERGE has no clause that inserts rows which match")
        deleted = _count(
            connection,
            f"DELETE FROM {q(table)} AS target USING (SELECT DISTINCT "
            f"{', '.join(q(key) for key in merge.keys)} FROM {source}) AS source WHERE {matches}",
        )
        inserted = _count(connection, f"INSERT INTO {q(table)} BY NAME SELECT * FROM {source}")
        return Counter(DELETE=deleted, INSERT=inserted)
    if _uses_merge(merge):
        return _native(connection, table, source, merge, columns, matches)
    actions: Counter[str] = Counter()
    matched = f"EXISTS (SELECT 1 FROM {source} AS source WHERE {matches})"
    if merge.delete_unmatched:
        actions["DELETE"] = _count(connection, f"DELETE FROM {q(table)} AS target WHERE NOT {matched}")
    new = f"NOT EXISTS (SELECT 1 FROM {q(table)} AS target WHERE {matches})"
    arriving = f"lakebed_arriving_{uuid4().hex}"
    connection.execute(f"CREATE TEMP TABLE {arriving} AS SELECT * FROM {source} AS source WHERE {new}")
    if merge.update_matched:
        actions["UPDATE"] = _count(
            connection,
            f"UPDATE {q(table)} AS target SET {_set(merge, columns)} FROM {source} AS source WHERE {matches}",
        )
    if merge.insert_unmatched:
        actions["INSERT"] = _count(connection, f"INSERT INTO {q(table)} BY NAME SELECT * FROM {arriving}")
    connection.execute(f"DROP TABLE {arriving}")
    return actions


def _uses_merge(merge: RowMerge) -> bool:
    if merge.use_merge is False or _version() < MERGE_SINCE:
        return False
    if "merge_action" in merge.evolution.final:
        log.info("A column called merge_action would hide MERGE's own: DELETE, UPDATE and INSERT are used instead")
        return False
    return True


def _native(
    connection: Connection, table: str, source: str, merge: RowMerge, columns: Sequence[str], matches: str
) -> Counter[str]:
    clauses = []
    if merge.update_matched:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {_set(merge, columns)}")
    if merge.insert_unmatched:
        clauses.append("WHEN NOT MATCHED THEN INSERT BY NAME")
    if merge.delete_unmatched:
        clauses.append("WHEN NOT MATCHED BY SOURCE THEN DELETE")
    rows = connection.execute(
        f"MERGE INTO {q(table)} AS target USING {source} AS source ON ({matches}) {' '.join(clauses)} "
        "RETURNING merge_action"
    )
    actions: Counter[str] = Counter()
    while some := rows.fetchmany(10_000):
        actions.update(action for (action,) in some)
    return actions


def _set(merge: RowMerge, columns: Sequence[str]) -> str:
    """Assignments by name. Keys are equal already, and leaving them alone spares a primary key's index."""
    keys = set(merge.keys)
    chosen = [name for name in columns if name not in keys] or list(merge.keys[:1])
    kept_fields = merge.evolution.padded_fields if merge.keeps_missing else {}
    assignments = []
    for name in chosen:
        value = f"source.{q(name)}"
        if (lacking := kept_fields.get(name)) is not None:
            kind = merge.evolution.final[name].type
            value = struct_with_kept_fields(kind, lacking, source=value, target=f"target.{q(name)}")
        assignments.append(f"{q(name)} = {value}")
    return ", ".join(assignments)


def _count(connection: Connection, statement: str) -> int:
    row = first_row(connection, statement)
    return int(row[0]) if row else 0


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in duckdb.__version__.split(".")[:3] if part.isdigit())


def rows_of_new_table(merge: RowMerge) -> RowsMerged:
    """What a merge into a table that does not exist does, without making one."""
    rows = sum(file.rows for file in merge.files) if merge.insert_unmatched or merge.delete_matched else 0
    return RowsMerged(MergeCounts(inserted=rows), rows)
