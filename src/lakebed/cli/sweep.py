"""`lakebed sweep`."""

from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, reporting, show


def sweep(
    table: Annotated[str | None, typer.Argument(help="Only this table. [default: every table of the ledger]")] = None,
    expire_days: Annotated[
        float | None,
        typer.Option("--expire-days", min=0, help="Also forget snapshots of the Iceberg table older than this."),
    ] = None,
    older_than_days: Annotated[
        float | None,
        typer.Option(
            "--older-than-days",
            min=0,
            help="How old files must be of which nothing says that a run is over. [default: 3]",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go and remove nothing.")] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Removes files that crashed loads, merges and evolutions left; with --expire-days old Iceberg snapshots too."""
    with reporting(as_json=as_json):
        swept = lakebed.sweep(
            table, workdir=workdir, expire_days=expire_days, older_than_days=older_than_days, dry_run=dry_run
        )
        show(swept, as_json=as_json, render=lambda: _draw(swept))


def _draw(swept: "lakebed.Swept") -> None:
    verb = "would remove" if swept.dry_run else "removed"
    for uri in swept.files if swept.dry_run else ():
        OUT.print(uri, markup=False)
    OUT.print(f"{verb} {len(swept.files)} files that crashed runs left")
    for delivery in swept.forgotten:
        verb_ = "would be" if swept.dry_run else "is"
        OUT.print(f"{delivery} {verb_} retained no longer", markup=False)
    if swept.expired.snapshots:
        OUT.print(f"{verb} {len(swept.expired.snapshots)} snapshots and {len(swept.expired.files)} files of theirs")
