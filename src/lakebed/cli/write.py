"""`lakebed write`: rows into a table as they are."""

from typing import Annotated

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, reporting, show, warn
from lakebed.cli.options import Master, Remote, split_names
from lakebed.config import OnConflict
from lakebed.errors import ConfigError
from lakebed.model import WriteMode


def write(
    source: Annotated[str, typer.Argument(help="A Parquet file or folder: a local path, s3://, gs:// or az://.")],
    target: Annotated[
        str, typer.Argument(help="A folder of Parquet files, duckdb:FILE#TABLE or iceberg:NAMESPACE.TABLE.")
    ],
    mode: Annotated[
        WriteMode, typer.Option(help="What becomes of the table's rows: all stay, those of --slice go, or all go.")
    ] = "append",
    slice_: Annotated[
        list[str] | None,
        typer.Option(
            "--slice",
            metavar="COLUMN=VALUE",
            help="For replace_slice: a value of the rows to replace. May be repeated; rows have all of them.",
        ),
    ] = None,
    slice_null: Annotated[
        list[str] | None,
        typer.Option("--slice-null", metavar="COLUMN", help="The same for a column that is NULL in these rows."),
    ] = None,
    partition_by: Annotated[
        str | None, typer.Option(help="Partition columns of a table that is created, with commas.")
    ] = None,
    on_conflict: Annotated[
        OnConflict, typer.Option(help="A type that does not fit: refuse, or variant for a column of its own.")
    ] = "refuse",
    txn: Annotated[
        str | None,
        typer.Option(
            metavar="APP:VERSION", help="The write's name and number: a version that the table holds changes nothing."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and touch nothing.")] = False,
    master: Master = None,
    remote: Remote = None,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Write rows into a table in one commit: added to it, or in place of a slice or of all its rows."""
    with reporting(as_json=as_json):
        result = lakebed.write(
            source,
            target,
            mode=mode,
            slice=_slice(slice_ or [], slice_null or []),
            partition_by=split_names(partition_by) or None,
            on_conflict=on_conflict,
            txn=None if txn is None else _txn(txn),
            master=master,
            remote=remote,
            dry_run=dry_run,
            workdir=workdir,
        )
    for warning in result.warnings:
        warn(warning)
    show(result, as_json=as_json, render=lambda: _render(result))


def _render(result: "lakebed.WriteResult") -> None:
    if result.skipped:
        OUT.print(f"[bold]{result.total:,}[/] rows: the table holds this version already, and nothing was written")
        return
    would = "would be " if result.dry_run else ""
    OUT.print(
        f"[bold]{result.total:,}[/] rows (before: {result.before:,}): {would}{result.rows:,} written, "
        f"{result.removed:,} removed"
    )
    for column, total in result.sums.items():
        OUT.print(f"sum of {escape(column)} in the new rows: {total:f}")
    if result.plan is not None:
        OUT.print(escape(result.plan.describe()))
        return
    for what, names in (("new", result.added_columns), ("widened", result.widened_columns)):
        if names:
            OUT.print(f"{what} columns: {escape(', '.join(names))}")


def _slice(values: list[str], nulls: list[str]) -> dict[str, object] | None:
    given: dict[str, object] = {}
    for text in values:
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise ConfigError(f"--slice {text!r} names no value", remedy="Write COLUMN=VALUE; for NULL: --slice-null.")
        if column in given:
            raise ConfigError(f"--slice names the column {column} twice")
        given[column] = value
    if twice := [column for column in nulls if column in given]:
        raise ConfigError(f"--slice and --slice-null name the column {twice[0]}")
    return given | dict.fromkeys(nulls) or None


def _txn(text: str) -> tuple[str, int]:
    app, _, version = text.rpartition(":")
    if not app or not version.isdecimal():
        raise ConfigError(f"--txn {text!r} is no APP:VERSION", remedy="Write, for example, --txn orders:17.")
    return app, int(version)
