"""The command line: one file per command, each of which parses, calls and renders.

A command's module is imported when that command is run, so that `lakebed doctor` does not pay for Spark.
"""

import sys
from importlib import import_module
from typing import Annotated

import typer

from lakebed import __version__
from lakebed.cli import logs
from lakebed.cli.interrupts import leaving_promptly
from lakebed.cli.logs import LogFormatOption, Quiet, Verbose, accepting_log_options

# command -> the module that holds a function of the same name; the order is the order of `lakebed --help`
COMMANDS: dict[str, str] = {
    "demo": "lakebed.cli.demo",
    "sample": "lakebed.cli.sample",
    "run": "lakebed.cli.run",
    "plan": "lakebed.cli.plan",
    "discover": "lakebed.cli.discover",
    "stage": "lakebed.cli.stage",
    "load": "lakebed.cli.load",
    "status": "lakebed.cli.status",
    "reconcile": "lakebed.cli.reconcile",
    "lineage": "lakebed.cli.lineage",
    "merge": "lakebed.cli.merge",
    "evolve": "lakebed.cli.evolve",
    "history": "lakebed.cli.history",
    "rollback": "lakebed.cli.rollback",
    "sweep": "lakebed.cli.sweep",
    "doctor": "lakebed.cli.doctor",
}


def build(arguments: list[str]) -> typer.Typer:
    """The application with the one command that these arguments name, or with all of them where help needs them."""
    # Help is plain text: `duckdb:FILE[#TABLE]` is no markup.
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(_root)
    asked = next((word for word in arguments if word in COMMANDS), "")
    for name in [asked] if asked else COMMANDS:
        app.command(name)(accepting_log_options(getattr(import_module(COMMANDS[name]), name)))
    return app


def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
    log_format: LogFormatOption = None,
) -> None:
    """Loads data whose columns keep changing into a lake that never loses one."""
    logs.reset()
    logs.choose(verbose, quiet=quiet, format=log_format)
    if version:
        typer.echo(f"lakebed {__version__}")
        raise typer.Exit


def main() -> None:
    """The `lakebed` command."""
    arguments = sys.argv[1:]
    with leaving_promptly():
        build(arguments)(prog_name="lakebed", args=arguments)
