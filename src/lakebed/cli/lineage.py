"""`lakebed lineage`: which column of which statement comes from which."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import lakebed
from lakebed.cli.frame import ERR, Json, Workdir, print_json, reporting
from lakebed.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from lakebed.lineage.export.script_texts import ScriptTexts

# Those of `lakebed.lineage.export`, which is imported when there is something to analyse: the parser takes a while.
FORMATS = ("text", "json", "mermaid", "html", "csv", "openlineage", "duckdb")


def lineage(
    files: Annotated[
        list[str] | None, typer.Argument(help="SQL files in the order in which they run; `-` reads stdin.")
    ] = None,
    dialect: Annotated[str, typer.Option(help="The SQL dialect.")] = "spark",
    schema: Annotated[
        list[str] | None,
        typer.Option(
            help="Where tables are known from: a .json or .sql file, duckdb:FILE, parquet:FOLDER, iceberg:NS[.TABLE], "
            "dbt:MANIFEST. May be given several times."
        ),
    ] = None,
    no_implied: Annotated[
        bool, typer.Option("--no-implied", help="Do not learn tables from the script's own CREATE statements.")
    ] = False,
    merge_columns: Annotated[
        bool, typer.Option("--merge-columns", help="Add columns that only the script declares to imported tables.")
    ] = False,
    format: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")] = "text",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    var: Annotated[list[str] | None, typer.Option(help="A variable for Jinja templates: name=value.")] = None,
    dbt_manifest: Annotated[
        Path | None, typer.Option(help="A dbt manifest: its compiled models are analysed before the files.")
    ] = None,
    upstream: Annotated[str | None, typer.Option(help="Only what TABLE.COLUMN comes from.")] = None,
    downstream: Annotated[str | None, typer.Option(help="Only what TABLE.COLUMN reaches.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where there is an error or a warning among the issues.")
    ] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Trace columns through SQL: sources, roles, implied schema, and what is not known."""
    from lakebed.lineage.export import export
    from lakebed.lineage.export.script_texts import ScriptTexts
    from lakebed.lineage.imports import load_schema
    from lakebed.lineage.templates import dbt_scripts

    with reporting(as_json=as_json):
        if format not in FORMATS:
            raise ConfigError(f"the format {format!r} is not known", remedy=f"Choose one of {', '.join(FORMATS)}.")
        variables = _variables(var or [])
        scripts = list(dbt_scripts(dbt_manifest)) if dbt_manifest else []
        scripts += [_read(file, variables) for file in files or []]
        if not scripts:
            raise ConfigError("there is nothing to analyse", remedy="Give SQL files, `-` for stdin, or --dbt-manifest.")
        imported = load_schema(schema, dialect=dialect, workdir=workdir) if schema else None
        result = lakebed.analyze(
            scripts, dialect=dialect, schema=imported, allow_implied=not no_implied, merge_columns=merge_columns
        )
        if upstream or downstream:
            _show_walk(result, upstream, downstream, as_json=as_json)
        elif format == "duckdb":
            _write_duckdb(result, ScriptTexts(scripts), output, as_json=as_json)
        else:
            _write(export(result, "json" if as_json else format, ScriptTexts(scripts)), output)
    if strict and any(issue.severity in ("error", "warning") for issue in result.issues):
        raise typer.Exit(1)


def _variables(pairs: list[str]) -> dict[str, object]:
    variables: dict[str, object] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise ConfigError(f"--var {pair} has no value", remedy="Write --var name=value.")
        variables[name.strip()] = value
    return variables


def _read(file: str, variables: dict[str, object]) -> "lakebed.Script":
    from lakebed.lineage.templates import looks_like_template, render

    if file == "-":
        sql = sys.stdin.read()
    else:
        path = Path(file)
        if not path.is_file():
            raise NotFound(f"the SQL file {file} is not there", uri=file, remedy="Check the path.")
        try:
            sql = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file} is not text in UTF-8", remedy="Convert it to UTF-8.") from error
    if looks_like_template(sql):
        sql = render(sql, variables, file=file)
    return lakebed.Script(sql, None if file == "-" else file)


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
