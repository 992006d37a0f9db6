"""The extras of the package: what each brings, and what is said where it is missing.

An engine, a target or a driver declares the extra that it needs, in its `facts.py` or `kind.py`; asking for what is
there imports nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from lakebed.errors import ExtraMissing, LakebedError


@dataclass(frozen=True)
class Extra:
    """`lakebed[NAME]`, and the modules by which one sees whether it is installed, from wherever they came."""

    name: str
    modules: tuple[str, ...]
    oldest: tuple[tuple[str, str, str], ...] = ()  # a module, the version from which on it will do, and what older lack

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of its modules that cannot be imported."""
        return tuple(module for module in self.modules if find_spec(module) is None)

    def require(self, what: str) -> None:
        """Raises ExtraMissing, with the command that installs it, unless everything that `what` needs is there."""
        require_extras([self], what)


def installed_version(module: str) -> str | None:
    """The version that a package declares, without importing it; None where nobody says.

    One that a platform brings need not be installed as a distribution: its `version.py` says it too.
    """
    try:
        return version(module)
    except PackageNotFoundError:
        pass
    spec = find_spec(module)
    file = None if spec is None or spec.origin is None else Path(spec.origin).with_name("version.py")
    if file is None or not file.is_file():
        return None
    found = re.search(r"__version__[^=]*=\s*[\"']([^\"']+)", file.read_text(encoding="utf-8"))
    return None if found is None else found[1]


def is_older(found: str, oldest: str) -> bool:
    """
    >>> is_older("3.5.9", "4.0"), is_older("4.1.0.dev2", "4.0"), is_older("10.0", "4.0")
    (True, False, False)
    """
    return _numbers(found) < _numbers(oldest)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def require_extras(extras: Sequence[Extra], what: str) -> None:
    """Raises one ExtraMissing for all of these that are not there."""
    absent = [extra for extra in extras if extra.missing]
    if absent:
        modules = [module for extra in absent for module in extra.missing]
        raise ExtraMissing(what=what, modules=modules, extras=[extra.name for extra in absent])
    for module, oldest, lack in (bound for extra in extras for bound in extra.oldest):
        found = installed_version(module)
        if found is not None and is_older(found, oldest):
            raise LakebedError(
                f"{what} needs {module} {oldest} or newer, and {found} is installed: {lack}",
                remedy=f"pip install -U '{module}>={oldest}', or run it where that is.",
            )
