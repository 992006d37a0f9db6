"""`lakebed run`: discover, stage, load and reconcile."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table as RichTable

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import OUT, Json, Workdir, count, escape, print_table, reporting, say, show, show_state, warn
from lakebed.cli.metrics import write_metrics
from lakebed.cli.option_groups import ConsentOptions, Filters, LoadOptions
from lakebed.cli.progress import ProgressBars
from lakebed.config import load_settings
from lakebed.errors import ConfigError, SchemaError

if TYPE_CHECKING:
    from lakebed.pipeline.reports import RunReport
    from lakebed.pipeline.sources import SourcesReport


def run(
    source: options.SourceOrName = None,
    target: options.TargetOfRun = None,
    table: options.Table = None,
    *,
    filters: Filters,
    how: LoadOptions,
    consent: ConsentOptions,
    metrics_file: options.MetricsFile = None,
    views: options.Views = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Load every delivery that is not loaded yet, and reconcile each with its source files.

    Without a source, all that lakebed.toml names as [source.NAME] are run, one after the other.
    """
    with reporting(as_json=as_json), measuring(metrics_file) as measured, ProgressBars() as bars:
        if views and target is not None and how["remote"] is None and how["master"] is None:
            _require_views(target)
        known = load_settings({"workdir": workdir}).source
        named = source is None or source in known
        if named:
            chosen = None if source is None else [source]
            all_done = lakebed.run_sources(
                chosen, target=target, table=table, workdir=workdir, observer=bars, **filters, **consent, **how
            )
            measured.reports.extend(all_done.reports.values())
            measured.failed = bool(all_done.errors)
            for error in all_done.errors.values() if source is not None else ():
                raise error
        elif source is not None and target is not None:
            done = lakebed.run(source, target, table=table, workdir=workdir, observer=bars, **filters, **consent, **how)
            measured.reports.append(done)
        else:
            from lakebed.targets.registry import forms

            raise ConfigError(
                f"where should {source} go? There is no --target",
                remedy=f"A target is written as one of: {forms()}. {_sources_of(known)}",
            )
    made: list[lakebed.ViewsResult] = []
    with reporting(as_json=as_json):
        for report in measured.reports if views else ():
            made += _views_of(report, how, workdir)
    if not named:
        finish(done, as_json=as_json, made=made)
    elif source is not None:
        finish(all_done.reports[source], as_json=as_json, made=made)
    else:
        _finish_all(all_done, as_json=as_json, made=made)


def _require_views(target: str) -> None:
    """Raises ConfigError before anything is loaded where the target cannot hold views."""
    from lakebed.targets.address import Address
    from lakebed.targets.registry import target_kind

    if not target_kind(Address.parse(target).kind).keeps_views:
        raise ConfigError(
            f"{target} cannot hold views itself",
            remedy="Run without --views, then `lakebed views TABLE --print --dialect trino` prints their SQL.",
        )


def _views_of(report: "RunReport", how: LoadOptions, workdir: str | None) -> "list[lakebed.ViewsResult]":
    """The views of every bill that the run has loaded; a table that is none is named and left."""
    made = []
    for table in report.tables:
        try:
            made.append(lakebed.views(table.address, master=how["master"], remote=how["remote"], workdir=workdir))
        except SchemaError as error:
            warn(f"no views of {table.table}: {error.message}")
    return made


@dataclass
class Measured:
    """What the metrics are made of."""

    reports: "list[RunReport]" = field(default_factory=list)
    failed: bool = False


@contextmanager
def measuring(path: Path | None) -> Iterator[Measured]:
    """Writes the metrics of what the block collects, of a block that fails too."""
    measured = Measured()
    try:
        yield measured
    except BaseException:
        measured.failed = True
        raise
    finally:
        if path is not None:
            failed = measured.failed or any(report.failed for report in measured.reports)
            write_metrics(path, measured.reports, succeeded=not failed)


def _sources_of(known: Mapping[str, object]) -> str:
    names = ", ".join(known)
    return f"The sources in lakebed.toml are {names}." if names else "A source of that name is not in lakebed.toml."


@dataclass(frozen=True)
class WithViews:
    """What a run did, and the views that it made."""

    done: "RunReport | SourcesReport"
    views: "Sequence[lakebed.ViewsResult]"

    def to_dict(self) -> dict[str, object]:
        more = {"views": [one.to_dict() for one in self.views]} if self.views else {}
        return {**self.done.to_dict(), **more}


def finish(done: "RunReport", *, as_json: bool, made: "Sequence[lakebed.ViewsResult]" = ()) -> None:
    """The summary, and exit code 1 where a delivery failed or does not add up."""

    def render_all() -> None:
        render(done)
        _draw_views(made)

    show(WithViews(done, made), as_json=as_json, render=render_all)
    if done.failed:
        raise typer.Exit(1)


def _draw_views(made: "Sequence[lakebed.ViewsResult]") -> None:
    if made:
        from lakebed.cli.views import draw

        for one in made:
            draw(one)


def _finish_all(done: "SourcesReport", *, as_json: bool, made: "Sequence[lakebed.ViewsResult]") -> None:
    """The summary of each source, and exit code 1 where one of them failed."""

    def render_each() -> None:
        for name, report in done.reports.items():
            OUT.print(f"[bold]{escape(name)}[/]")
            render(report)
        _draw_views(made)

    show(WithViews(done, made), as_json=as_json, render=render_each)
    for name, error in done.errors.items():
        say(f"[bold red]error:[/] {escape(name)}: {escape(str(error))}", level=logging.ERROR)
    if done.failed:
        raise typer.Exit(1)


def render(done: "RunReport") -> None:
    """One line for each delivery, and what the tables hold now. A report that is the only one is not named again."""
    lines = RichTable(box=None, pad_edge=False)
    several = len({one.report for one in done.deliveries}) > 1
    for heading in (*(("report",) if several else ()), "period", "delivery", "state"):
        lines.add_column(heading)
    for heading in ("rows", "new columns", "adds up", "seconds"):
        lines.add_column(heading, justify="right")
    for one in done.deliveries:
        lines.add_row(
            *((escape(one.report),) if several else ()),
            one.period,
            escape(one.delivery[:24]),
            show_state(one.state, one.complete),
            f"{one.rows:,}",
            str(len(one.added_columns) or ""),
            {True: "yes", False: "[bold red]no[/]", None: "not checked"}[one.reconciled]
            if one.state == "loaded"
            else "",
            "" if one.skipped else f"{one.seconds:.1f}",
        )
    if done.deliveries:
        print_table(lines)
    for table in done.tables:
        OUT.print(f"{escape(table.address)} has {count(table.rows, 'row')}")
    for one in done.deliveries:
        for column, values in one.rounded.items():
            lost = f"[yellow]rounded:[/] {values:,} values of {escape(column)} in {one.period} lost digits"
            say(lost, level=logging.WARNING)
        if one.rejected_rows:
            aside = f"[yellow]quarantined:[/] {count(one.rejected_rows, 'row')} of {escape(one.report)} {one.period}"
            say(aside, level=logging.WARNING)
