"""The surface has edges: public names are pinned, and the error tree in the docstring is the tree in the code."""

import re
from pathlib import Path
from pkgutil import walk_packages

import lakebed
import lakebed.errors as errors

PINNED = (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split()


def test_public_names_are_pinned() -> None:
    assert sorted(lakebed.__all__) == sorted(PINNED), "a public name came or went: change public_names.txt knowingly"


def test_every_public_name_can_be_had() -> None:
    assert [name for name in lakebed.__all__ if not hasattr(lakebed, name)] == []


def test_no_module_hides_a_public_name() -> None:
    modules = [found.name for found in walk_packages(lakebed.__path__, "lakebed.") if ".cli." not in found.name]
    taken = {name.removeprefix("lakebed.") for name in modules} & set(lakebed.__all__)
    assert taken == set(), "importing a module of this name would put it where the public name was"


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
