"""`lakebed doctor`: is everything there that a load needs, and if not, what to do."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.markup import escape

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, print_json, reporting

_SIGNS = {"ok": "[green]ok[/]     ", "warning": "[yellow]warning[/]", "failed": "[red]failed[/] "}


def doctor(
    places: Annotated[
        list[str] | None, typer.Argument(metavar="PLACE", help="Folders or buckets that must be readable.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Start no Spark session.")] = False,
    master: Annotated[str | None, typer.Option(help="Master URL to try instead of local[*].")] = None,
    remote: Annotated[str | None, typer.Option(help="Spark Connect URL to try.")] = None,
    spark_conf: Annotated[
        bool,
        typer.Option("--spark-conf", help="Print the settings with which your own Spark opens our Iceberg tables."),
    ] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Check Java, Spark, the work directory, DuckDB, Iceberg and storage, and say how to put right what is wrong."""
    with reporting(as_json=as_json):
        if spark_conf:
            from lakebed.health import catalog_conf

            _print_conf(catalog_conf(workdir), as_json=as_json)
            return
        health = lakebed.doctor(
            places or (),
            quick=quick,
            master=master,
            remote=remote,
            workdir=workdir,
            on_check=None if as_json else _render,
        )
    if as_json:
        print_json(health.to_dict())
    if not health.ok:
        raise typer.Exit(1)


def _print_conf(conf: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(dict(conf))
    else:
        OUT.print("\n".join(f"{key} {value}" for key, value in conf.items()), markup=False)


def _render(check: "lakebed.Check") -> None:
    OUT.print(f"{_SIGNS[check.state]} {check.name}: {escape(check.found)}")
    if check.fix is not None:
        OUT.print(f"        {escape(check.fix)}")
