"""`lakebed status`: what the ledger knows."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, print_table, reporting, show, show_state

if TYPE_CHECKING:
    from lakebed.state.records import DeliveryRecord, LoadRecord


def status(
    rebuild: Annotated[
        str | None, typer.Option(help="Rebuild the ledger from this table, as in duckdb:costs.duckdb#report.")
    ] = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Show deliveries and loads with their states, and the errors of those that failed."""
    with reporting(as_json=as_json):
        known = lakebed.status(rebuild=rebuild, workdir=workdir)
    show(known, as_json=as_json, render=lambda: _render(known))


def _render(known: "lakebed.StatusReport") -> None:
    if not known.deliveries and not known.loads:
        OUT.print("nothing discovered or loaded yet; `lakebed run SOURCE --target T` begins")
        return
    lines = RichTable(box=None, pad_edge=False)
    for heading in ("report", "period", "delivery", "state", "table"):
        lines.add_column(heading)
    lines.add_column("rows", justify="right")
    loaded = {(load.slice, load.delivery): load for load in known.loads}
    for delivery in known.deliveries:
        load = loaded.pop((delivery.slice, delivery.delivery), None)
        lines.add_row(
            escape(delivery.slice.report),
            delivery.slice.period,
            escape(delivery.delivery[:24]),
            _state(known, delivery),
            escape(load.table) if load is not None else "",
            f"{load.rows:,}" if load is not None and load.state == "loaded" else "",
        )
    for load in loaded.values():
        lines.add_row(
            escape(load.slice.report),
            load.slice.period,
            escape(load.delivery[:24]),
            _state(known, load),
            escape(load.table),
            f"{load.rows:,}",
        )
    print_table(lines)
    for delivery in known.deliveries:
        if delivery.error:
            OUT.print(f"[bold red]{escape(str(delivery.slice))}:[/] {escape(delivery.error)}")


def _state(known: "lakebed.StatusReport", record: "DeliveryRecord | LoadRecord") -> str:
    """The state, and for work under way whose it is: a process that is gone does not go on."""
    work = known.describe_work(record)
    return show_state(record.state, record.complete) + (f", {escape(work)}" if work else "")
