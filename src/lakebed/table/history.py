"""`lakebed history` and `lakebed rollback`: which delivery changed which column, and going back to an earlier state."""

import os
from dataclasses import dataclass

from lakebed.errors import ConfigError, LakebedError
from lakebed.state.rebuild import describe_table
from lakebed.state.records import SchemaChangeRecord
from lakebed.state.unrecorded import may_be_unrecorded, unrecorded_changes
from lakebed.table.read import TableLike, open_table, open_workspace
from lakebed.targets.base import Target
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
    table = require_snapshots(opened)
    table.roll_back(snapshot)
    with open_workspace(workdir).ledger() as ledger:
        ledger.rebuild([describe_table(opened, opened.state())])
    return next(record for record in table.snapshots() if record.id == snapshot)


def require_snapshots(table: Target | None) -> HasSnapshots:
    """The table as one that has snapshots; refused where it has none, or where no table was named."""
    remedy = "Name an Iceberg table: iceberg:NAMESPACE.TABLE."
    if table is None:
        raise ConfigError("snapshots belong to one table", remedy=remedy)
    if isinstance(table, HasSnapshots):
        return table
    raise ConfigError(f"{table.address} has no snapshots", remedy=remedy)
