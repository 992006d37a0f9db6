"""A command takes a group as one value; the command line sees its options one by one."""

import inspect
from typing import Annotated, TypedDict

import typer
from typer.testing import CliRunner

from lakebed.cli.option_groups import expand_groups


class Size(TypedDict):
    width: Annotated[int | None, typer.Option(help="How wide.")]
    deep: Annotated[bool, typer.Option("--deep")]


def test_the_group_stands_where_its_parameter_stood() -> None:
    def make(name: str, *, size: Size, workdir: str = ".") -> None: ...

    assert [*inspect.signature(expand_groups(make)).parameters] == ["name", "width", "deep", "workdir"]


def test_the_command_gets_what_was_given_and_what_was_not() -> None:
    seen: list[tuple[str, Size]] = []

    def make(name: str, *, size: Size) -> None:
        seen.append((name, size))

    app = typer.Typer()
    app.command()(expand_groups(make))
    for arguments in (["box"], ["box", "--width", "3", "--deep"]):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert seen == [("box", {"width": None, "deep": False}), ("box", {"width": 3, "deep": True})]


def test_a_command_without_groups_stays_as_it_is() -> None:
    def make(name: str, count: int = 2) -> None: ...

    parameters = inspect.signature(expand_groups(make)).parameters
    assert [(one.name, one.default) for one in parameters.values()] == [("name", inspect.Parameter.empty), ("count", 2)]
