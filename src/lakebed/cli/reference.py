"""Writes the reference pages: commands and settings from their help texts, the Python API from its docstrings.

`python -m lakebed.cli.reference docs` writes them into `docs/reference`, and the mapping to FOCUS beside it; a test
keeps them equal to the code.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import typer
from typer.testing import CliRunner

from lakebed.cli import COMMANDS, build
from lakebed.cli.focus_page import focus_page
from lakebed.cli.python_page import python_page
from lakebed.config import FILE_NAME, SettingInfo, setting_infos
from lakebed.errors import LakebedError

_WIDTH = 110
_NOTE = "<!-- Written by `make docs` from the code; edit that instead. -->"


def cli_page() -> str:
    """Every command's help, word for word as `lakebed COMMAND --help` says it in a plain terminal."""
    app = build([])
    parts = [
        _NOTE,
        "# Commands",
        "`--json` prints one object on stdout; logs and progress go to stderr.\n"
        "Exit codes: 0 done, 1 failed or refused, 2 wrong usage, 130 and 143 ended by SIGINT and SIGTERM.",
    ]
    for name in COMMANDS:
        parts.append(f"## lakebed {name}")
        parts.append(f"```\n{_help(app, name)}\n```")
    return "\n\n".join(parts) + "\n"


def _help(app: typer.Typer, name: str) -> str:
    shown = CliRunner().invoke(
        app, [name, "--help"], prog_name="lakebed", terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    if shown.exit_code != 0:
        raise LakebedError(f"lakebed {name} --help failed: {shown.output}")
    return "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())


def settings_page() -> str:
    """Every setting with its key, its variable and its default."""
    parts = [
        _NOTE,
        "# Settings",
        f"`{FILE_NAME}` in the current folder < environment < flags. A key that does not exist is refused, with the\n"
        'nearest that does. In Python, `lakebed.run(..., decimals="18,2")` takes a setting by its last word.',
    ]
    sections: dict[str, list[SettingInfo]] = {}
    for info in setting_infos():
        sections.setdefault(info.key.rpartition(".")[0], []).append(info)
    for section, infos in sections.items():
        parts.append(f"## `[{section}]`" if section else "## At the top")
        rows = "\n".join(
            f"| `{info.key}` | {_code(info.environment)} | {_code(_default(info))} | {_cell(info.help)} |"
            for info in infos
        )
        parts.append(f"| key | environment | default | |\n|---|---|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def _default(info: SettingInfo) -> str | None:
    if info.default in (None, (), {}):
        return None
    return str(info.default).lower() if isinstance(info.default, bool) else str(info.default)


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "python.md": lambda: python_page(_NOTE),
    "settings.md": settings_page,
    "../focus.md": lambda: focus_page(_NOTE),
}


def write(docs: Path) -> None:
    """Writes every page into the `reference` folder of the docs."""
    folder = docs / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
