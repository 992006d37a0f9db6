"""`lakebed receipt`."""

from pathlib import Path
from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, count, reporting, show, warn
from lakebed.cli.options import split_names
from lakebed.errors import ConfigError


def receipt(
    sql: Annotated[
        str | None, typer.Argument(help="One SELECT in DuckDB's SQL over the table, by its name.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="The loaded table: iceberg:NAMESPACE.TABLE, duckdb:FILE#TABLE, parquet:FOLDER."),
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="Only the rows of these months, with commas; then only their deliveries count.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the receipt goes: this name with .json and .html.")] = Path(
        "receipt"
    ),
    verify: Annotated[
        Path | None, typer.Option(help="Recompute this receipt (JSON) from its source files, without the table.")
    ] = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """A total with the deliveries, files and columns that it rests on; --verify computes it again from the files."""
    with reporting(as_json=as_json):
        if verify is not None:
            checked = lakebed.verify_receipt(verify)
            show(checked, as_json=as_json, render=lambda: _judge(checked))
            if not checked.equal:
                raise typer.Exit(1)
            return
        if sql is None or target is None:
            raise ConfigError(
                "a receipt is made for a query on a table",
                remedy='Write lakebed receipt "SELECT ..." --target T, or lakebed receipt --verify FILE.',
            )
        made = lakebed.receipt(sql, target, period=split_names(period) or None, workdir=workdir)
        json_file, page = out.with_name(f"{out.name}.json"), out.with_name(f"{out.name}.html")
        json_file.write_text(made.to_json(), encoding="utf-8")
        page.write_text(made.to_html(), encoding="utf-8")
        show(made, as_json=as_json, render=lambda: _draw(made, json_file, page))


def _draw(made: "lakebed.Receipt", json_file: Path, page: Path) -> None:
    for row in made.rows:
        OUT.print("  ".join("NULL" if value is None else value for value in row), markup=False, highlight=False)
    files = sum(len(one["files"]) for one in made.facts["deliveries"])
    deliveries = len(made.facts["deliveries"])
    OUT.print(
        f"rests on {deliveries} deliver{'y' if deliveries == 1 else 'ies'} with {count(files, 'file')}; "
        f"{json_file} and {page} say which",
        markup=False,
    )


def _judge(checked: "lakebed.Verification") -> None:
    for problem in checked.problems:
        warn(problem)
    said = "equal" if checked.equal else "NOT equal"
    OUT.print(f"{said}: {checked.receipt}, computed again from {checked.files} source files", markup=False)
