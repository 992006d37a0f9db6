"""The two streams: what a pipe reads goes to `OUT`, and what people read to `ERR`."""

import logging

from rich.console import Console
from rich.text import Text

from lakebed.cli.logs import choice

ERR = Console(stderr=True, highlight=False, soft_wrap=True)
OUT = Console(highlight=False, soft_wrap=True)

log = logging.getLogger("lakebed.cli")


def shows_progress() -> bool:
    """Progress bars are for people who look at a terminal."""
    return ERR.is_terminal and not choice().quiet and choice().format == "text"


def say(markup: str, *, level: int = logging.INFO) -> None:
    """A line for the user on stderr; in JSON, a line of the log."""
    if choice().format == "json":
        log.log(level, "%s", Text.from_markup(markup).plain)
    elif level >= logging.ERROR or not choice().quiet:
        ERR.print(markup)
