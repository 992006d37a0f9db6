"""`lakebed discover`: which deliveries there are, and which of each month counts."""

from rich.table import Table as RichTable

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import Json, Workdir, escape, print_table, reporting, show, warn
from lakebed.cli.option_groups import Filters
from lakebed.model import Delivery


def discover(
    source: options.Source,
    *,
    filters: Filters,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """List the deliveries of a source: the one that counts for each month, and those it supersedes."""
    with reporting(as_json=as_json):
        found = lakebed.discover(source, workdir=workdir, **filters)
    for message in found.all_warnings:
        warn(message)
    show(found, as_json=as_json, render=lambda: _render(found))


def _render(found: "lakebed.DiscoverReport") -> None:
    lines = RichTable(box=None, pad_edge=False)
    for heading in ("report", "payer", "period", "delivery", "kind"):
        lines.add_column(heading)
    for heading in ("files", "MB", "columns"):
        lines.add_column(heading, justify="right")
    lines.add_column("")
    for delivery in found.deliveries:
        lines.add_row(*_cells(delivery), "" if delivery.complete else f"[yellow]{len(delivery.missing)} missing[/]")
    for delivery in found.superseded:
        lines.add_row(*_cells(delivery), "superseded", style="dim")
    print_table(lines)


def _cells(delivery: Delivery) -> tuple[str, ...]:
    slice_ = delivery.slice
    return (
        escape(slice_.report),
        slice_.payer,
        slice_.period,
        escape(delivery.id),
        delivery.kind,
        str(len(delivery.files)),
        f"{delivery.size_bytes / 1e6:,.1f}",
        str(len(delivery.columns)),
    )
