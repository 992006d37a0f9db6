"""`lakebed dbt`: Lakebed in a dbt project."""

from enum import StrEnum
from typing import Annotated

import typer

from lakebed.cli.frame import OUT, Json, reporting, show


class Action(StrEnum):
    """What to do."""

    init = "init"


def dbt(
    action: Annotated[Action, typer.Argument(help="init: add Lakebed's package and plugin to the project.")],
    project_dir: Annotated[str, typer.Argument(help="The folder of dbt_project.yml.")] = ".",
    profiles_dir: Annotated[
        str | None, typer.Option(help="The folder of profiles.yml, where that is not beside dbt_project.yml.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Adds the materialization `lakebed` to a dbt project; keeps what is there, and says what it wrote."""
    from lakebed.dbt.init import init_project

    with reporting(as_json=as_json):
        done = init_project(project_dir, profiles_dir=profiles_dir)

        def render() -> None:
            for line in done.wrote:
                OUT.print(f"wrote  {line}", markup=False, highlight=False)
            for line in done.kept:
                OUT.print(f"kept   {line}", markup=False, highlight=False)
            OUT.print(f"next   {' && '.join(done.next)}", markup=False, highlight=False)

        show(done, as_json=as_json, render=render)
