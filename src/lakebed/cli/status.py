"""`lakebed status`: what the ledger knows."""

from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table as RichTable

from lakebed.cli.frame import OUT, Json, Workdir, escape, print_table, reporting, show
from lakebed.state.rebuild import describe_table
from lakebed.state.records import DeliveryRecord, LoadRecord
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class Status:
    """Everything that was discovered, and everything that was loaded."""

    deliveries: tuple[DeliveryRecord, ...]
    loads: tuple[LoadRecord, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "deliveries": [_flat(asdict(delivery)) for delivery in self.deliveries],
            "loads": [_flat(asdict(load)) for load in self.loads],
        }


def status(
    rebuild: Annotated[
        str | None, typer.Option(help="Write the ledger anew from this table, as in duckdb:costs.duckdb#report.")
    ] = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Show deliveries and loads with their states, and the errors of those that failed."""
    with reporting(as_json=as_json):
        workspace = Workspace.open({"workdir": workdir})
        if rebuild is not None:
            target = workspace.target(rebuild)
            with workspace.ledger() as ledger:
                ledger.rebuild([describe_table(target, target.state())])
        with workspace.ledger_for_reading() as ledger:
            known = Status(ledger.deliveries(), ledger.loads())
    show(known, as_json=as_json, render=lambda: _render(known))


def _render(known: Status) -> None:
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
            _state(delivery.state, delivery.complete),
            escape(load.table) if load is not None else "",
            f"{load.rows:,}" if load is not None and load.state == "loaded" else "",
        )
    for load in loaded.values():
        lines.add_row(
            escape(load.slice.report),
            load.slice.period,
            escape(load.delivery[:24]),
            _state(load.state, load.complete),
            escape(load.table),
            f"{load.rows:,}",
        )
    print_table(lines)
    for delivery in known.deliveries:
        if delivery.error:
            OUT.print(f"[bold red]{escape(str(delivery.slice))}:[/] {escape(delivery.error)}")


def _state(state: str, complete: bool) -> str:
    shown = f"[bold red]{state}[/]" if state == "failed" else state
    return shown if complete else f"{shown}, [yellow]incomplete[/]"


def _flat(record: dict[str, object]) -> dict[str, object]:
    slice_ = record.pop("slice")
    return {**slice_, **record} if isinstance(slice_, dict) else record
