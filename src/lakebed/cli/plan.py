"""`lakebed plan`: what a run would do."""

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import OUT, Json, Workdir, escape, reporting, show, warn
from lakebed.cli.option_groups import Filters, PlanOptions

_NOTES_SHOWN = 5


def plan(
    source: options.Source,
    target: options.Target,
    table: options.Table = None,
    *,
    filters: Filters,
    how: PlanOptions,
    reload: options.Reload = False,
    replace: options.Replace = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Print what would be loaded, replaced, added and widened. Touches nothing, the ledger included."""
    with reporting(as_json=as_json):
        planned = lakebed.plan(
            source, target, table=table, workdir=workdir, reload=reload, replace=replace, **filters, **how
        )
    for message in planned.warnings:
        warn(message)
    show(planned, as_json=as_json, render=lambda: _render(planned))


def _render(planned: "lakebed.PlanReport") -> None:
    for one in planned.deliveries:
        OUT.print(f"[bold]{one.action:8}[/]{escape(str(one.delivery.slice))} into {escape(one.table)}: {_why(one)}")
        if one.evolution is not None:
            for line in one.evolution.describe().splitlines():
                OUT.print(f"        {escape(_shortened(line))}")
        for note in one.notes[:_NOTES_SHOWN]:
            OUT.print(f"        {escape(note)}")
        if len(one.notes) > _NOTES_SHOWN:
            OUT.print(f"        and {len(one.notes) - _NOTES_SHOWN} more files, one task each")
    if planned.changes_nothing:
        OUT.print("nothing to do")


def _why(one: "lakebed.PlannedDelivery") -> str:
    files = "1 file" if len(one.delivery.files) == 1 else f"{len(one.delivery.files)} files"
    size = f" ({files}, {one.delivery.size_bytes / 1e6:,.1f} MB)" if one.evolution else ""
    return escape(one.decision.reason) + size


def _shortened(line: str) -> str:
    return line if len(line) <= 160 else line[:157] + "..."
