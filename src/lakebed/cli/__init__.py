"""The command line: one file per command, each of which parses, calls and renders.

A command's module is imported when that command is run, and only then what it works with: `--version`, the list of
commands and any command's help wait for no engine.
"""

import difflib
import shutil
import sys
import textwrap
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from lakebed import __version__

if TYPE_CHECKING:
    import typer

SUMMARY = "Loads data whose columns keep changing into a lake that never loses one."
# A command is the function of its name in the module of its name; this is what the list of commands says of it, the
# first line of that function's docstring. The order is the order of the list.
COMMANDS: dict[str, str] = {
    "demo": "Take the tour: sample deliveries, loaded, restated, reconciled and queried.",
    "sample": "Make believable billing deliveries: drifting columns, colliding tags, a restated month, "
    "and the truth of them.",
    "run": "Load every delivery that is not loaded yet, and reconcile each with its source files.",
    "plan": "Print what would be loaded, replaced, added and widened. Touches nothing, the ledger included.",
    "discover": "List the deliveries of a source: the one that counts for each month, and those it supersedes.",
    "stage": "Copy the files of every delivery that counts, in parallel and with checksums. "
    "What is there already stays.",
    "load": "Load the deliveries that the ledger knows from `discover` and `stage` and that are not loaded yet.",
    "status": "Show deliveries and loads with their states, and the errors of those that failed.",
    "reconcile": "Add up the table again and compare rows and sums with what each load found in its source files.",
    "views": "Creates the views that people's SQL expects: TABLE_athena with CUR's names, TABLE_cur2 with CUR 2.0's "
    "columns.",
    "focus": "Writes a loaded bill as FOCUS into another table, month by month; what has not changed is left.",
    "lineage": "Trace columns through SQL: sources, roles, implied schema, and what is not known.",
    "impact": "List everything downstream of columns, and what breaks where they are dropped, renamed or given another "
    "type.",
    "ui": "Explore lineage, schema and deliveries in the browser, on this machine only, until Ctrl-C.",
    "check": "Check saved queries against a table, or against the schema that the next delivery would leave. "
    "Loads nothing.",
    "merge": "Merge new rows into a table: with the same meaning on every engine, whole or not at all.",
    "write": "Write rows into a table in one commit: added to it, or in place of a slice or of all its rows.",
    "ingest": "Load files of any kind that are not loaded yet: CSV, JSON and Parquet, whose columns may change.",
    "evolve": "Adds and widens columns of a table; never drops or narrows one.",
    "compact": "Makes few files of many small ones, in one commit, and changes no row.",
    "history": "Which delivery added or widened which column, and a table's snapshots.",
    "sums": "Exact sums and rows of each month, by currency: now, or as they were known on a day, and where they come "
    "from.",
    "diff": "Why a month differs between two deliveries: groups that came, went and changed, the largest first.",
    "receipt": "A total with the deliveries, files and columns that it rests on; --verify computes it again from the "
    "files.",
    "rollback": "Makes an earlier snapshot of an Iceberg table the current one; its schema stays as wide as it is.",
    "publish": "Makes what a branch of an Iceberg table holds that of the table, in one commit that copies nothing.",
    "sweep": "Removes files that crashed loads, merges and evolutions left; with --expire-days old Iceberg snapshots "
    "too.",
    "dbt": "Adds the materialization `lakebed` to a dbt project; keeps what is there, and says what it wrote.",
    "doctor": "Check Java, Spark, the work directory, DuckDB, Iceberg and storage, and say how to put right what is "
    "wrong.",
}
_OPTIONS = {
    "--version": "Print the version and stop.",
    "--help": "Show this message and exit.",
    "-v, -q": "Log every step with its seconds, or only errors. Also behind the command's name.",
}
_WIDEST = 110


def build(arguments: list[str]) -> "typer.Typer":
    """The application with the one command that these arguments name, or with all of them."""
    import typer

    from lakebed.cli import logs, option_groups

    # Plain text, not boxes: it says what brackets say, `duckdb:FILE[#TABLE]`, and is there at once.
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(logs.begin)
    asked = next((word for word in arguments if word in COMMANDS), "")
    for name in [asked] if asked else COMMANDS:
        command = getattr(import_module(f"lakebed.cli.{name}"), name)
        app.command(name)(logs.accepting_log_options(option_groups.expand_groups(command)))
    return app


def main() -> None:
    """The `lakebed` command."""
    arguments = sys.argv[1:]
    first = arguments[0] if arguments else None
    if first is None:
        sys.stderr.write(root_help())
        sys.exit(2)
    if first == "--version":
        sys.stdout.write(f"lakebed {__version__}\n")
    elif first == "--help":
        sys.stdout.write(root_help())
    elif first in COMMANDS or (first.startswith("-") and COMMANDS.keys() & set(arguments)):
        from lakebed.cli.interrupts import leaving_promptly

        with leaving_promptly():
            build(arguments)(prog_name="lakebed", args=arguments)
    else:
        _refuse(first)


def root_help() -> str:
    """What `lakebed --help` prints."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return (
        f"Usage: lakebed [OPTIONS] COMMAND [ARGS]...\n\n  {SUMMARY}\n\n"
        f"Options:\n{_listed(_OPTIONS, width)}\n"
        f"Commands:\n{_listed(COMMANDS, width)}\n"
        "`lakebed COMMAND --help` says what a command takes.\n"
    )


def _listed(texts: dict[str, str], width: int) -> str:
    """Names in one column, their texts in another."""
    longest = max(map(len, COMMANDS))
    lines = []
    for name, text in texts.items():
        indent = " " * (longest + 4)
        told = textwrap.fill(text, max(width, longest + 24), initial_indent=indent, subsequent_indent=indent)
        lines.append(f"  {name:{longest}}  {told.lstrip()}\n")
    return "".join(lines)


def _refuse(first: str) -> NoReturn:
    what = "option" if first.startswith("-") else "command"
    near = difflib.get_close_matches(first, [*_OPTIONS, *COMMANDS], n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    sys.stderr.write(f"Error: there is no {what} {first!r}.{meant}\nTry 'lakebed --help'.\n")
    sys.exit(2)
