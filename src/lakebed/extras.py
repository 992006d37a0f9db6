"""The extras of the package: what each brings, and what is said where it is missing.

An engine, a target or a driver declares the extra that it needs, in its `facts.py` or `kind.py`; asking for what is
there imports nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec

from lakebed.errors import ExtraMissing


@dataclass(frozen=True)
class Extra:
    """`lakebed[NAME]`, and the modules by which one sees whether it is installed, from wherever they came."""

    name: str
    modules: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of its modules that cannot be imported."""
        return tuple(module for module in self.modules if find_spec(module) is None)

    def require(self, what: str) -> None:
        """Raises ExtraMissing, with the command that installs it, unless everything that `what` needs is there."""
        require_extras([self], what)


def require_extras(extras: Iterable[Extra], what: str) -> None:
    """Raises one ExtraMissing for all of these that are not there."""
    absent = [extra for extra in extras if extra.missing]
    if absent:
        modules = [module for extra in absent for module in extra.missing]
        raise ExtraMissing(what=what, modules=modules, extras=[extra.name for extra in absent])
