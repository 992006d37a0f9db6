"""What a statement may cost: steps that grow with its length, and seconds."""

import pytest

from lakebed.lineage.budget import STEPS, STEPS_PER_CHARACTER, STEPS_PER_LOOK, Budget, TooManySteps


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_steps_end() -> None:
    budget = Budget(10)
    budget.spend(STEPS + 10 * STEPS_PER_CHARACTER)
    with pytest.raises(TooManySteps):
        budget.spend(1)


def test_time_ends() -> None:
    clock = Clock()
    budget = Budget(1_000_000, seconds=5, clock=clock)
    budget.spend(STEPS_PER_LOOK + 1)
    clock.now += 4
    budget.spend(STEPS_PER_LOOK + 1)
    clock.now += 2
    with pytest.raises(TooManySteps):
        budget.spend(STEPS_PER_LOOK + 1)


def test_the_clock_is_asked_seldom() -> None:
    asked = []
    budget = Budget(1_000_000, clock=lambda: asked.append(1) or 0.0)
    for _ in range(STEPS_PER_LOOK):
        budget.spend(1)
    assert not asked
