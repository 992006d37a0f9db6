"""`lakebed sums`."""

from typing import Annotated

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, print_table, reporting, show, warn
from lakebed.cli.options import Master, Remote, split_names


def sums(
    target: Annotated[
        str, typer.Argument(help="A loaded table: iceberg:NAMESPACE.TABLE, duckdb:FILE#TABLE, parquet:FOLDER.")
    ],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="What was known at the end of this day, as in 2026-10-05, or at a moment in UTC."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="The number columns to add up, with commas. [default: the cost]")
    ] = None,
    period: Annotated[str | None, typer.Option(help="Only this month, as in 2026-10.")] = None,
    master: Master = None,
    remote: Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Exact sums and rows of each month, by currency: now, or as they were known on a day, and where they come from."""
    with reporting(as_json=as_json):
        found = lakebed.sums(
            target,
            as_of=as_of,
            columns=split_names(columns) or None,
            period=period,
            master=master,
            remote=remote,
            workdir=workdir,
        )
        for text in found.warnings:
            warn(text)
        show(found, as_json=as_json, render=lambda: _draw(found))


def _draw(found: "lakebed.Sums") -> None:
    from lakebed.finops.sums import by_currency

    when = "" if found.as_of is None else f" as it was known at {found.as_of:%Y-%m-%d %H:%M} UTC"
    OUT.print(f"[bold]{escape(found.table)}[/]{when}")
    if not found.loads:
        OUT.print("holds no rows" if found.as_of is None else "nothing was loaded by then")
        return
    lines = RichTable(box=None, pad_edge=False)
    for heading in ("period", "delivery", "loaded (UTC)", "currency"):
        lines.add_column(heading)
    for heading in ("rows", *found.columns):
        lines.add_column(escape(heading), justify="right")
    lines.add_column("from")
    for one in found.loads:
        loaded = "" if one.loaded_at is None else f"{one.loaded_at:%Y-%m-%d %H:%M}"
        place = "the table" if one.current else one.where
        for number, (code, totals) in enumerate(by_currency(one.totals).items()):
            rows = f"{one.totals.rows:,}" if number == 0 else ""
            figures = (f"{totals[name].normalize():f}" for name in found.columns)
            lines.add_row(one.period, escape(one.delivery or ""), loaded, escape(code), rows, *figures, escape(place))
    print_table(lines)
    for code, totals in by_currency(found.totals).items():
        told = ", ".join(f"{name} {totals[name].normalize():f}" for name in found.columns)
        OUT.print(f"in all {escape(code) or 'without a currency'}: {escape(told)}")
    OUT.print(f"{found.totals.rows:,} rows in all")
