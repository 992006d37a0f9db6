"""Counts calls instead of seconds: a test that asks for them gives the same answer on a busy machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooManyCalls(BaseException):
    """Not an `Exception`, so that no handler of the code under test takes it for a failure of its own."""


class CallCount:
    """The calls of Python and C functions so far, without those that compiled modules make among themselves."""

    def __init__(self, limit: int | None) -> None:
        self.calls = 0
        self._limit = limit

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            self.calls += 1
            if self._limit is not None and self.calls > self._limit:
                raise TooManyCalls(f"more than {self._limit:,} calls")


@contextmanager
def count_calls(limit: int | None = None) -> Iterator[CallCount]:
    """Counts the calls of this thread inside of the block; one more than `limit` ends it with `TooManyCalls`."""
    count = CallCount(limit)
    before = sys.getprofile()
    sys.setprofile(count._note)
    try:
        yield count
    finally:
        sys.setprofile(before)
