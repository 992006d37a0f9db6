"""`lakebed impact`: what a change of columns reaches, and what it breaks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import lakebed
from lakebed.cli.frame import Json, Workdir, print_json, reporting
from lakebed.cli.lineage import SchemaAddresses, Variables, split_pairs
from lakebed.errors import ConfigError

if TYPE_CHECKING:
    from lakebed.changes.result import ImpactResult

FORMATS = ("text", "json", "github")


def impact(
    columns: Annotated[
        list[str] | None,
        typer.Argument(metavar="COLUMN", help="Columns, or tables, of which everything downstream is listed."),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="T.C", help="A column, or a table, that goes.")] = None,
    rename: Annotated[list[str] | None, typer.Option(metavar="T.C=NAME", help="A column with a new name.")] = None,
    retype: Annotated[list[str] | None, typer.Option(metavar="T.C=TYPE", help="A column with a new type.")] = None,
    folder: Annotated[Path | None, typer.Option("--in", metavar="DIR", help="A folder of SQL files.")] = None,
    dbt: Annotated[Path | None, typer.Option(metavar="DIR", help="A dbt project.")] = None,
    dialect: Annotated[str, typer.Option(help="The SQL dialect.")] = "spark",
    schema: SchemaAddresses = None,
    var: Variables = None,
    format: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}; github is a comment.")] = "text",
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """List everything downstream of columns, and what breaks where they are dropped, renamed or given another type.

    Exits with 1 where something breaks.
    """
    from lakebed.changes.markdown import impact_comment
    from lakebed.lineage.imports import load_schema

    with reporting(as_json=as_json):
        if format not in FORMATS:
            raise ConfigError(f"the format {format!r} is not known", remedy=f"Choose one of {', '.join(FORMATS)}.")
        if (folder is None) == (dbt is None):
            raise ConfigError("the project is not named", remedy="Give --in DIR or --dbt DIR.")
        result = lakebed.impact(
            columns or (),
            drop=drop or (),
            rename={name: str(value) for name, value in split_pairs(rename or [], "--rename").items()},
            retype={name: str(value) for name, value in split_pairs(retype or [], "--retype").items()},
            folder=folder,
            dbt=dbt,
            dialect=dialect,
            schema=load_schema(schema, dialect=dialect, workdir=workdir) if schema else None,
            variables=split_pairs(var or [], "--var"),
        )
    if as_json or format == "json":
        print_json(result.to_dict())
    elif format == "github":
        typer.echo(impact_comment(result), nl=False)
    else:
        _show(result)
    if result.breaking:
        raise typer.Exit(1)


def _show(result: "ImpactResult") -> None:
    for change, reached in zip(result.changes, result.reached_by_change, strict=True):
        typer.echo(str(change))
        breaks = [one for one in result.breaks if one.change == change]
        if breaks:
            typer.echo("  breaks")
            for broken in breaks:
                typer.echo(f"    {broken.place}: {broken.reason} [{', '.join(broken.roles)}]")
        elif change.kind != "any":
            typer.echo("  breaks nothing")
        typer.echo("  reaches" if reached else "  reaches nothing")
        for one in reached:
            doubt = " (approximate)" if one.approximate else ""
            typer.echo(f"    {' -> '.join(one.path)} [{one.role}]{doubt}  {one.place}")
    if result.unknown:
        typer.echo("could not be analysed, and may be reached too")
        for place in result.unknown:
            typer.echo(f"    {place}")
