"""`lakebed history`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, reporting, show

SHOWN = 4


def history(
    table: Annotated[
        str, typer.Argument(help="The table: iceberg:NAMESPACE.TABLE, duckdb:FILE#TABLE, parquet:FOLDER.")
    ],
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Which delivery added or widened which column, and a table's snapshots."""
    with reporting(as_json=as_json):
        found = lakebed.history(table, workdir=workdir)
        show(found, as_json=as_json, render=lambda: _draw(found))


def _draw(found: "lakebed.History") -> None:
    lines = [*_columns(found.changes), *_snapshots(found.snapshots)]
    OUT.print(
        "\n".join(lines) if lines else f"{found.table} has no history yet: nothing was loaded or evolved.", markup=False
    )


def _columns(changes: Sequence["lakebed.SchemaChangeRecord"]) -> Iterator[str]:
    """One line for each change; the columns that a table was created with are one together."""
    if changes:
        yield "columns"
    for (kind, by), group in groupby(changes, key=lambda record: (record.change.kind, _by(record))):
        together = list(group)
        when = f"{together[0].at:%Y-%m-%d %H:%M}"
        if kind == "created":
            yield f"  {when}  created  {_first_few([record.change.column for record in together])}  by {by}"
            continue
        for record in together:
            change = record.change
            before = f"{change.type_before} -> " if change.type_before else ""
            yield f"  {when}  {kind:7}  {change.column} {before}{change.type_after}  by {by}"


def _by(record: lakebed.SchemaChangeRecord) -> str:
    if record.change.kind == "compacted":
        return "lakebed compact"
    return f"{record.slice.period} {record.delivery}" if record.slice else "lakebed evolve or merge"


def _snapshots(snapshots: Sequence[lakebed.SnapshotRecord]) -> Iterator[str]:
    if snapshots:
        yield "snapshots (* is the current one)"
    for snapshot in snapshots:
        ours = snapshot.properties
        merged = f"merge {ours['merge.strategy']}" if "merge.strategy" in ours else None
        what = ours.get("operation") or merged or snapshot.operation
        rows = "" if snapshot.rows is None else f"  {snapshot.rows:,} rows"
        delivery = " ".join(filter(None, (ours.get("period"), ours.get("delivery"), ours.get("dbt.model"))))
        added = f"  + {_first_few(snapshot.added_columns)}" if snapshot.added_columns else ""
        wider = f"  wider: {_first_few(snapshot.widened_columns)}" if snapshot.widened_columns else ""
        shown = f"  [{', '.join(snapshot.refs)}]" if set(snapshot.refs) - {"main"} else ""
        yield (
            f"  {snapshot.id}{'*' if snapshot.current else ' '} {snapshot.at:%Y-%m-%d %H:%M:%S}"
            f"  {what}{rows}  {delivery}{added}{wider}{shown}".rstrip()
        )


def _first_few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
