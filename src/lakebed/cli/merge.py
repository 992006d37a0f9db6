"""`lakebed merge`: new rows into a table."""

import sys
from typing import Annotated, Literal

import typer

import lakebed
from lakebed.cli.frame import OUT, Json, Workdir, escape, reporting, show
from lakebed.cli.options import Master, Remote, split_names
from lakebed.engines.protocols.engine import EngineName
from lakebed.errors import SourceError
from lakebed.merge_core.spec import MergeStrategy, Missing


def merge(
    source: Annotated[
        list[str],
        typer.Argument(
            help="Parquet, Arrow IPC, CSV or JSON: files, folders or patterns, local, s3://, gs:// or az://; "
            "- is Arrow IPC on standard input.",
        ),
    ],
    target: Annotated[
        str, typer.Argument(help="A folder of Parquet files, duckdb:FILE#TABLE or iceberg:NAMESPACE.TABLE.")
    ],
    keys: Annotated[str, typer.Option(help="The columns that tell rows apart, with commas between them.")],
    strategy: Annotated[
        MergeStrategy, typer.Option(help="What happens to rows that match, and to those that do not.")
    ] = "upsert",
    engine: Annotated[EngineName | None, typer.Option(help="Which engine merges. [default: duckdb]")] = None,
    missing: Annotated[
        Missing, typer.Option(help="What an update does to a column that the source lacks: keep its value, or NULL.")
    ] = "keep",
    dedup_order_by: Annotated[
        str | None, typer.Option(help="For deduplicate: the columns whose highest value wins, with commas.")
    ] = None,
    partition_by: Annotated[
        str | None, typer.Option(help="Partition columns of a table that is created, with commas.")
    ] = None,
    use_merge: Annotated[
        bool | None,
        typer.Option("--use-merge/--no-use-merge", help="DuckDB: its MERGE or UNION ALL. [default: MERGE since 1.4]"),
    ] = None,
    schema_evolution: Annotated[
        bool,
        typer.Option("--schema-evolution/--no-schema-evolution", help="Add new columns and widen types, or refuse."),
    ] = True,
    on_conflict: Annotated[
        Literal["refuse", "variant"],
        typer.Option(help="A type that does not fit: refuse, or variant for a column of its own."),
    ] = "refuse",
    master: Master = None,
    remote: Remote = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and touch nothing.")] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Merge new rows into a table: with the same meaning on every engine, whole or not at all."""
    with reporting(as_json=as_json):
        result = lakebed.merge(
            _given(source),
            target,
            keys=split_names(keys),
            strategy=strategy,
            engine=engine,
            use_merge=use_merge,
            schema_evolution=schema_evolution,
            missing=missing,
            dedup_order_by=split_names(dedup_order_by) or None,
            partition_by=split_names(partition_by) or None,
            on_conflict=on_conflict,
            master=master,
            remote=remote,
            dry_run=dry_run,
            workdir=workdir,
        )
    show(result, as_json=as_json, render=lambda: _render(result))


def _given(source: list[str]) -> "lakebed.MergeInput":
    if source != ["-"]:
        return source[0] if len(source) == 1 else source
    # The help of a command waits for no engine.
    import pyarrow as pa

    try:
        return pa.ipc.open_stream(sys.stdin.buffer)
    except (pa.ArrowInvalid, EOFError) as error:
        raise SourceError(
            f"standard input is no Arrow IPC stream: {error}",
            remedy="Pipe one in, as a RecordBatchStreamWriter writes it, or name a file.",
        ) from error


def _render(result: "lakebed.MergeResult") -> None:
    if result.plan is not None:
        OUT.print(escape(str(result.plan)))
        return
    would = "would be " if result.dry_run else ""
    OUT.print(
        f"[bold]{result.total:,}[/] rows (before: {result.before:,}): {would}{result.inserted:,} inserted, "
        f"{result.updated:,} updated, {result.deleted:,} deleted"
    )
    OUT.print(f"files: {result.files_rewritten:,} rewritten, {result.files_kept:,} kept")
    if result.retries:
        OUT.print(f"tried again {result.retries:,} times, because other writers committed first")
    if result.added_columns:
        OUT.print(f"new columns: {escape(', '.join(result.added_columns))}")
    if result.waiting_columns:
        OUT.print(f"waiting for a value, to have a type: {escape(', '.join(result.waiting_columns))}")
