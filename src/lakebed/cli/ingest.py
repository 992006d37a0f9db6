"""`lakebed ingest`: files of any kind into a table."""

from typing import Annotated

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import OUT, Json, Workdir, count, escape, print_table, reporting, show, warn
from lakebed.cli.option_groups import IngestOptions
from lakebed.cli.options import split_names
from lakebed.cli.progress import ProgressBars
from lakebed.cli.run import measuring
from lakebed.merge_core.spec import MergeStrategy
from lakebed.source.files import FileFormat

_SHOWN_FILES = 20


def ingest(
    source: Annotated[str, typer.Argument(help="A folder, a file or a pattern: a local path, s3://, gs:// or az://.")],
    target: options.Target,
    format_: Annotated[
        FileFormat | None, typer.Option("--format", help="What the files hold, where their names do not say it.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The table's name. Without it a table is named after its source.")
    ] = None,
    infer: Annotated[
        bool, typer.Option("--infer/--no-infer", help="Find out what columns are, or take them as text.")
    ] = True,
    types: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What columns are: a .json or .sql file, or DDL as in 'id bigint, at date'."),
    ] = None,
    keys: Annotated[
        str | None, typer.Option(help="Key columns, with commas: rows are merged by them, and none is removed.")
    ] = None,
    strategy: Annotated[MergeStrategy, typer.Option(help="How rows are merged by their keys.")] = "upsert",
    dedup_order_by: Annotated[
        str | None, typer.Option(help="For deduplicate: the columns whose highest value wins, with commas.")
    ] = None,
    partition_by: Annotated[
        str | None, typer.Option(help="Partition columns of a table that is created, with commas.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What parts the fields of CSV files, as in ';' or '\\t'. Without it: found out.")
    ] = None,
    quote: Annotated[
        str | None, typer.Option(help="What quotes values of CSV files; '' for nothing. Without it: found out.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="What text files are written in, as in latin-1. Without it: found out.")
    ] = None,
    assume_new: Annotated[
        bool,
        typer.Option(
            "--assume-new", help="After a lost ledger: no file has changed since it was loaded, others are new."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and touch nothing.")] = False,
    *,
    how: IngestOptions,
    metrics_file: options.MetricsFile = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Load files of any kind that are not loaded yet: CSV, JSON and Parquet, whose columns may change."""
    with reporting(as_json=as_json), measuring(metrics_file) as measured, ProgressBars() as bars:
        done = lakebed.ingest(
            source,
            target,
            format=format_,
            name=name,
            infer=infer,
            types=types,
            keys=split_names(keys) or None,
            strategy=strategy,
            dedup_order_by=split_names(dedup_order_by) or None,
            partition_by=split_names(partition_by) or None,
            delimiter=None if delimiter is None else delimiter.replace("\\t", "\t"),
            quote=quote,
            encoding=encoding,
            assume_new=assume_new,
            dry_run=dry_run,
            workdir=workdir,
            observer=bars,
            **how,
        )
        measured.reports.append(done)
    for warning in done.warnings if dry_run else ():
        warn(warning)
    show(done, as_json=as_json, render=lambda: _render(done))
    if done.failed:
        raise typer.Exit(1)


def _render(done: "lakebed.IngestReport") -> None:
    changed = [one for one in done.files if one.action != "skip"]
    lines = RichTable(box=None, pad_edge=False)
    for heading in ("file", "action", "why"):
        lines.add_column(heading)
    lines.add_column("rows", justify="right")
    for one in changed[:_SHOWN_FILES]:
        lines.add_row(escape(one.path), one.action, escape(one.reason), f"{one.rows:,}")
    if changed:
        print_table(lines)
    if len(changed) > _SHOWN_FILES:
        OUT.print(f"and {len(changed) - _SHOWN_FILES} more")
    would = "would be " if done.dry_run else ""
    merged = "" if done.inserted is None else f" ({done.inserted:,} inserted, {done.updated or 0:,} updated)"
    removed = f", {would}{count(done.removed, 'row')} removed" if done.removed else ""
    OUT.print(
        f"[bold]{done.loaded:,}[/] rows {would}loaded{merged}{removed}; "
        f"{len(done.files) - len(changed)} of {count(len(done.files), 'file')} skipped"
    )
    for table in done.tables:
        OUT.print(f"{escape(table.address)} has {count(table.rows, 'row')}")
    if done.plan is not None:
        OUT.print(escape(done.plan.describe()))
