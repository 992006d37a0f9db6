"""`lakebed focus`."""

from typing import Annotated

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import OUT, Json, Workdir, escape, print_table, reporting, show
from lakebed.errors import ConfigError


def focus(
    table: Annotated[
        str, typer.Argument(help="The loaded bill: duckdb:FILE#TABLE, iceberg:NAMESPACE.TABLE, parquet:FOLDER.")
    ],
    to: Annotated[str | None, typer.Option(help="The table to write: the same forms; it need not exist.")] = None,
    focus_version: Annotated[str, typer.Option("--focus-version", help="1.2 or 1.3.")] = "1.2",
    print_: Annotated[bool, typer.Option("--print", help="Print the SELECT, and write nothing.")] = False,
    dialect: Annotated[
        str | None, typer.Option(help="Whose SQL to print: duckdb, spark, trino (Athena's) or snowflake.")
    ] = None,
    relation: Annotated[
        str | None, typer.Option(help="How the engine that runs the SQL names the bill, as in catalog.schema.table.")
    ] = None,
    redo: Annotated[bool, typer.Option("--redo", help="Write every month again, changed or not.")] = False,
    master: options.Master = None,
    remote: options.Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Writes a loaded bill as FOCUS into another table, month by month; what has not changed is left."""
    with reporting(as_json=as_json):
        if dialect is not None and not print_:
            raise ConfigError("--dialect says whose SQL to print", remedy="Add --print, or leave it out.")
        from lakebed.finops.focus_mapping import FOCUS_VERSIONS
        from lakebed.finops.projection import DIALECTS

        done = lakebed.focus(
            table,
            to=to,
            version=options.one_of("--focus-version", focus_version, FOCUS_VERSIONS),
            dialect=options.one_of("--dialect", dialect or "duckdb", DIALECTS) if print_ else None,
            relation=relation,
            master=master,
            remote=remote,
            redo=redo,
            workdir=workdir,
        )
        show(done, as_json=as_json, render=lambda: _draw(done))


def _draw(done: "lakebed.FocusResult") -> None:
    if done.sql is not None:
        typer.echo(f"{done.sql};")
        return
    lines = RichTable(box=None, pad_edge=False)
    for heading in ("period", "report", "delivery", ""):
        lines.add_column(heading)
    for heading in ("rows", "billed cost", "effective cost"):
        lines.add_column(heading, justify="right")
    for one in done.slices:
        costs = (
            f"{one.sums[name].normalize():f}" if name in one.sums else "" for name in ("BilledCost", "EffectiveCost")
        )
        rows = f"{one.rows:,}" if one.action == "written" else ""
        lines.add_row(one.period, escape(one.report), escape(one.delivery[:24]), one.action, rows, *costs)
    print_table(lines)
    OUT.print(
        f"{escape(done.to or '')} has FOCUS {done.version}; not in CUR, and NULL: {', '.join(done.empty_columns)}"
    )
