"""`lakebed history`."""

from typing import Annotated

import typer
from rich.table import Table

from lakebed.cli.frame import OUT, Json, Workdir, reporting, show
from lakebed.housekeeping import History
from lakebed.housekeeping import history as table_history


def history(
    table: Annotated[
        str, typer.Argument(help="The table: iceberg:NAMESPACE.TABLE, duckdb:FILE#TABLE, parquet:FOLDER.")
    ],
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Who added or widened which column in which delivery, and a table's snapshots."""
    with reporting(as_json=as_json):
        found = table_history(table, workdir=workdir)
        show(found, as_json=as_json, render=lambda: _draw(found))


def _draw(found: History) -> None:
    if found.changes:
        columns = Table("when", "what", "column", "type", "delivery", title=f"columns of {found.table}", box=None)
        for record in found.changes:
            change = record.change
            before = f"{change.type_before} -> " if change.type_before else ""
            delivery = f"{record.slice.period} {record.delivery}" if record.slice else "lakebed evolve"
            columns.add_row(
                f"{record.at:%Y-%m-%d %H:%M}", change.kind, change.column, before + change.type_after, delivery
            )
        OUT.print(columns)
    if found.snapshots:
        drawn = Table("snapshot", "when", "what", "rows", "delivery", "columns", title="snapshots", box=None)
        for snapshot in found.snapshots:
            drawn.add_row(
                f"{snapshot.id}{' *' if snapshot.current else ''}",
                f"{snapshot.at:%Y-%m-%d %H:%M:%S}",
                snapshot.properties.get("operation", snapshot.operation),
                "" if snapshot.rows is None else f"{snapshot.rows:,}",
                " ".join(filter(None, (snapshot.properties.get("period"), snapshot.properties.get("delivery")))),
                ", ".join((*(f"+{name}" for name in snapshot.added_columns), *snapshot.widened_columns)),
            )
        OUT.print(drawn)
    if not found.changes and not found.snapshots:
        OUT.print(f"{found.table} has no history yet: nothing was loaded or evolved with this work directory.")
