"""`lakebed check`: saved queries against the schema that the next delivery would leave."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import Json, Workdir, print_json, reporting, warn
from lakebed.cli.impact import FORMATS
from lakebed.cli.lineage import Variables, split_pairs
from lakebed.cli.option_groups import Filters, PlanOptions
from lakebed.errors import ConfigError

if TYPE_CHECKING:
    from lakebed.changes.findings import CheckResult


def check(
    folder: Annotated[Path | None, typer.Argument(metavar="SQL_DIR", help="A folder of SQL files.")] = None,
    *,
    target: options.Target,
    table: options.Table = None,
    dbt: Annotated[Path | None, typer.Option(metavar="DIR", help="A dbt project.")] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="The next deliveries; without it, the table as it is."),
    ] = None,
    dialect: Annotated[str, typer.Option(help="The SQL dialect of the queries.")] = "spark",
    alias: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TABLE", help="What queries call a table of the target.")
    ] = None,
    var: Variables = None,
    filters: Filters,
    how: PlanOptions,
    format: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}; github is a comment.")] = "text",
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Check saved queries against a table, or against the schema that the next delivery would leave. Loads nothing.

    Exits with 1 where a query breaks; with --strict also where a column that it names is NULL in all new rows.
    """
    with reporting(as_json=as_json):
        if format not in FORMATS:
            raise ConfigError(f"the format {format!r} is not known", remedy=f"Choose one of {', '.join(FORMATS)}.")
        if (folder is None) == (dbt is None):
            raise ConfigError("the queries are not named", remedy="Give a folder of SQL files, or --dbt DIR.")
        result = lakebed.check(
            folder,
            target=target,
            dbt=dbt,
            against=against,
            table=table,
            dialect=dialect,
            variables=split_pairs(var or [], "--var"),
            aliases={name: str(value) for name, value in split_pairs(alias or [], "--alias").items()},
            workdir=workdir,
            **filters,
            **how,
        )
    if as_json or format == "json":
        print_json(result.to_dict())
    elif format == "github":
        from lakebed.changes.markdown import check_comment

        typer.echo(check_comment(result), nl=False)
    else:
        _show(result)
    if result.breaking:
        raise typer.Exit(1)


def _show(result: "CheckResult") -> None:
    for message in result.warnings:
        warn(message)
    for one in result.findings:
        typer.echo(f"{one.place}: {one.severity}: {one.reason}")
        typer.echo(f"    {one.remedy}")
    for place in result.unknown:
        typer.echo(f"{place}: could not be analysed")
    what = "what the next delivery leaves" if result.against is not None else "the target as it is"
    counts = {"error": len(result.of("error")), "warning": len(result.of("warning")), "note": len(result.of("note"))}
    told = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in counts.items() if n) or "nothing found"
    typer.echo(f"{result.checked} of {result.statements} statements read the target; checked against {what}: {told}")
