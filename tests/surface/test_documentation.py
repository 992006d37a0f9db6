"""Docs that cannot rot: the reference equals the code, links lead somewhere, and the tests that the docs name exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tests.surface.source_tree import ROOT, SOURCE

import lakebed
from lakebed.cli import COMMANDS
from lakebed.cli.reference import PAGES
from lakebed.config import setting_infos

DOCS = ROOT / "docs"
MARKDOWN = sorted(
    path for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")] if path.is_file()
)
SPECIFICATIONS = [path for path in MARKDOWN if path.is_relative_to(DOCS) and "specifications" in str(path)]


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_equals_the_code(page: str) -> None:
    written = (DOCS / "reference" / page).read_text(encoding="utf-8")
    assert written == PAGES[page](), "run `make docs`"


def test_every_command_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## lakebed {name}\n" not in page] == []


def test_every_setting_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")
    assert [info.key for info in setting_infos() if f"`{info.key}`" not in page] == []


def test_every_public_name_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in lakebed.PUBLIC if f"### lakebed.{name}\n" not in page] == []


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []


@cache
def defined_in(path: Path) -> frozenset[str]:
    """Functions and classes of a file, also those it inherits from the conformance suites that we ship."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakebed.testing"):
            suite = SOURCE.joinpath(*(node.module or "").split(".")[1:])
            source = suite / "__init__.py" if suite.is_dir() else suite.with_suffix(".py")
            names |= defined_in(source)
    return frozenset(names)


@pytest.mark.parametrize("page", SPECIFICATIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_tests_that_the_specifications_name_are_real(page: Path) -> None:
    missing = []
    for file, names in re.findall(r"(tests/[\w/.-]+\.py)((?:::\w+)*)", page.read_text(encoding="utf-8")):
        path = ROOT / file
        if not path.is_file():
            missing.append(file)
            continue
        missing.extend(f"{file}::{name}" for name in names.split("::")[1:] if name not in defined_in(path))
    assert missing == []


@pytest.mark.parametrize("page", SPECIFICATIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_rule_of_the_specifications_names_a_test(page: Path) -> None:
    """A row is `| rule | kept or adapted, and why | test |`; one without a test is an unchecked promise."""
    in_rules, unproven = False, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            in_rules = False
        elif re.match(r"\|\s*rule\s*\|", line.lower()):
            in_rules = True
        elif in_rules and not re.match(r"\|[\s:|-]+\|$", line) and not re.search(r"tests/[\w/.-]+\.py::\w+", line):
            unproven.append(line)
    assert unproven == []
