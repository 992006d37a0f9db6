"""The one way to try again: after another writer committed first, and while another process holds a lock.

Pauses have full jitter: each is drawn between zero and a ceiling that doubles with every failure. Writers that failed
together therefore do not meet again, and of eight that change one table each finds its turn.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from lakebed.errors import ConcurrentModification

log = logging.getLogger(__name__)

T = TypeVar("T")

# Beyond it every ceiling is the longest one, and floats would overflow.
MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often, or for how long, to try, and how the pauses grow.

    The ceiling starts at what the failed attempt took, if that is more than `first_seconds`: rivals need as long. It
    ends at `longest_seconds`, or at `longest_attempts` times what the attempt took, if that is more: where the machine
    is slow and rivals are many, they would meet again and again after shorter pauses.
    """

    attempts: int | None = None
    within_seconds: float | None = None
    first_seconds: float = 0.05
    longest_seconds: float = 20.0
    longest_attempts: float = 0.0

    def ceiling(self, failures: int, took_seconds: float) -> float:
        """The longest pause after this many failures, the last of which took so long."""
        first = max(self.first_seconds, took_seconds)
        longest = max(self.longest_seconds, self.longest_attempts * took_seconds)
        return min(longest, first * 2.0 ** min(failures - 1, MOST_DOUBLINGS))


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance, which tests replace."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[float, float], float] = random.uniform


CLOCK = Clock()
# Another writer's commit: read the table again, plan again, commit again.
CONFLICTS = Backoff(attempts=40, longest_attempts=16)


@dataclass
class RetryCount:
    """How often something was tried again because another writer had committed first."""

    retries: int = 0


_counted: ContextVar[RetryCount | None] = ContextVar("retries", default=None)


@contextmanager
def count_retries() -> Iterator[RetryCount]:
    """Counts what is tried again inside the block, whichever step does it; waiting for a lock does not count."""
    count = RetryCount()
    before = _counted.set(count)
    try:
        yield count
    finally:
        _counted.reset(before)


def waiting(seconds: float) -> Backoff:
    """For a lock: looks often, because a commit takes milliseconds, and gives up after this time."""
    return Backoff(within_seconds=seconds, first_seconds=0.01, longest_seconds=0.1)


def retry(
    attempt: Callable[[], T],
    *,
    what: str,
    on: type[Exception] = ConcurrentModification,
    backoff: Backoff = CONFLICTS,
    clock: Clock | None = None,
) -> T:
    """What `attempt` returns, tried again after a pause as long as it raises `on` and the backoff allows.

    The last failure is raised as it is. `what` names the attempt in the log: "the merge into parquet:costs".
    """
    clock = clock or CLOCK
    started = clock.now()
    failures = 0
    while True:
        began = clock.now()
        try:
            done = attempt()
        except on as error:
            failures += 1
            now = clock.now()
            left = None if backoff.within_seconds is None else started + backoff.within_seconds - now
            if failures == backoff.attempts or (left is not None and left <= 0):
                log.info("%s: given up after %d retries", what, failures - 1)
                raise
            pause = clock.draw(0, backoff.ceiling(failures, now - began))
            pause = pause if left is None else min(pause, left)
            log.debug("%s: attempt %d failed, the next comes in %.3f s: %s", what, failures, pause, error)
            if left is None and (count := _counted.get()) is not None:
                count.retries += 1
            clock.sleep(pause)
            continue
        if failures:
            log.info("%s: done after %d retries", what, failures)
        return done
