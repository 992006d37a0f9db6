"""`lakebed doctor`: is everything there that a load needs, and if not, what to do."""

from typing import Annotated

import typer
from rich.markup import escape

from lakebed.cli.frame import OUT, Json, Workdir, print_json, reporting
from lakebed.config import Settings, load_settings
from lakebed.health import Check, Health, examine

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
        settings = load_settings({"master": master, "remote": remote, "workdir": workdir})
        if spark_conf:
            _print_spark_conf(settings, as_json=as_json)
            return
        checks = []
        for check in examine(settings, quick=quick, places=places or ()):
            checks.append(check)
            if not as_json:
                _render(check)
        health = Health(tuple(checks))
    if as_json:
        print_json(health.to_dict())
    if not health.ok:
        raise typer.Exit(1)


def _print_spark_conf(settings: Settings, *, as_json: bool) -> None:
    from lakebed.targets.iceberg.catalog import CatalogSettings
    from lakebed.targets.iceberg.spark_conf import spark_conf

    catalog = CatalogSettings.choose(
        None, settings.catalog, workdir=settings.workdir_path, storage=settings.storage.settings()
    )
    found = spark_conf(catalog)
    if as_json:
        print_json(dict(found))
    else:
        OUT.print("\n".join(f"{key} {value}" for key, value in found.items()), markup=False)


def _render(check: Check) -> None:
    OUT.print(f"{_SIGNS[check.state]} {check.name}: {escape(check.found)}")
    if check.fix is not None:
        OUT.print(f"        {escape(check.fix)}")
