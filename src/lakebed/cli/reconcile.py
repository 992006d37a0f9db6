"""`lakebed reconcile`: does the table still add up to its source files."""

from decimal import Decimal
from typing import Annotated

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import ERR, OUT, Json, Workdir, escape, print_table, reporting, show
from lakebed.pipeline.reports import Reconciliation


def reconcile(
    target: options.Target,
    source: Annotated[
        str | None,
        typer.Option(help="Read the files of this source again, and compare with those: no ledger is needed."),
    ] = None,
    table: options.Table = None,
    period: options.Period = None,
    report: options.Report = None,
    payer: options.Payer = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Add up the table again and compare rows and sums with what each load found in its source files."""
    with reporting(as_json=as_json):
        done = lakebed.reconcile(
            target, source=source, table=table, period=period, report=report, payer=payer, workdir=workdir
        )
    show(done, as_json=as_json, render=lambda: _render(done))
    if not done.holds:
        raise typer.Exit(1)


def _render(done: "lakebed.ReconcileReport") -> None:
    for load in done.loads:
        OUT.print(f"[bold]{escape(load.slice.report)} {load.slice.period}[/] {_verdict(load)}")
        if load.reconciliation is None:
            continue
        lines = RichTable(box=None, pad_edge=False)
        lines.add_column("  ")
        for heading in ("source files", "table"):
            lines.add_column(heading, justify="right")
        lines.add_row("  rows", f"{load.reconciliation.source.rows:,}", f"{load.reconciliation.table.rows:,}")
        for column, total in load.reconciliation.source.sums.items():
            there = load.reconciliation.table.sums.get(column, Decimal(0))
            lines.add_row(f"  {escape(column)}", _plain(total), _plain(there))
        _add_costs_by_currency(lines, load.reconciliation)
        print_table(lines)
        for column in load.reconciliation.lost_columns:
            ERR.print(f"[bold red]lost:[/] the table has no column {escape(column)} any more")
        for difference in load.reconciliation.differences:
            ERR.print(
                f"[bold red]differs:[/] {escape(difference.what)}: "
                f"{_plain(difference.source)} in the source files, {_plain(difference.table)} in the table"
            )


def _add_costs_by_currency(lines: RichTable, reconciliation: Reconciliation) -> None:
    """The sums above run over all currencies, which proves the load; what is owed is in one currency."""
    for currency, sums in sorted(reconciliation.source.by_currency.items()):
        there = reconciliation.table.by_currency.get(currency, {})
        for column in (name for name in sums if "cost" in name):
            heading = f"  {escape(column)} in {escape(currency) or 'no currency'}"
            lines.add_row(heading, _plain(sums[column]), _plain(there.get(column, Decimal(0))))


def _verdict(load: "lakebed.ReconciledLoad") -> str:
    if load.reconciliation is None:
        return "[yellow]not known: nothing says what its files sum up to; --source reads them again[/]"
    if not load.complete:
        return "[bold red]incomplete: files of the delivery were missing when it was loaded[/]"
    if load.held not in (None, load.delivery):
        return (
            f"[bold red]the table holds delivery {escape(load.held)}, and the ledger knows {escape(load.delivery)}: a "
            "load was interrupted after its commit; `lakebed run` puts the ledger right[/]"
        )
    return "[green]adds up to the last digit[/]" if load.holds else "[bold red]does not add up[/]"


def _plain(total: object) -> str:
    text = format(total, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
