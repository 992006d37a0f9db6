"""Draws a run's progress on stderr: files, rows, megabytes a second, time left."""

import logging
from types import TracebackType

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column

from lakebed.cli.console import shows_progress
from lakebed.cli.frame import ERR, count, escape, say, warn
from lakebed.cli.interrupts import INTERRUPTS, Interrupted
from lakebed.engines.protocols.load import FileDone
from lakebed.model import Delivery
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import DeliveryReport

LONGEST_NAME = 16


class ProgressBars(Observer):
    """Two bars for each delivery, one while its files are copied and one while they are converted.

    Where stderr is not a terminal there are no bars, only a line for each delivery that is finished.
    """

    def __init__(self) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            # What the other columns leave of a terminal, which is little where it has eighty columns.
            BarColumn(bar_width=max(4, min(32, ERR.width - 76))),
            TransferSpeedColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[note]}", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
            console=ERR,
            transient=True,
            disable=not shows_progress(),
        )
        self._task = self._bars.add_task("", total=None, visible=False, note="")
        self._files = 0
        self._of = 0
        self._rows = 0
        self._deliveries = 0
        self._finished: list[DeliveryReport] = []

    def __enter__(self) -> "ProgressBars":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()
        if isinstance(error, Interrupted):
            error.add_note(_how_far(self._finished, self._deliveries))

    def source_begins(self, name: str) -> None:
        say(f"[bold]{escape(name)}[/]")

    def discovered(self, deliveries: int, superseded: int) -> None:
        self._deliveries += deliveries

    def inspecting(self, delivery: Delivery) -> None:
        INTERRUPTS.release()
        self._begin("inspect", delivery)

    def staging(self, delivery: Delivery) -> None:
        INTERRUPTS.release()
        self._begin("copy", delivery)

    def copied(self, size_bytes: int) -> None:
        self._bars.update(self._task, advance=size_bytes)

    def loading(self, delivery: Delivery) -> None:
        INTERRUPTS.release()
        self._begin("convert", delivery)

    def converted(self, done: FileDone) -> None:
        # A commit that met another writer's begins again, with files that are converted again.
        INTERRUPTS.release()
        self._files += done.file.part is None or done.file.part.is_first
        self._rows += done.rows
        note = f"{self._files}/{self._of} files, {self._rows:,} rows"
        self._bars.update(self._task, advance=done.file.size_bytes, note=note)

    def committing(self, delivery: Delivery) -> None:
        INTERRUPTS.hold()
        self._bars.update(self._task, description=_description("commit", delivery))

    def finished(self, report: DeliveryReport) -> None:
        self._bars.update(self._task, visible=False)
        self._bars.refresh()
        for message in report.warnings:
            warn(message)
        say(_line(report), level=logging.ERROR if report.state == "failed" else logging.INFO)
        self._finished.append(report)
        INTERRUPTS.release()

    def warned(self, message: str) -> None:
        warn(message)

    def _begin(self, step: str, delivery: Delivery) -> None:
        self._files = self._rows = 0
        self._of = len(delivery.files)
        self._bars.reset(
            self._task, description=_description(step, delivery), total=delivery.size_bytes, visible=True, note=""
        )


def _how_far(finished: list[DeliveryReport], deliveries: int) -> str:
    """What of a run that was interrupted is loaded, and how to go on."""
    loaded = [f"{one.report} {one.period}" for one in finished if one.state == "loaded"]
    named = ", ".join(loaded[:5]) + (f" and {len(loaded) - 5} more" if len(loaded) > 5 else "")
    return (
        f"{len(loaded)} of {deliveries} deliveries {'is' if len(loaded) == 1 else 'are'} loaded"
        f"{f' ({named})' if named else ''}, the rest is as it was. Run the same command again to go on."
    )


def _description(step: str, delivery: Delivery) -> str:
    """Step, period and report, of a width that leaves room for the numbers."""
    report = delivery.slice.report
    shown = report if len(report) <= LONGEST_NAME else report[: LONGEST_NAME - 1] + "…"
    return escape(f"{step:7} {delivery.slice.period} {shown}")


def _line(report: DeliveryReport) -> str:
    name = escape(f"{report.report} {report.period}")
    if report.state == "failed":
        # Many refusals begin with their delivery, for those who read them elsewhere.
        told = (report.error or "").removeprefix(f"{report.report} {report.period} of {report.payer}: ")
        return f"[bold red]✗[/] {name}: {escape(told)}"
    if report.skipped:
        return f"[dim]= {name}: {report.state}, nothing to do[/]"
    added = f", {len(report.added_columns)} columns added" if report.added_columns else ""
    verdict = {True: ", adds up", False: ", [bold red]does not add up[/]", None: ""}[report.reconciled]
    return f"[green]✓[/] {name}: {count(report.rows, 'row')} in {report.seconds:.1f} s{verdict}{added}"
