"""`lakebed views`."""

from typing import Annotated

import typer

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import OUT, Json, Workdir, count, escape, reporting, show
from lakebed.errors import ConfigError


def views(
    table: Annotated[
        str, typer.Argument(help="The table: duckdb:FILE#TABLE, iceberg:NAMESPACE.TABLE, parquet:FOLDER.")
    ],
    print_: Annotated[
        bool, typer.Option("--print", help="Print the SQL that creates the views, and create nothing.")
    ] = False,
    dialect: Annotated[
        str | None, typer.Option(help="Whose SQL to print: duckdb, spark, trino (Athena's) or snowflake.")
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(help="How the engine that runs the SQL names the table, as in catalog.schema.table."),
    ] = None,
    master: options.Master = None,
    remote: options.Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Creates the views that people's SQL expects: TABLE_athena with CUR's names, TABLE_cur2 with CUR 2.0's columns."""
    with reporting(as_json=as_json):
        if dialect is not None and not print_:
            raise ConfigError("--dialect says whose SQL to print", remedy="Add --print, or leave it out.")
        from lakebed.finops.projection import DIALECTS

        made = lakebed.views(
            table,
            dialect=options.one_of("--dialect", dialect or "duckdb", DIALECTS) if print_ else None,
            relation=relation,
            master=master,
            remote=remote,
            workdir=workdir,
        )
        show(made, as_json=as_json, render=lambda: _print(made) if print_ else draw(made))


def _print(made: "lakebed.ViewsResult") -> None:
    for view in made.views:
        typer.echo(f"{view.sql};\n")


def draw(made: "lakebed.ViewsResult") -> None:
    """One line for each view."""
    for view in made.views:
        state = "created" if view.created else "unchanged"
        OUT.print(
            f"{escape(view.name)}  {state}, {count(len(view.columns), 'column')}, "
            f"{len(view.empty_columns):,} of them always NULL: this report lacks them"
        )
