"""A table in a DuckDB file: schema, removal and arrival in one transaction."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.errors import ColumnDropRefused, ConcurrentModification, SchemaError, TargetError
from lakebed.kernels.files import filesystem
from lakebed.model import DataFile, Slice, Staging, Totals, WrittenFile
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.duckdb import RULES, quote_identifier, quote_literal, to_duckdb
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.types import Float, Schema
from lakebed.storage import Storage, absolute, is_local, join, local_path
from lakebed.targets.base import Affected, Capabilities, Change, Commit, RowMerge, RowsMerged, TableState
from lakebed.targets.duckdb.file import WAIT_SECONDS, Connection, DuckDBFile
from lakebed.targets.duckdb.merge import merge_rows, null_keys, rows_of_new_table
from lakebed.targets.duckdb.schema import evolve, read_schema
from lakebed.targets.parquet.journal import Checkpoint, no_checkpoint
from lakebed.targets.shared.staging import StagingArea
from lakebed.targets.shared.sums import EXACT, exact_totals, no_totals

# What Lakebed keeps about its commits lies in a schema of its own, beside the user's tables.
COMMITS = "lakebed.commits"


class DuckDBTarget:
    """One table. The file is open only while something is done with it, so that others can use it in between."""

    def __init__(
        self,
        file: str,
        table: str,
        *,
        storage: Storage | None = None,
        staging: str | None = None,
        checkpoint: Checkpoint = no_checkpoint,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        path = local_path(absolute(file))
        self._file = DuckDBFile(path, wait_seconds=wait_seconds)
        self._table = table
        self._storage = storage or Storage()
        self._checkpoint = checkpoint
        self._area = StagingArea(staging or str(path.with_name(f".{path.name}.txn")), self._storage)

    @property
    def address(self) -> str:
        return f"duckdb:{self._file.path}#{self._table}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(made_of_files=False, rules=RULES, evolves_without_rewrite=True, partition_in_path=False)

    def state(self) -> TableState:
        if not self._file.exists:
            return _ABSENT
        with self._file.reading() as connection:
            return self._state(connection)

    def affected(self, state: TableState, slice_: Slice) -> Affected:
        return Affected()

    def files_to_widen(self, state: TableState, plan: EvolutionPlan) -> tuple[DataFile, ...]:
        return ()

    def stage(self, state: TableState, evolution: EvolutionPlan, *, partition_by: Sequence[str] = ()) -> Staging:
        id_ = self._area.begin()
        return Staging(id_, self._area.folder(id_), to_arrow_schema(evolution.final))

    def commit(self, state: TableState, staging: Staging, change: Change) -> Commit:
        if lost := [name for name in state.schema.names if name not in change.evolution.final]:
            raise ColumnDropRefused(table=self.address, columns=lost)
        self._checkpoint("staged")
        with self._file.writing() as connection:
            self._checkpoint("opened")
            now = self._state(connection)
            if now.version != state.version:
                raise ConcurrentModification(
                    f"{self.address} has changed since it was read",
                    remedy="Nothing was committed. Read the table again and repeat the change.",
                )
            evolve(connection, self._table, now.schema if now.exists else None, change.evolution)
            self._checkpoint("evolved")
            if change.remove_slice is not None and now.exists:
                self._delete(connection, change.evolution.final, change.remove_slice)
            self._checkpoint("deleted")
            self._insert(connection, staging, change.add)
            self._checkpoint("inserted")
            after = self._record(connection, staging.id, change.properties)
            self._checkpoint("recorded")
        self._checkpoint("committed")
        self._area.remove(staging.id)
        return Commit(after.version, after.rows, len(change.add), 0)

    def merge_rows(self, state: TableState, staging: Staging, merge: RowMerge) -> RowsMerged:
        """Merges staged rows in one transaction; one that changes no row, or only asks, is rolled back."""
        if not state.exists and (merge.dry_run or not rows_of_new_table(merge).rows):
            self._area.remove(staging.id)
            return rows_of_new_table(merge)
        try:
            with self._file.writing() as connection:
                now = self._state(connection)
                if now.version != state.version:
                    raise ConcurrentModification(
                        f"{self.address} has changed since it was read",
                        remedy="Nothing was committed. Read the table again and repeat the change.",
                    )
                if now.exists and (nulls := null_keys(connection, self._table, merge.keys)):
                    raise _Unchanged(RowsMerged(rows=now.rows, null_keys=nulls))
                evolve(connection, self._table, now.schema if now.exists else None, merge.evolution)
                self._checkpoint("evolved")
                done = self._merge(connection, staging, merge)
                self._checkpoint("merged")
                if merge.dry_run or not done.counts:
                    raise _Unchanged(done)
                done = replace(done, version=self._record(connection, staging.id, {}).version)
        except _Unchanged as unchanged:
            done = unchanged.rows
        self._area.remove(staging.id)
        return done

    def _merge(self, connection: Connection, staging: Staging, merge: RowMerge) -> RowsMerged:
        uris = [join(staging.folder, file.path) for file in merge.files]
        if not uris:
            none = ", ".join(
                f"CAST(NULL AS {to_duckdb(merge.evolution.final[name].type, column=name)}) AS {quote_identifier(name)}"
                for name in merge.delivered
            )
            return merge_rows(connection, self._table, f"(SELECT {none} LIMIT 0)", merge)
        names = ", ".join(quote_literal(_literal_path(str(local_path(uri)))) for uri in uris)
        return merge_rows(connection, self._table, f"read_parquet([{names}], hive_partitioning = false)", merge)

    def abandon(self, staging: Staging) -> None:
        self._area.remove(staging.id)

    def totals(self, slice_: Slice | None, columns: Sequence[str], *, currency: str | None = None) -> Totals:
        if not self._file.exists:
            return no_totals(columns)
        with self._file.reading() as connection:
            state = self._state(connection)
            if not state.exists:
                return no_totals(columns)
            wanted = [*columns, *([currency] if currency else [])]
            if absent := [column for column in wanted if column not in state.schema]:
                raise SchemaError(f"{self.address} has no column {', '.join(absent)}")
            if slice_ and any(column not in state.schema for column in slice_.values):
                return no_totals(columns)
            if not any(isinstance(state.schema[column].type, Float) for column in columns):
                try:
                    return self._sums(connection, slice_, columns, currency)
                except duckdb.OutOfRangeException:
                    # More than 38 digits: DuckDB says so, and Arrow's 76 digits are slower but enough.
                    pass
            return self._exact_sums(connection, slice_, columns, currency)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        if not self._file.exists:
            return to_arrow_schema(Schema()).empty_table()
        with self._file.reading() as connection:
            state = self._state(connection)
            if not state.exists:
                return to_arrow_schema(Schema()).empty_table()
            chosen = Schema.of(state.schema[name] for name in columns) if columns is not None else state.schema
            found = connection.sql(f"SELECT {_names(chosen.names)} FROM {self._quoted}").to_arrow_table()
            return found.cast(to_arrow_schema(chosen))

    @property
    def _quoted(self) -> str:
        return quote_identifier(self._table)

    def _state(self, connection: Connection) -> TableState:
        schema = read_schema(connection, self._table)
        if schema is None:
            return _ABSENT
        counted = connection.execute(f"SELECT count(*) FROM {self._quoted}").fetchone()
        count = int(counted[0]) if counted else 0
        facts = hashlib.sha256(repr(schema).encode()).hexdigest()[:16]
        # Our own commits have ids; a stranger's change shows in the schema or, nearly always, in the number of rows.
        return TableState(True, schema, count, f"{self._last_commit(connection)}:{count}:{facts}")

    def _last_commit(self, connection: Connection) -> str:
        known = connection.execute(
            "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database()"
            " AND table_schema = 'lakebed' AND table_name = 'commits'"
        ).fetchone()
        if known is None:
            return ""
        last = connection.execute(
            f"SELECT id FROM {COMMITS} WHERE lower(table_name) = lower(?) ORDER BY number DESC LIMIT 1", [self._table]
        ).fetchone()
        return str(last[0]) if last else ""

    def _delete(self, connection: Connection, schema: Schema, slice_: Slice) -> None:
        if absent := [column for column in slice_.values if column not in schema]:
            raise SchemaError(
                f"{self.address} has no column {', '.join(absent)}, so the rows of {slice_} cannot be told apart",
                remedy="Load into a table of its own: this one was not made by lakebed.",
            )
        connection.execute(f"DELETE FROM {self._quoted} WHERE {_condition(slice_)}", list(slice_.values.values()))

    def _insert(self, connection: Connection, staging: Staging, files: Sequence[WrittenFile]) -> None:
        if not files:
            return
        uris = [join(staging.folder, file.path) for file in files]
        into = f"INSERT INTO {self._quoted} BY NAME SELECT {_names(staging.schema.names)} FROM"
        if is_local(staging.folder):
            names = ", ".join(quote_literal(_literal_path(str(local_path(uri)))) for uri in uris)
            done = connection.execute(f"{into} read_parquet([{names}], hive_partitioning = false)").fetchone()
        else:
            # DuckDB needs an extension for object stores, PyArrow does not.
            files_, _ = filesystem(uris[0], self._storage.settings.resolved())
            paths = [filesystem(uri, self._storage.settings.resolved())[1] for uri in uris]
            staged = pads.dataset(paths, schema=staging.schema, format="parquet", filesystem=files_)
            connection.register("lakebed_staged", staged)
            done = connection.execute(f"{into} lakebed_staged").fetchone()
            connection.unregister("lakebed_staged")
        if done is None or done[0] != (expected := sum(file.rows for file in files)):
            raise TargetError(f"{self.address}: {done and done[0]} rows arrived, their writer said {expected}")

    def _record(self, connection: Connection, id_: str, properties: Mapping[str, str]) -> TableState:
        connection.execute("CREATE SCHEMA IF NOT EXISTS lakebed")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {COMMITS} (number BIGINT, table_name VARCHAR, id VARCHAR,"
            " committed_at TIMESTAMP, rows BIGINT, properties VARCHAR)"
        )
        after = self._state(connection)
        connection.execute(
            f"INSERT INTO {COMMITS} SELECT coalesce(max(number), 0) + 1, ?, ?, (now() AT TIME ZONE 'UTC'), ?, ?"
            f" FROM {COMMITS}",
            [self._table, id_, after.rows, json.dumps(dict(properties))],
        )
        return replace(after, version=f"{id_}:{after.version.partition(':')[2]}")

    def _sums(
        self, connection: Connection, slice_: Slice | None, columns: Sequence[str], currency: str | None
    ) -> Totals:
        sums = "".join(f", sum({quote_identifier(column)})" for column in columns)
        code = f"coalesce(CAST({quote_identifier(currency)} AS VARCHAR), '')" if currency else "''"
        where, values = _where(slice_)
        found = connection.execute(
            f"SELECT {code}, count(*){sums} FROM {self._quoted}{where} GROUP BY ALL", values
        ).fetchall()
        rows = 0
        total = {column: Decimal(0) for column in columns}
        by_currency: dict[str, dict[str, Decimal]] = {}
        for code_, count, *parts in found:
            rows += count
            exact = {column: Decimal(part or 0) for column, part in zip(columns, parts, strict=True)}
            total = {column: EXACT.add(total[column], exact[column]) for column in columns}
            if currency:
                by_currency[code_] = exact
        return Totals(rows, total, by_currency)

    def _exact_sums(
        self, connection: Connection, slice_: Slice | None, columns: Sequence[str], currency: str | None
    ) -> Totals:
        wanted = list(dict.fromkeys([*columns, *([currency] if currency else [])]))
        where, values = _where(slice_)
        chosen = ", ".join(f"{quote_identifier(name)} AS {quote_identifier(name)}" for name in wanted) or "1"
        found = connection.sql(f"SELECT {chosen} FROM {self._quoted}{where}", params=values).to_arrow_table()
        return exact_totals(found.to_batches(), columns, currency=currency)


class _Unchanged(Exception):
    """Rolls a transaction back and carries what it would have done."""

    def __init__(self, rows: RowsMerged) -> None:
        super().__init__()
        self.rows = rows


_ABSENT = TableState(False, Schema(), 0, "absent")


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(quote_identifier, names))


def _condition(slice_: Slice) -> str:
    return " AND ".join(f"{quote_identifier(column)} = ?" for column in slice_.values)


def _where(slice_: Slice | None) -> tuple[str, list[str]]:
    return (f" WHERE {_condition(slice_)}", list(slice_.values.values())) if slice_ else ("", [])


def _literal_path(path: str) -> str:
    """A path that DuckDB takes letter by letter, though it reads names as patterns."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
