"""`lakebed stage`: copy the files of deliveries to where the load reads them."""

import lakebed
from lakebed.cli import options
from lakebed.cli.frame import OUT, Json, Workdir, escape, reporting, show
from lakebed.cli.option_groups import Filters
from lakebed.cli.progress import ProgressBars


def stage(
    source: options.Source,
    *,
    filters: Filters,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Copy the files of every delivery that counts, in parallel and with checksums. What is there already stays."""
    with reporting(as_json=as_json), ProgressBars() as bars:
        done = lakebed.stage(source, workdir=workdir, observer=bars, **filters)

    def render() -> None:
        for one in done.deliveries:
            OUT.print(f"{escape(str(one.slice))}: {len(one.files)} files, {one.size_bytes / 1e6:,.1f} MB")
        OUT.print(f"in {escape(done.folder)}; `lakebed load --target T` loads them")

    show(done, as_json=as_json, render=render)
