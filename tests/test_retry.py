"""Trying again: how often, how long, and what the log says."""

import heapq
import logging
import random
from dataclasses import dataclass, field

import pytest

from lakebed.errors import ConcurrentModification
from lakebed.retry import CONFLICTS, Backoff, Clock, count_retries, retry, waiting


@dataclass
class Simulation:
    """A clock that only pauses and attempts move, and dice that always show the same face."""

    share: float = 1.0
    takes: float = 0.0
    time: float = 0.0
    pauses: list[float] = field(default_factory=list)
    attempts: int = 0

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.time, sleep=self.sleep, draw=lambda low, high: low + self.share * (high - low))

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds

    def failing(self, times: int) -> str:
        self.attempts += 1
        self.time += self.takes
        if self.attempts <= times:
            raise ConcurrentModification(f"attempt {self.attempts}")
        return "done"


def test_pauses_double_up_to_the_longest() -> None:
    world = Simulation()
    backoff = Backoff(attempts=9, first_seconds=0.5, longest_seconds=6)
    assert retry(lambda: world.failing(6), what="it", backoff=backoff, clock=world.clock) == "done"
    assert world.pauses == [0.5, 1, 2, 4, 6, 6]


def test_jitter_is_full() -> None:
    lucky = Simulation(share=0)
    assert retry(lambda: lucky.failing(3), what="it", clock=lucky.clock) == "done"
    assert lucky.pauses == [0, 0, 0]


def test_rivals_of_a_slow_attempt_get_as_long_as_it_took() -> None:
    world = Simulation(takes=3)
    retry(lambda: world.failing(3), what="it", clock=world.clock)
    assert world.pauses == [3, 6, 12]


def test_the_last_failure_is_raised() -> None:
    world = Simulation()
    with pytest.raises(ConcurrentModification, match="attempt 4"):
        retry(lambda: world.failing(99), what="it", backoff=Backoff(attempts=4), clock=world.clock)
    assert len(world.pauses) == 3


def test_other_errors_are_not_tried_again() -> None:
    world = Simulation()
    with pytest.raises(ZeroDivisionError):
        retry(lambda: 1 // 0, what="it", clock=world.clock)
    assert world.pauses == []


def test_waiting_ends_with_its_time() -> None:
    world = Simulation()
    with pytest.raises(ConcurrentModification):
        retry(lambda: world.failing(10**6), what="it", backoff=waiting(2.0), clock=world.clock)
    assert world.time == pytest.approx(2.0)
    assert max(world.pauses) <= 0.1


def test_endless_failures_do_not_overflow() -> None:
    assert Backoff().ceiling(10**6, 0.0) == Backoff().longest_seconds


def test_the_number_of_retries_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="lakebed.retry")
    retry(lambda: Simulation().failing(0), what="an easy one", clock=Simulation().clock)
    world = Simulation()
    retry(lambda: world.failing(2), what="the merge into x", clock=world.clock)
    unlucky = Simulation()
    with pytest.raises(ConcurrentModification):
        retry(lambda: unlucky.failing(99), what="the load", clock=unlucky.clock)
    assert [record.getMessage() for record in caplog.records] == [
        "the merge into x: done after 2 retries",
        f"the load: given up after {(CONFLICTS.attempts or 0) - 1} retries",
    ]


def test_retries_are_counted_whichever_step_tries_again() -> None:
    outer, inner = Simulation(), Simulation()

    def attempt() -> str:
        retry(lambda: inner.failing(2), what="the commit", clock=inner.clock)
        return outer.failing(1)

    with count_retries() as count:
        retry(attempt, what="the merge", clock=outer.clock)
    assert count.retries == 3
    with count_retries() as count:
        retry(lambda: Simulation().failing(0), what="an easy one")
        assert retry(lambda: Simulation().failing(0), what="a lock", backoff=waiting(1)) == "done"
    assert count.retries == 0


def test_waiting_for_a_lock_is_no_retry() -> None:
    world = Simulation()
    with count_retries() as count:
        retry(lambda: world.failing(5), what="the lock", backoff=waiting(60), clock=world.clock)
    assert count.retries == 0


@pytest.mark.parametrize("seconds", [0.1, 1, 10, 100], ids=lambda seconds: f"{seconds} s")
def test_of_eight_rivals_every_one_gets_through_however_slow_they_are(seconds: float) -> None:
    """Writers that each want twelve commits, of which one during another's attempt makes that attempt fail."""
    for seed in range(20):
        dice = random.Random(seed)
        version, failures, done = 0, [0] * 8, [0] * 8
        begins = [(dice.uniform(0, seconds), writer, -1) for writer in range(8)]
        while begins:
            at, writer, seen = heapq.heappop(begins)
            if seen < 0:
                heapq.heappush(begins, (at + seconds * dice.uniform(0.7, 1.5), writer, version))
                continue
            if seen == version:
                version, pause = version + 1, 0.0
                done[writer] += 1
                failures[writer] = 0
            else:
                failures[writer] += 1
                pause = dice.uniform(0, CONFLICTS.ceiling(failures[writer], seconds))
            assert failures[writer] < (CONFLICTS.attempts or 0) / 1.5, "there is room for worse luck"
            if done[writer] < 12:
                heapq.heappush(begins, (at + pause, writer, -1))
