"""`lakebed rollback`."""

from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, reporting, show


def rollback(
    table: Annotated[str, typer.Argument(help="An Iceberg table: iceberg:NAMESPACE.TABLE.")],
    snapshot: Annotated[int, typer.Argument(help="The snapshot to go back to; `lakebed history` lists them.")],
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Makes an earlier snapshot of an Iceberg table the current one; its schema stays as wide as it is."""
    with reporting(as_json=as_json):
        record = lakebed.rollback(table, snapshot, workdir=workdir)
        show(record, as_json=as_json, render=lambda: OUT.print(f"{table} is at snapshot {record.id} of {record.at}"))
