"""`lakebed compact`."""

from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, reporting, show
from lakebed.cli.options import Master, Remote, split_names


def compact(
    target: Annotated[str, typer.Argument(help="The table: a folder of Parquet files or iceberg:NAMESPACE.TABLE.")],
    target_size: Annotated[
        str, typer.Option("--target-size", help="How large new files should be, as in 256MB or 1GB.")
    ] = "256MB",
    period: Annotated[
        str | None, typer.Option(help="Only this month, as in 2026-10, of a table that `lakebed run` loaded.")
    ] = None,
    sort_by: Annotated[
        str | None, typer.Option("--sort-by", help="Sort the rows of each new file by these columns, with commas.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would gain, and touch nothing.")] = False,
    master: Master = None,
    remote: Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Makes few files of many small ones, in one commit, and changes no row."""
    with reporting(as_json=as_json):
        done = lakebed.compact(
            target,
            target_size=target_size,
            period=period,
            sort_by=split_names(sort_by) or None,
            dry_run=dry_run,
            master=master,
            remote=remote,
            workdir=workdir,
        )
        show(done, as_json=as_json, render=lambda: _draw(done))


def _draw(done: "lakebed.CompactResult") -> None:
    if not done.files_rewritten:
        OUT.print(f"{escape(done.table)}: nothing to gain, its {done.files_before:,} files are large enough or alone")
        return
    would = "would become" if done.dry_run else "became"
    OUT.print(
        f"[bold]{done.files_before:,}[/] files {would} [bold]{done.files_after:,}[/]: {done.files_rewritten:,} with "
        f"{done.rows:,} rows {'would be ' if done.dry_run else ''}rewritten into {done.files_written:,}"
    )
    if done.bytes_after is not None:
        OUT.print(f"{done.bytes_before:,} bytes before, {done.bytes_after:,} after")
