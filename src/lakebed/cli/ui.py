"""`lakebed ui`: lineage, schema and deliveries in the browser."""

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from lakebed.cli.frame import ERR, Json, Workdir, escape, reporting
from lakebed.cli.lineage import SchemaAddresses, Variables, split_pairs


def ui(
    sql: Annotated[
        list[str] | None,
        typer.Argument(help="SQL files or folders to explore; without any, what the ledger knows is shown."),
    ] = None,
    dialect: Annotated[str, typer.Option(help="The SQL dialect.")] = "spark",
    schema: SchemaAddresses = None,
    dbt: Annotated[Path | None, typer.Option(metavar="DIR", help="A dbt project to explore.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Where loaded tables lie: their columns are known to the lineage.")
    ] = None,
    var: Variables = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of 127.0.0.1; 0 chooses a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    workdir: Workdir = None,
    as_json: Json = False,
) -> None:
    """Explore lineage, schema and deliveries in the browser, on this machine only, until Ctrl-C.

    Prints the address, which holds a token; with --json it is the first line of stdout: {"url": ...}. Nothing is
    written: what is edited in the browser stays there.
    """
    from lakebed.ui import EXPLORER

    with reporting(as_json=as_json):
        EXPLORER.require("the explorer")
        from lakebed.ui.analyses import Sources
        from lakebed.ui.api import Explorer
        from lakebed.ui.serve import serve

        explorer = Explorer(
            Sources(
                tuple(sql or ()),
                dbt=dbt,
                schema=tuple(schema or ()),
                target=target,
                dialect=dialect,
                variables=split_pairs(var or [], "--var"),
                workdir=workdir,
            )
        )
        # what cannot be read is refused here, and not in the browser
        explorer.analyses.current()

        def announce(url: str) -> None:
            if as_json:
                typer.echo(json.dumps({"url": url}))
            else:
                typer.echo(url)
            ERR.print(f"the explorer is at {escape(url)}\nit ends with Ctrl-C")
            if not no_open and not as_json:
                webbrowser.open(url)

        serve(explorer, port=port, announce=announce)
