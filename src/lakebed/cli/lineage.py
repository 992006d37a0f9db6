"""`lakebed lineage`: which column of which statement comes from which."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import lakebed
from lakebed.cli.frame import ERR, Json, Workdir, print_json, reporting
from lakebed.errors import ConfigError

if TYPE_CHECKING:
    from lakebed.lineage.export.script_texts import ScriptTexts

# Those of `lakebed.lineage.export`, which is imported when there is something to analyse: the parser takes a while.
FORMATS = ("text", "json", "mermaid", "csv", "openlineage", "duckdb", "html")
# Those of a comparison; `github` is a comment.
COMPARISONS = ("text", "json", "github")


SchemaAddresses = Annotated[
    list[str] | None,
    typer.Option(
        "--schema",
        help="Where tables are known from: a .json, .sql or .csv (information_schema) file, duckdb:FILE, "
        "parquet:FOLDER, iceberg:NS[.TABLE], spark[:DATABASE], dbt:DIR, a database's URL as in "
        "postgresql://user@host/db. May be given several times.",
    ),
]
Variables = Annotated[list[str] | None, typer.Option("--var", help="A variable for templates: name=value.")]


def lineage(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="SQL files in the order in which they run, or folders, whose files are put into the order of what "
            "they read; `-` reads stdin."
        ),
    ] = None,
    dialect: Annotated[str, typer.Option(help="The SQL dialect.")] = "spark",
    schema: SchemaAddresses = None,
    no_implied: Annotated[
        bool, typer.Option("--no-implied", help="Do not learn tables from the script's own CREATE statements.")
    ] = False,
    merge_columns: Annotated[
        bool, typer.Option("--merge-columns", help="Add columns that only the script declares to imported tables.")
    ] = False,
    format: Annotated[
        str, typer.Option(help=f"One of {', '.join(FORMATS)}; with --against {', '.join(COMPARISONS)}.")
    ] = "text",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    var: Variables = None,
    dbt: Annotated[
        Path | None,
        typer.Option(help="A dbt project: its models are analysed before the files, compiled where dbt compiled them."),
    ] = None,
    dbt_manifest: Annotated[
        Path | None, typer.Option(help="A dbt manifest: its models are analysed before the files.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="OLD",
            help="Only the edges gained and lost against another folder, or against a git revision of this one.",
        ),
    ] = None,
    upstream: Annotated[str | None, typer.Option(help="Only what TABLE.COLUMN comes from.")] = None,
    downstream: Annotated[str | None, typer.Option(help="Only what TABLE.COLUMN reaches.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="The namespace of jobs and datasets in OpenLineage's events.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where there is an error or a warning among the issues.")
    ] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Trace columns through SQL: sources, roles, implied schema, and what is not known."""
    from lakebed.lineage.export import export
    from lakebed.lineage.export.openlineage import NAMESPACE, to_openlineage
    from lakebed.lineage.imports import load_schema
    from lakebed.lineage.project import read_named, trace_project

    with reporting(as_json=as_json):
        known = FORMATS if against is None else COMPARISONS
        if format not in known:
            raise ConfigError(f"the format {format!r} is not known", remedy=f"Choose one of {', '.join(known)}.")
        if against is not None:
            given = load_schema(schema, dialect=dialect, workdir=workdir) if schema else None
            difference = lakebed.compare_lineage(
                _only_folder(files or [], dbt),
                against,
                dbt=dbt is not None,
                dialect=dialect,
                schema=given,
                variables=split_pairs(var or [], "--var"),
            )
            _show_difference(difference, format, as_json=as_json)
            return
        project = read_named(
            files or [], dbt=dbt, manifest=dbt_manifest, variables=split_pairs(var or [], "--var"), dialect=dialect
        )
        imported = load_schema(schema, dialect=dialect, workdir=workdir) if schema else None
        traced = trace_project(
            project,
            dialect=dialect,
            schema=imported,
            allow_implied=not no_implied,
            merge_columns=merge_columns,
            references=format == "html",
            transformations=format == "openlineage",
        )
        result = traced.result
        if upstream or downstream:
            _show_walk(result, upstream, downstream, as_json=as_json)
        elif format == "duckdb":
            _write_duckdb(result, traced.texts, output, as_json=as_json)
        elif format == "html" and not as_json:
            from lakebed.ui.page import to_html

            _write(to_html(project, traced, dialect=dialect), output)
        elif format == "openlineage" and not as_json:
            _write(to_openlineage(result, traced.texts, namespace=namespace or NAMESPACE), output)
        else:
            _write(export(result, "json" if as_json else format, traced.texts), output)
    if strict and any(issue.severity in ("error", "warning") for issue in result.issues):
        raise typer.Exit(1)


def split_pairs(pairs: list[str], option: str) -> dict[str, object]:
    """The names and values of an option that is given as name=value."""
    values: dict[str, object] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise ConfigError(f"{option} {pair} has no value", remedy=f"Write {option} name=value.")
        values[name.strip()] = value
    return values


def _only_folder(files: list[str], dbt: Path | None) -> Path:
    """The one folder that is compared."""
    places = [*([dbt] if dbt is not None else []), *map(Path, files)]
    if len(places) != 1:
        raise ConfigError("--against compares one folder", remedy="Give one folder, or --dbt DIR.")
    return places[0]


def _show_difference(difference: "lakebed.LineageDifference", format: str, *, as_json: bool) -> None:
    from lakebed.changes.markdown import difference_comment

    if as_json or format == "json":
        print_json(difference.to_dict())
    elif format == "github":
        typer.echo(difference_comment(difference), nl=False)
    else:
        facts = (
            ("gained", "table", difference.tables_gained),
            ("lost", "table", difference.tables_lost),
            ("gained", "column", difference.columns_gained),
            ("lost", "column", difference.columns_lost),
        )
        for what, kind, names in facts:
            for name in names:
                typer.echo(f"{what} {kind} {name}")
        for what, edges in (("gained", difference.gained), ("lost", difference.lost)):
            for edge in edges:
                typer.echo(f"{what} {edge.source} -> {edge.target} [{edge.role}]  {edge.file}:{edge.line}")
        if difference.same:
            typer.echo("no edge was gained or lost")


def _write(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        output.write_text(text, encoding="utf-8")
        ERR.print(f"wrote {output}")


def _write_duckdb(
    result: "lakebed.AnalyzeResult", sources: "ScriptTexts", output: Path | None, *, as_json: bool
) -> None:
    from lakebed.lineage.export.duckdb import to_duckdb

    path = output or Path("lineage.duckdb")
    to_duckdb(result, sources, path)
    if as_json:
        print_json({"output": str(path), "summary": result.summary.to_dict()})
    ERR.print(f"wrote {path}: tables column_lineage, table_lineage, issues; views upstream, downstream, origins")


def _show_walk(result: "lakebed.AnalyzeResult", upstream: str | None, downstream: str | None, *, as_json: bool) -> None:
    from lakebed.lineage.graph import LineageGraph

    graph = LineageGraph.of(result)
    answer: dict[str, object] = {}
    for name, walk, text in (("upstream", graph.upstream, upstream), ("downstream", graph.downstream, downstream)):
        if text is None:
            continue
        found = walk(graph.find(text))
        answer[name] = {"of": text, "columns": [reached.to_dict() for reached in found]}
        if not as_json:
            typer.echo(f"{name} of {text}")
            for reached in found:
                typer.echo(f"  {reached.distance}  {reached.column}{'  (approximate)' if reached.approximate else ''}")
    if as_json:
        print_json(answer)
