"""What every command shares: one JSON object on stdout, everything else on stderr, and the exit codes.

0 is done, 1 is failed or refused, 2 is wrong usage (typer's own), 130 and 143 are ended by SIGINT and SIGTERM.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, NoReturn, Protocol

import typer
from rich.console import Console
from rich.markup import escape as escape
from rich.table import Table

from lakebed.cli.console import ERR as ERR
from lakebed.cli.console import OUT as OUT
from lakebed.cli.console import say as say
from lakebed.cli.interrupts import INTERRUPTS, Interrupted
from lakebed.errors import ConfigError, LakebedError, system_refusal

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout; logs and progress go to stderr.")]
Workdir = Annotated[
    str | None,
    typer.Option(
        "--workdir",
        help="Where the ledger, staging and the default catalog lie. [default: .lakebed]",
        envvar="LAKEBED_WORKDIR",
    ),
]


class Result(Protocol):
    """Every result can be printed as JSON."""

    def to_dict(self) -> dict[str, object]: ...


@contextmanager
def reporting(*, as_json: bool) -> Iterator[None]:
    """Turns our errors and signals into a message and an exit code; what is not ours travels up as a bug should."""
    try:
        with INTERRUPTS.listening():
            yield
    except Interrupted as interrupted:
        if as_json:
            print_json({"error": interrupted.to_dict()})
        say(f"[bold red]{escape(interrupted.told)}[/]", level=logging.ERROR)
        raise typer.Exit(interrupted.exit_code) from None
    except LakebedError as error:
        fail(error, as_json=as_json)
    except OSError as error:
        if error.filename is None:
            raise
        # A file that may not be read or written is no bug, wherever it was met.
        fail(system_refusal(error, str(error.filename)), as_json=as_json)


def show(result: Result, *, as_json: bool, render: Callable[[], None]) -> None:
    """The result as one JSON object, or as `render` draws it."""
    if as_json:
        print_json(result.to_dict())
    else:
        render()


def print_json(value: dict[str, object]) -> None:
    """One JSON object on stdout: decimals as text, so that no digit is lost, times as ISO 8601."""
    typer.echo(json.dumps(value, default=_encode, ensure_ascii=False, indent=2))


def _encode(value: object) -> object:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def fail(error: LakebedError, *, as_json: bool) -> NoReturn:
    """Prints an error the one way there is and leaves with 1, or with 2 for wrong usage."""
    if as_json:
        print_json({"error": error.to_dict()})
    say(f"[bold red]error:[/] {escape(str(error))}", level=logging.ERROR)
    raise typer.Exit(2 if isinstance(error, ConfigError) else 1)


def warn(message: str) -> None:
    """A warning on stderr; commands also put it into their JSON."""
    say(f"[yellow]warning:[/] {escape(message)}", level=logging.WARNING)


def print_table(table: Table) -> None:
    """A table on stdout. Numbers are never cut; a pipe or file gets every line whole, however long."""
    for column in table.columns:
        column.no_wrap = column.no_wrap or column.justify == "right"
        column.overflow = "fold"
    if OUT.is_terminal:
        OUT.print(table)
    else:
        # A console that is no terminal has 80 columns, and no line is printed wider than its console.
        whole = OUT.options.update(max_width=100_000)
        Console(width=OUT.measure(table, options=whole).maximum, highlight=False).print(table)


def count(number: int, noun: str) -> str:
    """How many there are: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def show_state(state: str, complete: bool) -> str:
    """A delivery's state; what needs attention is coloured."""
    shown = f"[bold red]{state}[/]" if state == "failed" else state
    return shown if complete else f"{shown}, [yellow]incomplete[/]"
