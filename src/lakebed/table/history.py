"""`lakebed history` and `lakebed rollback`: which delivery changed which column, and going back to an earlier state."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from lakebed.config import Settings
from lakebed.errors import ConfigError, LakebedError
from lakebed.model import RESERVED_COLUMNS
from lakebed.state.rebuild import describe_rows, describe_table
from lakebed.state.records import SchemaChangeRecord
from lakebed.state.unrecorded import may_be_unrecorded, unrecorded_changes
from lakebed.table.read import TableLike, open_table, open_workspace
from lakebed.table.retention import retention_of
from lakebed.targets.base import Target
from lakebed.targets.load_log import LoadStep, LoggedLoad
from lakebed.targets.snapshots import HasSnapshots, SnapshotRecord


@dataclass(frozen=True)
class History:
    """Which column changed when and for which delivery, from the ledger, and the snapshots of a table that has them."""

    table: str
    changes: tuple[SchemaChangeRecord, ...]
    snapshots: tuple[SnapshotRecord, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "table": self.table,
            "changes": [
                {
                    "at": record.at.isoformat(),
                    "kind": record.change.kind,
                    "column": record.change.column,
                    "type": record.change.type_after,
                    "typeBefore": record.change.type_before,
                    "original": record.change.original,
                    "delivery": record.delivery,
                    "period": record.slice.period if record.slice else None,
                    "payer": record.slice.payer if record.slice else None,
                    "report": record.slice.report if record.slice else None,
                    "version": record.version,
                }
                for record in self.changes
            ],
            "snapshots": [record.to_dict() for record in self.snapshots],
        }


def history(target: TableLike, *, workdir: str | os.PathLike[str] | None = None) -> History:
    """What happened to a table: its schema changes and its snapshots. Touches nothing.

    >>> _ = lakebed.evolve("parquet:costs", "id int")
    >>> _ = lakebed.evolve("parquet:costs", "id bigint")
    >>> [(one.change.kind, one.change.column) for one in lakebed.history("parquet:costs").changes]
    [('created', 'id'), ('widened', 'id')]
    """
    opened = open_table(target, workdir=workdir, read_only=True)
    workspace = open_workspace(workdir)
    with workspace.ledger_for_reading() as ledger:
        changes = ledger.schema_history(opened.address)
        place = workspace.settings.ledger_place
        if may_be_unrecorded(opened.last_commit(), place):
            changes += unrecorded_changes(opened, opened.state(), ledger, place)
    found = opened.snapshots() if isinstance(opened, HasSnapshots) else ()
    if not changes and not found and not opened.state().exists:
        raise LakebedError(f"nothing is known of {opened.address}, and there is no such table")
    return History(opened.address, changes, found)


def rollback(target: TableLike, snapshot: int, *, workdir: str | os.PathLike[str] | None = None) -> SnapshotRecord:
    """Makes an earlier snapshot of an Iceberg table the current one. The schema stays as wide as it is.

    The ledger then knows which deliveries the table holds, so that the next run loads what is missing again.

    >>> for number in (1, 2):
    ...     _ = lakebed.merge(pa.table({"id": [number]}), "iceberg:billing.costs", keys="id", workdir="work")
    >>> first, second = lakebed.history("iceberg:billing.costs", workdir="work").snapshots
    >>> lakebed.rollback("iceberg:billing.costs", first.id, workdir="work").rows
    1
    """
    opened = open_table(target, workdir=workdir)
    table, workspace = require_snapshots(opened), open_workspace(workdir)
    table.roll_back(snapshot, _step_back(opened, table, snapshot, workspace.settings))
    with workspace.ledger() as ledger:
        ledger.rebuild([describe_table(opened, opened.state())])
    return next(record for record in table.snapshots() if record.id == snapshot)


def _step_back(target: Target, table: HasSnapshots, snapshot: int, settings: Settings) -> LoadStep | None:
    """What a rollback says in the log of loads: from now on each slice holds what it held then.

    What was loaded after that is replaced like by any load: it was known until now, and is kept where the rule says so.
    """
    state = target.state()
    if not state.log:
        return None
    data = table.read_snapshot(snapshot, RESERVED_COLUMNS)
    then = {
        one.slice: one
        for one in describe_rows(target.address, schema=state.schema, version=state.version, data=data).loads
    }
    now, id_ = datetime.now(UTC), uuid4().hex
    loads: list[LoggedLoad] = []
    for slice_ in sorted({*then, *state.log.current}):
        current, held = state.log.current.get(slice_), then.get(slice_)
        delivery = None if held is None else held.delivery
        if current is not None and current.delivery == delivery and table.holds_load(snapshot, current):
            continue
        if current is None or current.delivery is not None or delivery is not None:
            rows = 0 if held is None else held.rows
            loads.append(LoggedLoad(f"{id_}-{len(loads)}", slice_, delivery, now, rows))
    rules = [retention_of(state.log, settings.retain_of(load.slice.report)) for load in loads]
    return LoadStep(tuple(loads), keep=any(rule is not None and rule.keeps for rule in rules))


def require_snapshots(table: Target | None) -> HasSnapshots:
    """The table as one that has snapshots; refused where it has none, or where no table was named."""
    remedy = "Name an Iceberg table: iceberg:NAMESPACE.TABLE."
    if table is None:
        raise ConfigError("snapshots belong to one table", remedy=remedy)
    if isinstance(table, HasSnapshots):
        return table
    raise ConfigError(f"{table.address} has no snapshots", remedy=remedy)
