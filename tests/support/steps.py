"""How much work a call is, counted and not timed: the same on a busy machine and on an idle one."""

import sys
from collections.abc import Callable
from types import FrameType

from lakebed.retry import Clock


def count_steps(act: Callable[[], object]) -> int:
    """The number of Python and C functions that this thread calls while it acts."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal steps
        if event in ("call", "c_call"):
            steps += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(before)
    return steps


class SteppedClock:
    """In place of a module's `time`, or of `retry.CLOCK`: it stands still but for those who sleep by it.

    `when_asleep` is called after each pause; pauses are as long as they may be.
    """

    def __init__(self, when_asleep: Callable[[], object] | None = None) -> None:
        self.now = 0.0
        self._when_asleep = when_asleep

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self._when_asleep is not None:
            self._when_asleep()

    def of_retries(self) -> Clock:
        """The same clock as retries take it."""
        return Clock(now=self.monotonic, sleep=self.sleep, draw=lambda _, longest: longest)
