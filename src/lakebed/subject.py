"""What the work of this moment is about: which run, and of what. Log lines, Spark's jobs and events all tell it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})
_SUBJECT: ContextVar[Mapping[str, str]] = ContextVar("lakebed_subject", default=_NOTHING)


def subject() -> Mapping[str, str]:
    """The names of the run, the task (`load`, `merge`, ...) and what it is done to; empty where nobody said so."""
    return _SUBJECT.get()


@contextmanager
def working_on(names: Mapping[str, str]) -> Iterator[None]:
    """The work inside is about these; what was said before and is not said again still holds."""
    before = _SUBJECT.set({**_SUBJECT.get(), **names})
    try:
        yield
    finally:
        _SUBJECT.reset(before)
