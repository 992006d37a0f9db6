"""`lakebed demo`: the whole tour on sample data, in a folder of its own."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from lakebed.cli.frame import reporting
from lakebed.errors import ConfigError

MARKER = ".lakebed-demo"


def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where the demo writes; it is emptied each time.")] = Path(
        "lakebed-demo"
    ),
    rows: Annotated[int, typer.Option(help="Rows of each delivery.", min=100)] = 20_000,
) -> None:
    """Take the tour: sample deliveries, loaded, restated, reconciled and queried."""
    from lakebed.cli.tour import Tour, require_tour

    with reporting(as_json=False):
        require_tour()
        Tour(_emptied(folder), rows).take()


def _emptied(folder: Path) -> Path:
    """The folder, made or emptied. One that the demo did not make is never emptied."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise ConfigError(f"{folder} is not empty and is not a demo's", remedy="Choose another with --dir.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MARKER).touch()
    return folder
