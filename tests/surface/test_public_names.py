"""The surface has edges: one list of public names, whole for people and for type checkers, and one error tree.

The names themselves are pinned by `docs/reference/python.md`, which is generated from them.
"""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType

import pyarrow as pa
import pytest

import lakebed
import lakebed.errors as errors

FUNCTIONS = [name for name in lakebed.PUBLIC if isinstance(getattr(lakebed, name), FunctionType)]
CLASSES = [name for name in lakebed.PUBLIC if isinstance(getattr(lakebed, name), type)]
# What `merge` takes for the conformance suites.
FOR_SUITES = {"MergeEngine", "Storage"}


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(inspect.getfile(lakebed)).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "without `as` the name is private to type checkers"
            seen[alias.name] = node.module
    assert seen == lakebed.PUBLIC


def test_importing_lakebed_costs_nothing() -> None:
    code = "import sys; before = set(sys.modules); import lakebed; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(Path(lakebed.__path__[0]).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    others = {name.split(".")[0] for name in ran.stdout.split()} - sys.stdlib_module_names
    assert others == {"lakebed"}
    assert not any(name.startswith("lakebed.") for name in ran.stdout.split())


def test_every_public_name_can_be_had() -> None:
    assert [name for name in lakebed.__all__ if not hasattr(lakebed, name)] == []


def test_no_module_hides_a_public_name() -> None:
    modules = [found.name for found in walk_packages(lakebed.__path__, "lakebed.") if ".cli." not in found.name]
    taken = {name.removeprefix("lakebed.") for name in modules} & set(lakebed.__all__)
    assert taken == set(), "importing a module of this name would put it where the public name was"


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_every_public_name_says_what_it_is(name: str) -> None:
    doc = inspect.getdoc(getattr(lakebed, name)) or ""
    assert doc
    assert not doc.startswith(f"{name}("), "dataclasses without a docstring get their signature as one"


def test_every_public_function_shows_an_example() -> None:
    silent = {name for name in FUNCTIONS if ">>> " not in (inspect.getdoc(getattr(lakebed, name)) or "")}
    assert silent == set()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(lakebed, name)
    [example] = doctest.DocTestFinder(recurse=False).find(function, name, globs={"lakebed": lakebed, "pa": pa})
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_of_public_functions_are_public(name: str) -> None:
    """What a function takes or returns can be imported from `lakebed` by a user who writes the same types."""
    module = ast.parse(Path(inspect.getfile(getattr(lakebed, name))).read_text(encoding="utf-8"))
    [*_, definition] = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name]
    assert _words(definition) & _names_of_lakebed(module) - FOR_SUITES <= set(lakebed.PUBLIC)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"read"}))
def test_every_result_is_what_json_prints(name: str) -> None:
    returned = getattr(lakebed, name).__annotations__["return"]
    assert callable(returned.to_dict), "a function returns a value that `--json` can print"


def _words(definition: ast.FunctionDef) -> set[str]:
    """The words of a signature's annotations, those in quotes included."""
    arguments = [*definition.args.args, *definition.args.kwonlyargs]
    arguments += [definition.args.kwarg] if definition.args.kwarg else []
    annotations = [one.annotation for one in arguments if one.annotation] + [definition.returns or ast.Constant(None)]
    return set(re.findall(r"\w+", " ".join(map(ast.unparse, annotations))))


def _names_of_lakebed(module: ast.Module) -> set[str]:
    """What a module defines, or imports from another of ours."""
    names: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakebed."):
            names.update(alias.name for alias in node.names)
    return names


def test_the_error_tree_in_the_docstring_is_the_one_in_the_code() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ([│├└─ ]*)([A-Z]\w+)", line):
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            drawn[match[2]] = path[depth - 1] if depth else "Exception"
        elif drawn and not line.strip():
            break
    coded = {
        name: kind.__bases__[0].__name__
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.LakebedError)
    }
    assert drawn == coded


def test_every_error_says_what_it_is() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert [kind.__name__ for kind in kinds if not kind.__doc__] == []
