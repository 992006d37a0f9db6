"""Merges staged rows into a DuckDB table, inside a transaction that the caller holds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import duckdb

from lakebed.errors import DatasetMergeError
from lakebed.merge_core.refusals import NOTHING_COMMITTED
from lakebed.merge_core.result import check_balance
from lakebed.model import MergeCounts, Staging
from lakebed.schema.duckdb import OWN, struct_with_kept_fields, to_duckdb
from lakebed.schema.duckdb import quote_identifier as q
from lakebed.schema.types import Schema
from lakebed.targets.base import RowMerge, RowsMerged
from lakebed.targets.duckdb.commit import staged_rows
from lakebed.targets.duckdb.file import Connection, first_row

MERGE_SINCE = (1, 4, 0)
# Aliases, quoted: a plain one could be the name of a user's struct.
TARGET, SOURCE = q(f"{OWN} target"), q(f"{OWN} source")


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
    # Where something fails, the temporary table goes with the transaction: dropping it first would hide what failed.
    connection.execute(f"CREATE TEMP TABLE {source} AS SELECT {', '.join(columns)} FROM {staged}")
    before = _Held.in_table(connection, table, source, merge.keys)
    actions = _apply(connection, table, source, merge, [*merge.delivered, *merge.emptied], before)
    after = _Held.in_table(connection, table, source, merge.keys)
    connection.execute(f"DROP TABLE {source}")
    counts = MergeCounts(actions["INSERT"], actions["UPDATE"], actions["DELETE"])
    _check(merge, counts, before, after)
    return RowsMerged(counts, after.rows)


@dataclass(frozen=True)
class _Held:
    """The rows of the table, and those of them that have a key of the source: counted, whatever MERGE says it did."""

    rows: int
    matched: int

    @classmethod
    def in_table(cls, connection: Connection, table: str, source: str, keys: Sequence[str]) -> "_Held":
        matched = f"SELECT count(*) FROM {q(table)} AS {TARGET} SEMI JOIN {source} AS {SOURCE} ON {_equal(keys)}"
        row = first_row(connection, f"SELECT (SELECT count(*) FROM {q(table)}), ({matched})")
        return cls(*map(int, row)) if row else cls(0, 0)


def _check(merge: RowMerge, counts: MergeCounts, before: _Held, after: _Held) -> None:
    """Raises, and so rolls back, where the table does not hold what the counts say."""
    stayed = 0 if merge.delete_matched else before.matched
    deleted = before.matched if merge.delete_matched else before.rows - before.matched if merge.delete_unmatched else 0
    updated = before.matched if merge.update_matched else 0
    check_balance(before=before.rows, after=after.rows, inserted=counts.inserted, deleted=counts.deleted)
    if (counts.updated, counts.deleted, after.matched) != (updated, deleted, stayed + counts.inserted):
        raise DatasetMergeError(
            f"two counts of the merge differ: {before.matched} of {before.rows} rows had a key of the source before, "
            f"{after.matched} of {after.rows} after, and DuckDB says {counts}",
            kind="ENGINE_FAILED",
            remedy=NOTHING_COMMITTED,
            key_columns=merge.keys,
        )


def _no_rows(merge: RowMerge) -> str:
    final = merge.evolution.final
    return f"(SELECT {', '.join(_null(final, name) for name in merge.delivered)} LIMIT 0)"


def _null(final: Schema, name: str) -> str:
    return f"CAST(NULL AS {to_duckdb(final[name].type, column=name)}) AS {q(name)}"


def _equal(keys: Sequence[str]) -> str:
    return "(" + " AND ".join(f"{TARGET}.{q(key)} = {SOURCE}.{q(key)}" for key in keys) + ")"


def _apply(
    connection: Connection, table: str, source: str, merge: RowMerge, columns: Sequence[str], before: _Held
) -> Counter[str]:
    matches = _equal(merge.keys)
    if merge.delete_matched:
        keys = f"(SELECT DISTINCT {', '.join(q(key) for key in merge.keys)} FROM {source}) AS {SOURCE}"
        # MERGE has no clause that inserts rows which match: INSERT does it.
        statement = (
            f"MERGE INTO {q(table)} AS {TARGET} USING {keys} ON {matches} WHEN MATCHED THEN DELETE"
            if _uses_merge(merge)
            else f"DELETE FROM {q(table)} AS {TARGET} USING {keys} WHERE {matches}"
        )
        deleted = _count(connection, statement)
        inserted = _count(connection, f"INSERT INTO {q(table)} BY NAME SELECT * FROM {source}")
        return Counter(DELETE=deleted, INSERT=inserted)
    if _uses_merge(merge):
        return _native(connection, table, source, merge, columns, matches, before)
    actions: Counter[str] = Counter()
    matched = f"EXISTS (SELECT 1 FROM {source} AS {SOURCE} WHERE {matches})"
    if merge.delete_unmatched:
        actions["DELETE"] = _count(connection, f"DELETE FROM {q(table)} AS {TARGET} WHERE NOT {matched}")
    new = f"NOT EXISTS (SELECT 1 FROM {q(table)} AS {TARGET} WHERE {matches})"
    arriving = f"lakebed_arriving_{uuid4().hex}"
    connection.execute(f"CREATE TEMP TABLE {arriving} AS SELECT * FROM {source} AS {SOURCE} WHERE {new}")
    if merge.update_matched:
        actions["UPDATE"] = _count(
            connection,
            f"UPDATE {q(table)} AS {TARGET} SET {_set(merge, columns)} FROM {source} AS {SOURCE} WHERE {matches}",
        )
    if merge.insert_unmatched:
        actions["INSERT"] = _count(connection, f"INSERT INTO {q(table)} BY NAME SELECT * FROM {arriving}")
    connection.execute(f"DROP TABLE {arriving}")
    return actions


def _uses_merge(merge: RowMerge) -> bool:
    return merge.use_merge is not False and _version() >= MERGE_SINCE


def _native(
    connection: Connection,
    table: str,
    source: str,
    merge: RowMerge,
    columns: Sequence[str],
    matches: str,
    before: _Held,
) -> Counter[str]:
    clauses = []
    if merge.update_matched:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {_set(merge, columns)}")
    if merge.insert_unmatched:
        clauses.append("WHEN NOT MATCHED THEN INSERT BY NAME")
    if merge.delete_unmatched:
        clauses.append("WHEN NOT MATCHED BY SOURCE THEN DELETE")
    statement = f"MERGE INTO {q(table)} AS {TARGET} USING {source} AS {SOURCE} ON {matches} {' '.join(clauses)}"
    actions: Counter[str] = Counter()
    if "merge_action" in merge.evolution.final:
        # A column of that name hides MERGE's own: then its one number, of all rows, is what it says.
        changed = _count(connection, statement)
        actions["UPDATE"] = before.matched if merge.update_matched else 0
        actions["DELETE"] = before.rows - before.matched if merge.delete_unmatched else 0
        actions["INSERT"] = changed - actions["UPDATE"] - actions["DELETE"]
        return actions
    rows = connection.execute(f"{statement} RETURNING merge_action")
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
        value = f"{SOURCE}.{q(name)}"
        if (lacking := kept_fields.get(name)) is not None:
            kind = merge.evolution.final[name].type
            value = struct_with_kept_fields(kind, lacking, source=value, target=f"{TARGET}.{q(name)}")
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
