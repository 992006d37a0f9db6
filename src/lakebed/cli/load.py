"""`lakebed load`: load what earlier commands have discovered or staged."""

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import Json, Workdir, reporting, say
from lakebed.cli.progress import ProgressBars
from lakebed.cli.run import finish, measuring


def load(
    target: options.Target,
    table: options.Table = None,
    report: options.Report = None,
    payer: options.Payer = None,
    period: options.Period = None,
    since: options.Since = None,
    until: options.Until = None,
    decimals: options.Decimals = None,
    naming: options.NamingRule = None,
    on_bad_value: options.BadValue = None,
    on_conflict: options.Conflict = None,
    replace: options.Replace = False,
    accept_shrink: options.AcceptShrink = False,
    allow_missing: options.AllowMissing = None,
    no_stage: options.NoStage = None,
    strict: options.Strict = None,
    master: options.Master = None,
    remote: options.Remote = None,
    metrics_file: options.MetricsFile = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Load the deliveries that the ledger knows from `discover` and `stage` and that are not loaded yet."""
    with reporting(as_json=as_json), measuring(metrics_file) as measured, ProgressBars() as bars:
        done = lakebed.load(
            target,
            table=table,
            workdir=workdir,
            observer=bars,
            report=report,
            payer=payer,
            period=period,
            since=since,
            until=until,
            decimals=decimals,
            naming=naming,
            on_bad_value=on_bad_value,
            on_conflict=on_conflict,
            replace=replace,
            accept_shrink=accept_shrink,
            allow_missing=allow_missing,
            no_stage=no_stage,
            strict=strict,
            master=master,
            remote=remote,
        )
        measured.reports.append(done)
    if not done.deliveries:
        say("nothing waits to be loaded; `lakebed discover SOURCE` or `lakebed stage SOURCE` finds deliveries")
    finish(done, as_json=as_json)
