"""`lakebed sample`: believable deliveries to try everything on."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import lakebed
from lakebed.cli.frame import OUT, Json, reporting, show
from lakebed.samples.kinds import SampleFormat, SampleKind, SampleLayout
from lakebed.samples.truth import TRUTH_FILE


def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write: it stands for the bucket.")],
    months: Annotated[int, typer.Option(help="Billing periods, the last one being October 2026.")] = 4,
    rows: Annotated[int, typer.Option(help="Rows of each delivery.")] = 20_000,
    columns: Annotated[int, typer.Option(help="Columns of the first month; later ones gain and lose some.")] = 250,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    files: Annotated[int, typer.Option(help="Data files of each delivery.")] = 4,
    report: Annotated[str, typer.Option(help="The report's name.")] = "sample-report",
    kind: Annotated[SampleKind, typer.Option(help="CUR, CUR 2.0 or FOCUS 1.0.")] = "cur",
    format: Annotated[SampleFormat, typer.Option(help="How the data files are packed.")] = "gzip",
    layout: Annotated[
        SampleLayout, typer.Option(help="A folder for each delivery, or each month's files overwritten.")
    ] = "new",
    restate: Annotated[bool, typer.Option(help="Deliver the month before the last a second time.")] = True,
    as_json: Json = False,
) -> None:
    """Make believable billing deliveries: drifting columns, colliding tags, a restated month, and the truth of them."""
    with reporting(as_json=as_json):
        truth = lakebed.sample(
            folder,
            months=months,
            rows=rows,
            columns=columns,
            seed=seed,
            files=files,
            report=report,
            kind=kind,
            format=format,
            layout=layout,
            restate=restate,
        )
        show(truth, as_json=as_json, render=lambda: _render(truth))


def _render(truth: "lakebed.SampleTruth") -> None:
    table = Table(box=None, header_style="bold")
    for name in ("period", "delivery", "rows", "columns", "files", "currencies", ""):
        table.add_column(
            name, no_wrap=name != "delivery", justify="right" if name in ("rows", "columns", "files") else "left"
        )
    for delivery in truth.deliveries:
        table.add_row(
            delivery.period,
            delivery.delivery,
            f"{delivery.totals.rows:,}",
            str(len(delivery.columns)),
            str(len(delivery.files)),
            ", ".join(sorted(delivery.totals.by_currency)),
            "" if delivery.current else "superseded",
        )
    OUT.print(table)
    OUT.print(f"rows and exact sums: {truth.folder / TRUTH_FILE}")
