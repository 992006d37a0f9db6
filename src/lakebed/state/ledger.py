"""The ledger: what was discovered, staged and loaded, by which names, with which sums.

It is a memory, not the truth: the tables are. Everything that decides about rows is checked against them, and a lost
ledger is rebuilt from them (`rebuild`). Every method is one transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from lakebed.model import Delivery, DeliveryState, Slice, StagedFile
from lakebed.state import claims, rows
from lakebed.state.claims import Claim
from lakebed.state.database import open_database, open_database_read_only, transaction
from lakebed.state.records import (
    ClaimRecord,
    DeliveryRecord,
    FileRecord,
    IdentityRecord,
    LoadOutcome,
    LoadRecord,
    RebuiltTable,
    SchemaChange,
    SchemaChangeRecord,
    StagingFolder,
    SumRecord,
    load_resource,
    staging_resource,
)
from lakebed.state.tables import (
    DELIVERIES,
    FILES,
    IDENTITIES,
    LOADS,
    SCHEMA_CHANGES,
    STAGED_FILES,
    STAGING_FOLDERS,
    SUMS,
    TABLES,
)


class Ledger:
    """One work directory's memory. Open it with `Ledger.open`, or `Ledger.read` where nothing may be touched."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, place: str | Path) -> "Ledger":
        """The ledger at a database URL, or in an SQLite file; made where it does not exist."""
        return cls(open_database(place))

    @classmethod
    def read(cls, place: str | Path) -> "Ledger":
        """The ledger for reading: nothing is created or changed, and where there is none it is empty."""
        return cls(open_database_read_only(place))

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # deliveries

    def record_discovered(
        self, deliveries: Iterable[Delivery], *, source: str, superseded: Iterable[Delivery] = ()
    ) -> None:
        """Remembers what discovery saw. The state of a delivery stays, but for those that are superseded now."""
        now = datetime.now(UTC)
        obsolete = tuple(superseded)
        with transaction(self._engine) as connection:
            for delivery in (*deliveries, *obsolete):
                seen = rows.of_delivery(delivery) | {"source": source, "updated_at": now}
                first = {"state": "discovered", "error": None, "discovered_at": now}
                _upsert(connection, DELIVERIES, _key(delivery.slice, delivery.id), seen, only_new=first)
            for delivery in obsolete:
                _set_state(connection, delivery.slice, delivery.id, "superseded", None)

    def set_state(self, slice_: Slice, delivery: str, state: DeliveryState, *, error: str | None = None) -> None:
        """Where a delivery stands; an error is kept until the next state."""
        with transaction(self._engine) as connection:
            _set_state(connection, slice_, delivery, state, error)

    def delivery(self, slice_: Slice, delivery: str) -> DeliveryRecord | None:
        with transaction(self._engine) as connection:
            row = connection.execute(select(DELIVERIES).where(_is(DELIVERIES, slice_, delivery))).first()
        return rows.delivery(row) if row is not None else None

    def deliveries(self) -> tuple[DeliveryRecord, ...]:
        """All that was ever discovered, the newest period first."""
        order = (DELIVERIES.c.period.desc(), DELIVERIES.c.payer, DELIVERIES.c.report, DELIVERIES.c.discovered_at)
        return tuple(rows.delivery(row) for row in self._all(DELIVERIES, *order))

    # staged copies

    def record_staged(self, slice_: Slice, delivery: str, files: Iterable[StagedFile]) -> None:
        """The copies of a delivery's files are whole: replaces what was known of them, and the state is `staged`."""
        with transaction(self._engine) as connection:
            connection.execute(delete(STAGED_FILES).where(_is(STAGED_FILES, slice_, delivery)))
            for file in files:
                connection.execute(insert(STAGED_FILES).values(_key(slice_, delivery) | rows.of_staged_file(file)))
            _set_state(connection, slice_, delivery, "staged", None)

    def forget_staged(self, slice_: Slice, delivery: str) -> None:
        """The copies are gone."""
        with transaction(self._engine) as connection:
            connection.execute(delete(STAGED_FILES).where(_is(STAGED_FILES, slice_, delivery)))

    # claims

    def claim_load(self, table: str, slice_: Slice) -> Claim:
        """The right to load into a slice of a table, for a `with` block. Raises ClaimHeld while a live run has it."""
        return claims.acquire(self._engine, load_resource(table, slice_))

    def claim_staging(self, slice_: Slice, delivery: str) -> Claim:
        """The right to copy a delivery's files."""
        return claims.acquire(self._engine, staging_resource(slice_, delivery))

    def claims(self) -> tuple[ClaimRecord, ...]:
        """Who works on what, living or dead."""
        with transaction(self._engine) as connection:
            return claims.all_claims(connection)

    # loads

    def begin_load(self, claim: Claim, table: str, slice_: Slice, delivery: str) -> None:
        """The delivery is `loading`. What an earlier, crashed attempt left of this record is overwritten.

        That of a delivery which is loaded already stays until it is loaded again: until then the table holds its rows.
        """
        key = _table_key(table, slice_, delivery)
        with transaction(self._engine) as connection:
            claim.require(connection)
            if connection.execute(select(LOADS.c.state).where(_matches(LOADS, key))).scalar() != "loaded":
                _upsert(connection, LOADS, key, rows.of_new_load())
            _set_state(connection, slice_, delivery, "loading", None)

    def finish_load(self, claim: Claim, table: str, slice_: Slice, delivery: str, outcome: LoadOutcome) -> LoadRecord:
        """The delivery is `loaded`, and what it replaced is `superseded`; names, history and sums come with it."""
        key = _table_key(table, slice_, delivery)
        with transaction(self._engine) as connection:
            claim.require(connection)
            _supersede(connection, table, slice_, but=delivery)
            _upsert(connection, LOADS, key, rows.of_outcome(outcome), only_new=rows.of_new_load())
            _set_state(connection, slice_, delivery, "loaded", None)
            _remember(connection, table, outcome.identities, delivery)
            _record_changes(connection, table, outcome.schema_changes, _key(slice_, delivery), outcome.version)
            connection.execute(delete(SUMS).where(_matches(SUMS, key)))
            for one in outcome.sums:
                connection.execute(insert(SUMS).values(key | rows.of_sum(one)))
            _upsert(connection, TABLES, {"table_address": table}, {"version_left": outcome.left or outcome.version})
            return rows.load(connection.execute(select(LOADS).where(_matches(LOADS, key))).one())

    def fail_load(self, claim: Claim, table: str, slice_: Slice, delivery: str, error: str, *, seconds: float) -> None:
        """The delivery is `failed`, with the message that the user saw."""
        with transaction(self._engine) as connection:
            claim.require(connection)
            connection.execute(
                update(LOADS)
                .where(_matches(LOADS, _table_key(table, slice_, delivery)) & (LOADS.c.state != "loaded"))
                .values(state="failed", error=error, seconds=seconds, finished_at=datetime.now(UTC))
            )
            _set_state(connection, slice_, delivery, "failed", error)

    def current_load(self, table: str, slice_: Slice) -> LoadRecord | None:
        """The delivery whose rows the slice holds now."""
        loaded = (loaded for loaded in self.loads(table) if loaded.slice == slice_ and loaded.state == "loaded")
        return next(loaded, None)

    def loads(self, table: str | None = None) -> tuple[LoadRecord, ...]:
        """Every load, or those of one table, the newest period first."""
        order = (LOADS.c.period.desc(), LOADS.c.payer, LOADS.c.report, LOADS.c.started_at)
        found = self._all(LOADS, *order, where=LOADS.c.table_address == table if table is not None else None)
        return tuple(rows.load(row) for row in found)

    def version_left(self, table: str) -> str | None:
        """The version of a table as we last left it, or as we last found it changed."""
        query = select(TABLES.c.version_left).where(TABLES.c.table_address == table)
        with transaction(self._engine) as connection:
            left: str | None = connection.execute(query).scalar_one_or_none()
        if left is not None:
            return left
        # A ledger of an older Lakebed has it with the last load only.
        finished = [load for load in self.loads(table) if load.state == "loaded" and load.finished_at]
        last = max(finished, key=lambda load: load.finished_at or load.started_at, default=None)
        return last.version if last is not None else None

    def doubt_loads(self, table: str, version: str) -> None:
        """Another writer has changed the table: that its loads add up is not known until they are counted again."""
        loaded = _matches(LOADS, {"table_address": table, "state": "loaded"})
        with transaction(self._engine) as connection:
            connection.execute(update(LOADS).where(loaded).values(reconciled=None))
            _upsert(connection, TABLES, {"table_address": table}, {"version_left": version})

    def record_reconciled(self, load: LoadRecord, *, holds: bool) -> None:
        """The rows and sums of a load were counted again, and add up or not."""
        counted = _matches(LOADS, _table_key(load.table, load.slice, load.delivery))
        with transaction(self._engine) as connection:
            connection.execute(update(LOADS).where(counted).values(reconciled=holds))

    def sums(self, table: str, slice_: Slice, delivery: str) -> tuple[SumRecord, ...]:
        """The sums of a load, source against table."""
        where = _matches(SUMS, _table_key(table, slice_, delivery))
        return tuple(rows.sum_record(row) for row in self._all(SUMS, SUMS.c.column_name, SUMS.c.currency, where=where))

    # files that were ingested

    def files(self, table: str) -> tuple[FileRecord, ...]:
        """The files of a table, by path; of a path with a new content both, until the new one is loaded."""
        found = self._all(FILES, FILES.c.path, FILES.c.at, where=FILES.c.table_address == table)
        return tuple(rows.file_record(row) for row in found)

    def begin_files(self, claim: Claim, table: str, files: Iterable[FileRecord]) -> None:
        """These are about to be committed. Recorded before, so that a crash leaves no path unknown."""
        now = datetime.now(UTC)
        with transaction(self._engine) as connection:
            claim.require(connection)
            new = [{**_file_key(table, file), **rows.of_file(file), "at": now} for file in files]
            _upsert_all(connection, FILES, new, key=_FILE_KEY, update=("at",))

    def finish_files(
        self,
        claim: Claim,
        table: str,
        files: Iterable[FileRecord],
        *,
        left: str | None = None,
        version: str | None = None,
        identities: Mapping[str, str] | None = None,
        changes: Iterable[SchemaChange] = (),
    ) -> None:
        """These are loaded, and what their paths held before is forgotten; names and history come with them."""
        with transaction(self._engine) as connection:
            claim.require(connection)
            loaded = [{**_file_key(table, file), **rows.of_file(file)} for file in files]
            if loaded:
                earlier = (
                    (FILES.c.table_address == table)
                    & (FILES.c.path == bindparam("own_path"))
                    & (FILES.c.identity != bindparam("own_identity"))
                )
                own = [{"own_path": one["path"], "own_identity": one["identity"]} for one in loaded]
                connection.execute(delete(FILES).where(earlier), own)
            _upsert_all(connection, FILES, loaded, key=_FILE_KEY, update=tuple(rows.of_file(_NO_FILE)))
            _remember(connection, table, identities or {}, None)
            _record_changes(connection, table, changes, {}, version)
            if left is not None:
                _upsert(connection, TABLES, {"table_address": table}, {"version_left": left})

    # columns

    def identities(self, table: str) -> tuple[IdentityRecord, ...]:
        """Originals and names of a table, in the order in which they were decided."""
        found = self._all(IDENTITIES, IDENTITIES.c.position, where=IDENTITIES.c.table_address == table)
        return tuple(rows.identity(row) for row in found)

    def record_schema_changes(self, table: str, changes: Iterable[SchemaChange], *, version: str | None) -> None:
        """Changes that came without a delivery, from `lakebed evolve` or a merge."""
        with transaction(self._engine) as connection:
            _record_changes(connection, table, changes, {}, version)

    def record_history(self, records: Iterable[SchemaChangeRecord]) -> None:
        """Changes that a table remembers of itself, as of the time of their commit."""
        with transaction(self._engine) as connection:
            for record in records:
                key = {} if record.slice is None else _key(record.slice, record.delivery or "")
                _record_changes(connection, record.table, [record.change], key, record.version, at=record.at)

    def schema_history(self, table: str | None = None) -> tuple[SchemaChangeRecord, ...]:
        """Who added or widened which column, the oldest first."""
        where = SCHEMA_CHANGES.c.table_address == table if table is not None else None
        found = self._all(SCHEMA_CHANGES, SCHEMA_CHANGES.c.position, where=where)
        return tuple(rows.schema_change(row) for row in found)

    # folders that jobs write into

    def open_staging(self, claim: Claim, folder: str, *, table: str) -> None:
        """A job is about to write here. Recorded before it does, so that a crash leaves nothing unknown."""
        values = {"table_address": table, "owner": claim.holder.owner, "opened_at": datetime.now(UTC)}
        with transaction(self._engine) as connection:
            claim.require(connection)
            _upsert(connection, STAGING_FOLDERS, {"folder": folder}, values)

    def close_staging(self, folder: str) -> None:
        """What lay here is committed or removed."""
        with transaction(self._engine) as connection:
            connection.execute(delete(STAGING_FOLDERS).where(STAGING_FOLDERS.c.folder == folder))

    def orphans(self) -> tuple[StagingFolder, ...]:
        """Folders whose run is over without having closed them: whoever finds them may remove them."""
        with transaction(self._engine) as connection:
            alive = claims.live_owners(connection)
            found = connection.execute(select(STAGING_FOLDERS).order_by(STAGING_FOLDERS.c.opened_at)).all()
        return tuple(rows.staging_folder(row) for row in found if row.owner not in alive)

    # a lost ledger

    def rebuild(self, tables: Iterable[RebuiltTable]) -> None:
        """Takes over what tables say about themselves; where the ledger disagrees, the table is right."""
        with transaction(self._engine) as connection:
            for found in tables:
                _rebuild(connection, found)

    def _all(
        self, table: Table, *order: ColumnElement[object], where: ColumnElement[bool] | None = None
    ) -> list[Row[tuple[object, ...]]]:
        query = select(table).order_by(*order)
        with transaction(self._engine) as connection:
            return list(connection.execute(query if where is None else query.where(where)).all())


_FILE_KEY = ("table_address", "path", "identity")
_NO_FILE = FileRecord("", "", "", 0, None)


def _file_key(table: str, file: FileRecord) -> dict[str, object]:
    return {"table_address": table, "path": file.path, "identity": file.identity}


def _upsert_all(
    connection: Connection,
    table: Table,
    values: Sequence[Mapping[str, object]],
    *,
    key: Sequence[str],
    update: Sequence[str],
) -> None:
    """Many rows in one statement: of those that are there the columns of `update` become the new ones."""
    if not values:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    changed = {name: statement.excluded[name] for name in update}
    connection.execute(
        statement.on_conflict_do_update(index_elements=list(key), set_=changed), [dict(one) for one in values]
    )


def _key(slice_: Slice, delivery: str) -> dict[str, object]:
    return {"payer": slice_.payer, "report": slice_.report, "period": slice_.period, "delivery": delivery}


def _table_key(table: str, slice_: Slice, delivery: str) -> dict[str, object]:
    return {"table_address": table, **_key(slice_, delivery)}


def _matches(table: Table, key: Mapping[str, object]) -> ColumnElement[bool]:
    return and_(*(table.c[name] == value for name, value in key.items()))


def _is(table: Table, slice_: Slice, delivery: str) -> ColumnElement[bool]:
    return _matches(table, _key(slice_, delivery))


def _upsert(
    connection: Connection,
    table: Table,
    key: Mapping[str, object],
    values: Mapping[str, object],
    *,
    only_new: Mapping[str, object] | None = None,
) -> None:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table).values({**(only_new or {}), **values, **key})
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=dict(values)))


def _set_state(connection: Connection, slice_: Slice, delivery: str, state: DeliveryState, error: str | None) -> None:
    connection.execute(
        update(DELIVERIES)
        .where(_is(DELIVERIES, slice_, delivery))
        .values(state=state, error=error, updated_at=datetime.now(UTC))
    )


def _supersede(connection: Connection, table: str, slice_: Slice, *, but: str) -> None:
    in_slice = {"payer": slice_.payer, "report": slice_.report, "period": slice_.period}
    replaced = _matches(LOADS, {"table_address": table, **in_slice, "state": "loaded"}) & (LOADS.c.delivery != but)
    for row in connection.execute(select(LOADS.c.delivery).where(replaced)).all():
        _set_state(connection, slice_, row.delivery, "superseded", None)
    connection.execute(update(LOADS).where(replaced).values(state="superseded"))


def _remember(connection: Connection, table: str, identities: Mapping[str, str], delivery: str | None) -> None:
    known = set(connection.execute(select(IDENTITIES.c.original).where(IDENTITIES.c.table_address == table)).scalars())
    now = datetime.now(UTC)
    new = [
        {"table_address": table, "original": original, "name": name, "delivery": delivery, "decided_at": now}
        for original, name in identities.items()
        if original not in known
    ]
    if new:
        connection.execute(insert(IDENTITIES), new)


def _record_changes(
    connection: Connection,
    table: str,
    changes: Iterable[SchemaChange],
    key: Mapping[str, object],
    version: str | None,
    *,
    at: datetime | None = None,
) -> None:
    fixed = {**key, "table_address": table, "table_version": version, "at": at or datetime.now(UTC)}
    new = [rows.of_schema_change(change) | fixed for change in changes]
    if new:
        connection.execute(insert(SCHEMA_CHANGES), new)


def _rebuild(connection: Connection, found: RebuiltTable) -> None:
    connection.execute(
        delete(IDENTITIES).where(
            (IDENTITIES.c.table_address == found.table) & IDENTITIES.c.original.in_(list(found.identities))
        )
    )
    _remember(connection, found.table, found.identities, None)
    gone = _matches(LOADS, {"table_address": found.table, "state": "loaded"})
    connection.execute(update(LOADS).where(gone).values(state="superseded"))
    for load in found.loads:
        key = _table_key(found.table, load.slice, load.delivery)
        # What the ledger still knows of such a load (its seconds, its sums) is kept.
        seen = {"state": "loaded", "rows_loaded": load.rows, "error": None}
        _upsert(connection, LOADS, key, seen, only_new=rows.of_rebuilt_load(found.version))
