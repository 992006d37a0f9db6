"""What one statement may cost: steps that grow with its length, and seconds of this thread's CPU.

Steps make an analysis end alike on every machine; seconds are for what a step does not measure. Waiting does not
count, so a busy machine changes no result.
"""

import time
from collections.abc import Callable

# Real statements take a few hundred steps.
STEPS = 200_000
STEPS_PER_CHARACTER = 100
SECONDS = 30.0
# How many steps pass between two looks at the clock.
STEPS_PER_LOOK = 20_000


class TooManySteps(Exception):
    """A statement takes more than any statement of its length should."""


class Budget:
    """What is left for one statement."""

    __slots__ = ("_clock", "_deadline", "_left", "_next_look", "_seconds")

    def __init__(
        self,
        characters: int,
        *,
        steps: int = STEPS,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._left = steps + STEPS_PER_CHARACTER * characters
        self._next_look = max(0, self._left - STEPS_PER_LOOK)
        self._clock = clock
        # counted from the first look, in the thread that does the work
        self._deadline: float | None = None
        self._seconds = seconds

    def spend(self, steps: int) -> None:
        """Counts steps; raises where there are none left, or no time."""
        self._left -= steps
        if self._left < self._next_look:
            self._look()

    def _look(self) -> None:
        now = self._clock()
        if self._deadline is None:
            self._deadline = now + self._seconds
        if self._left < 0 or now > self._deadline:
            raise TooManySteps
        self._next_look = max(0, self._left - STEPS_PER_LOOK)
