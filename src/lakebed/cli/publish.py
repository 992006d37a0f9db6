"""`lakebed publish`."""

from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, reporting, show


def publish(
    table: Annotated[str, typer.Argument(help="A branch of an Iceberg table: iceberg:NAMESPACE.TABLE@BRANCH.")],
    drop_branch: Annotated[bool, typer.Option("--drop-branch", help="Remove the branch afterwards.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be published, and touch nothing.")] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Makes what a branch of an Iceberg table holds that of the table, in one commit that copies nothing."""
    with reporting(as_json=as_json):
        done = lakebed.publish(table, drop_branch=drop_branch, dry_run=dry_run, workdir=workdir)
    show(done, as_json=as_json, render=lambda: OUT.print(escape(_told(done))))


def _told(done: "lakebed.Publication") -> str:
    if not done.commits:
        return f"the table shows snapshot {done.snapshot} of {done.branch} already"
    verb = "would be" if done.dry_run else "was"
    rows = "" if done.rows is None else f", {done.rows:,} rows"
    return f"{done.branch} {verb} published: {done.commits:,} commits, snapshot {done.snapshot}{rows}"
