"""The map is the house: every name of the code that a page mentions exists, and every room is on the map."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests.surface.source_tree import ROOT, SOURCE, modules

MAP = ROOT / "docs" / "architecture.md"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def code_spans(text: str) -> Iterator[str]:
    """What stands in backticks, outside of code blocks."""
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def names_of_code(text: str) -> list[str]:
    """`lakebed.table.merge.merge` of that or of `lakebed.table.merge.merge(source, ...)`."""
    found = (re.match(r"lakebed(?:\.[\w-]+)+", span) for span in code_spans(text))
    return sorted({match[0] for match in found if match})


@cache
def stored_names() -> frozenset[str]:
    """`lakebed.toml`, `lakebed.delivery`: names of files and of properties, which the code has as text."""
    constants = (node for module in modules() for node in ast.walk(module.tree) if isinstance(node, ast.Constant))
    texts = (constant.value for constant in constants if isinstance(constant.value, str))
    return frozenset(text for text in texts if re.fullmatch(r"lakebed\.[\w-]+", text))


def exists(name: str) -> bool:
    if name in stored_names():
        return True
    here: object = import_module("lakebed")
    parts = name.split(".")
    for number, part in enumerate(parts[1:], start=2):
        module = SOURCE.joinpath(*parts[1:number])
        if hasattr(here, part):
            here = getattr(here, part)
        elif module.is_dir() or module.with_suffix(".py").is_file():
            here = import_module(".".join(parts[:number]))
        else:
            return part in getattr(here, "__annotations__", {})
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_of_the_code_exists(page: Path) -> None:
    assert [name for name in names_of_code(page.read_text(encoding="utf-8")) if not exists(name)] == []


def test_a_name_that_is_gone_is_seen() -> None:
    text = "`lakebed.merging.merge()`, `lakebed.table.merge.merge`\n```\n`lakebed.b`\n```\n`lakebed.model.Slice.payer`"
    assert names_of_code(text) == ["lakebed.merging.merge", "lakebed.model.Slice.payer", "lakebed.table.merge.merge"]
    assert [name for name in names_of_code(text) if not exists(name)] == ["lakebed.merging.merge"]
    assert exists("lakebed.toml")
    assert not exists("lakebed.table.no_such_thing")


def rooms() -> list[str]:
    """The first cells of the map's table of rooms, word by word."""
    found: list[str] = []
    in_table = False
    for line in MAP.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            in_table = False
        elif re.match(r"\|\s*(folder|room)s?\s*\|", line, re.IGNORECASE):
            in_table = True
        elif in_table:
            found.extend(word for span in code_spans(line.split("|")[1]) for word in span.split())
    return found


def test_every_room_of_the_map_exists() -> None:
    assert [room for room in rooms() if not (SOURCE / room).exists()] == []


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages - {room.rstrip("/") for room in rooms() if room.endswith("/")} == set()
