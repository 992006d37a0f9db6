"""What goes to stderr, and how: `-v`, `-q` and `--log-format`, before the command's name or behind it.

The library logs to the loggers below `lakebed` and sets nothing up; this is the one place that does.
"""

import functools
import inspect
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

import typer

from lakebed.cli.option_groups import with_parameters
from lakebed.subject import subject

LogFormat: TypeAlias = Literal["text", "json"]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, show_default=False, help="Log every step with its seconds; -vv logs more."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only errors on stderr: no progress, no warnings.")]
LogFormatOption = Annotated[
    LogFormat | None,
    typer.Option("--log-format", help="How stderr is written: text, or json with one object a line. [default: text]"),
]

# What a record of the log may carry beside its message.
_FIELDS = ("run", "payer", "report", "period", "step", "seconds")


@dataclass(frozen=True, slots=True)
class LogChoice:
    """What the user wants to see on stderr."""

    verbosity: int = 0
    quiet: bool = False
    format: LogFormat = "text"

    @property
    def level(self) -> int:
        """The lowest level that is logged."""
        if self.quiet:
            return logging.ERROR
        # In JSON what is said to the user is logged, so that a line for each delivery is there without -v.
        usual = logging.INFO if self.format == "json" else logging.WARNING
        return {0: usual, 1: logging.INFO}.get(self.verbosity, logging.DEBUG)


_choice = LogChoice()


def choose(verbosity: int = 0, *, quiet: bool = False, format: LogFormat | None = None) -> None:
    """Takes over what was given; what was not stays as it is."""
    global _choice
    _choice = replace(
        _choice,
        verbosity=verbosity or _choice.verbosity,
        quiet=quiet or _choice.quiet,
        format=format or _choice.format,
    )
    _set_up(_choice)


def reset() -> None:
    """As if no option had been given: a process that runs several commands begins each with it."""
    global _choice
    _choice = LogChoice()
    _set_up(_choice)


def begin(verbose: Verbose = 0, quiet: Quiet = False, log_format: LogFormatOption = None) -> None:
    """What stands before the command's name."""
    reset()
    choose(verbose, quiet=quiet, format=log_format)


def choice() -> LogChoice:
    """What counts now."""
    return _choice


def accepting_log_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the three options that every command has."""

    @functools.wraps(command)
    def run(*, verbose: int, quiet: bool, log_format: LogFormat | None, **arguments: object) -> None:
        choose(verbose, quiet=quiet, format=log_format)
        command(**arguments)

    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in (
            ("verbose", Verbose, 0),
            ("quiet", Quiet, False),
            ("log_format", LogFormatOption, None),
        )
    ]
    return with_parameters(run, [*inspect.signature(command).parameters.values(), *added])


class _Handler(logging.Handler):
    """Writes below a progress bar that is being drawn, not into it."""

    def emit(self, record: logging.LogRecord) -> None:
        # Rich takes as long to import as everything else that `lakebed --version` needs.
        from lakebed.cli.console import ERR

        ERR.print(self.format(record), markup=False, emoji=False)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = _facts(record)
        about = " ".join(str(facts[name]) for name in ("report", "period") if name in facts)
        time = f"{datetime.fromtimestamp(record.created, UTC):%H:%M:%S}"
        text = f"{time} {record.levelname.lower():7} {about + ': ' if about else ''}{record.getMessage()}"
        return text if record.exc_info is None else f"{text}\n{self.formatException(record.exc_info)}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told: dict[str, object] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info is not None:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


def _facts(record: logging.LogRecord) -> dict[str, object]:
    """Whose work it is, from the record itself or from the work of the moment."""
    about = subject()
    found = {name: getattr(record, name, about.get(name)) for name in _FIELDS}
    return {name: value for name, value in found.items() if value is not None}


def _set_up(choice: LogChoice) -> None:
    logger = logging.getLogger("lakebed")
    handler = _Handler()
    handler.setFormatter(_Json() if choice.format == "json" else _Text())
    logger.handlers = [*(one for one in logger.handlers if not isinstance(one, _Handler)), handler]
    logger.setLevel(choice.level)
