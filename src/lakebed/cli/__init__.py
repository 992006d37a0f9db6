"""The command line: one file per command, each of which parses, calls and renders.

A command's module is imported when that command is run, so that `lakebed doctor` does not pay for Spark.
"""

import sys
from importlib import import_module

import typer

from lakebed import __version__
from lakebed.cli.interrupts import leaving_promptly

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
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_root)
    asked = arguments[0] if arguments else ""
    for name in [asked] if asked in COMMANDS else COMMANDS:
        app.command(name)(getattr(import_module(COMMANDS[name]), name))
    return app


def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Loads data whose columns keep changing into a lake that never loses one."""
    if version:
        typer.echo(f"lakebed {__version__}")
        raise typer.Exit


def main() -> None:
    """The `lakebed` command."""
    arguments = sys.argv[1:]
    with leaving_promptly():
        build(arguments)(prog_name="lakebed", args=arguments)
