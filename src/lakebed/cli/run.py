"""`lakebed run`: discover, stage, load and reconcile."""

import typer
from rich.table import Table as RichTable

from lakebed.cli import options
from lakebed.cli.frame import ERR, OUT, Json, Workdir, escape, print_table, reporting, show, show_state
from lakebed.cli.progress import ProgressBars
from lakebed.pipeline.reports import RunReport
from lakebed.pipeline.run import run as run_pipeline


def run(
    source: options.Source,
    target: options.Target,
    table: options.Table = None,
    report: options.Report = None,
    payer: options.Payer = None,
    period: options.Period = None,
    since: options.Since = None,
    decimals: options.Decimals = None,
    naming: options.NamingRule = None,
    on_bad_value: options.BadValue = None,
    on_conflict: options.Conflict = None,
    reload: options.Reload = False,
    replace: options.Replace = False,
    accept_shrink: options.AcceptShrink = False,
    allow_missing: options.AllowMissing = None,
    no_stage: options.NoStage = None,
    strict: options.Strict = None,
    master: options.Master = None,
    remote: options.Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Load every delivery that is not loaded yet, and reconcile each with its source files."""
    with reporting(as_json=as_json), ProgressBars() as bars:
        done = run_pipeline(
            source,
            target,
            table=table,
            workdir=workdir,
            observer=bars,
            report=report,
            payer=payer,
            period=period,
            since=since,
            decimals=decimals,
            naming=naming,
            on_bad_value=on_bad_value,
            on_conflict=on_conflict,
            reload=reload,
            replace=replace,
            accept_shrink=accept_shrink,
            allow_missing=allow_missing,
            no_stage=no_stage,
            strict=strict,
            master=master,
            remote=remote,
        )
    finish(done, as_json=as_json)


def finish(done: RunReport, *, as_json: bool) -> None:
    """The summary, and exit code 1 where a delivery failed or does not add up."""
    show(done, as_json=as_json, render=lambda: render(done))
    if done.failed:
        raise typer.Exit(1)


def render(done: RunReport) -> None:
    """One line for each delivery, and what the tables hold now. A report that is the only one is not named again."""
    lines = RichTable(box=None, pad_edge=False)
    several = len({one.report for one in done.deliveries}) > 1
    for heading in (*(("report",) if several else ()), "period", "delivery", "state"):
        lines.add_column(heading)
    for heading in ("rows", "new columns", "adds up", "seconds"):
        lines.add_column(heading, justify="right")
    for one in done.deliveries:
        lines.add_row(
            *((escape(one.report),) if several else ()),
            one.period,
            escape(one.delivery[:24]),
            show_state(one.state, one.complete),
            f"{one.rows:,}",
            str(len(one.added_columns) or ""),
            {True: "yes", False: "[bold red]no[/]", None: "not checked"}[one.reconciled]
            if one.state == "loaded"
            else "",
            "" if one.skipped else f"{one.seconds:.1f}",
        )
    print_table(lines)
    for table in done.tables:
        OUT.print(f"{escape(table.address)} has {table.rows:,} rows")
    for one in done.deliveries:
        for column, values in one.rounded.items():
            ERR.print(f"[yellow]rounded:[/] {values:,} values of {escape(column)} in {one.period} lost digits")
        if one.rejected_rows:
            ERR.print(f"[yellow]quarantined:[/] {one.rejected_rows:,} rows of {escape(one.report)} {one.period}")
