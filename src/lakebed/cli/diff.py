"""`lakebed diff`."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, print_table, reporting, show, warn
from lakebed.cli.options import Master, Payer, Remote, Report, split_names


class DiffFormat(StrEnum):
    """How a difference is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def diff(
    target: Annotated[
        str, typer.Argument(help="A loaded table: iceberg:NAMESPACE.TABLE, duckdb:FILE#TABLE, parquet:FOLDER.")
    ],
    period: Annotated[str, typer.Option(help="The month, as in 2026-09.")],
    from_: Annotated[
        str | None,
        typer.Option("--from", help="The earlier delivery. [default: the one before, or with a source the loaded one]"),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(help="The later delivery, or a source that is not loaded yet. [default: the loaded one]"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="What to group by, with commas: account, service, line_item_type, usage_type, operation, resource, "
            "region, invoice, tag:NAME, category:NAME, product:NAME, or columns. "
            "[default: account,service,line_item_type]"
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="The number columns to compare, with commas. [default: the cost]")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="How many parts to show; the rest is one line. JSON has them all.")
    ] = 20,
    format_: Annotated[DiffFormat, typer.Option("--format", help="How to print it.")] = DiffFormat.TEXT,
    report: Report = None,
    payer: Payer = None,
    master: Master = None,
    remote: Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Why a month differs between two deliveries: groups that came, went and changed, the largest first."""
    as_json = as_json or format_ is DiffFormat.JSON
    with reporting(as_json=as_json):
        found = lakebed.diff(
            target,
            period=period,
            from_=from_,
            to=to,
            by=split_names(by) or None,
            columns=split_names(columns) or None,
            report=report,
            payer=payer,
            master=master,
            remote=remote,
            workdir=workdir,
        )
        for text in found.warnings:
            warn(text)
        show(found, as_json=as_json, render=lambda: _print(found, limit, as_markdown=format_ is DiffFormat.MARKDOWN))


def _print(found: "lakebed.Diff", limit: int, *, as_markdown: bool) -> None:
    from lakebed.finops.diff_lines import cells, diff_lines, headings, markdown, title, total_lines

    if as_markdown:
        typer.echo(markdown(found, limit), nl=False)
        return
    OUT.print(f"[bold]{escape(title(found))}[/]")
    if found.equal:
        OUT.print(f"no group differs: {found.after.rows:,} rows, {found.unchanged:,} groups")
        return
    lines = RichTable(box=None, pad_edge=False)
    for place, heading in enumerate(headings(found)):
        lines.add_column(escape(heading), justify="right" if place >= 2 + len(found.by) else "left")
    for line in diff_lines(found, limit):
        lines.add_row(*map(escape, cells(line)))
    for line in total_lines(found):
        lines.add_row(*map(escape, cells(line)), style="bold")
    print_table(lines)
    OUT.print(f"{found.unchanged:,} groups are equal on both sides; the lines above add up to the difference exactly")
