"""`lakebed load`: load what earlier commands have discovered or staged."""

from lakebed.cli import options
from lakebed.cli.frame import Json, Workdir, reporting
from lakebed.cli.progress import ProgressBars
from lakebed.cli.run import finish
from lakebed.pipeline.load import load as load_known


def load(
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
    """Load the deliveries that the ledger knows from `discover` and `stage` and that are not loaded yet."""
    with reporting(as_json=as_json), ProgressBars() as bars:
        done = load_known(
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
            replace=replace,
            accept_shrink=accept_shrink,
            allow_missing=allow_missing,
            no_stage=no_stage,
            strict=strict,
            master=master,
            remote=remote,
        )
    finish(done, as_json=as_json)
