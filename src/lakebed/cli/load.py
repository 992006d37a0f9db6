"""`lakebed load`: load what earlier commands have discovered or staged."""

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import Json, Workdir, reporting, say
from lakebed.cli.option_groups import Filters, LoadOptions
from lakebed.cli.progress import ProgressBars
from lakebed.cli.run import finish, measuring


def load(
    target: options.Target,
    table: options.Table = None,
    *,
    filters: Filters,
    how: LoadOptions,
    replace: options.Replace = False,
    accept_shrink: options.AcceptShrink = False,
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
            replace=replace,
            accept_shrink=accept_shrink,
            **filters,
            **how,
        )
        measured.reports.append(done)
    if not done.deliveries:
        say("nothing waits to be loaded; `lakebed discover SOURCE` or `lakebed stage SOURCE` finds deliveries")
    finish(done, as_json=as_json)
