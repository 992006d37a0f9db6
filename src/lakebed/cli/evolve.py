"""`lakebed evolve`."""

from typing import Annotated, Literal

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, reporting, show


def evolve(
    table: Annotated[
        str, typer.Argument(help="The table: iceberg:NAMESPACE.TABLE, duckdb:FILE#TABLE, parquet:FOLDER.")
    ],
    schema: Annotated[
        str,
        typer.Option(
            "--schema", help="A .parquet file, a .json file ({name: type}), or DDL: 'id bigint, cost decimal(38,18)'."
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and change nothing.")] = False,
    on_conflict: Annotated[
        Literal["refuse", "variant"],
        typer.Option(help="A type that does not fit: refuse, or variant for a column of its own."),
    ] = "refuse",
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Adds and widens columns of a table; never drops or narrows one."""
    with reporting(as_json=as_json):
        plan = lakebed.evolve(table, schema, dry_run=dry_run, workdir=workdir, on_conflict=on_conflict)
        show(plan, as_json=as_json, render=lambda: OUT.print(plan.describe(), markup=False))
