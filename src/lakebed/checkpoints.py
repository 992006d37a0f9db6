"""Names the steps of a load, a merge and a commit as they are passed: tests end a process at each of them."""

from collections.abc import Callable
from typing import TypeAlias

Checkpoint: TypeAlias = Callable[[str], None]

_WATCHERS: list[Checkpoint] = []


def pass_checkpoint(step: str) -> None:
    """Says that this process has come to a step, to whoever watches it. Nobody does but tests."""
    for watcher in _WATCHERS:
        watcher(step)


def watch_checkpoints(watcher: Checkpoint) -> None:
    """Calls this at every step from now on, for as long as the process lives."""
    _WATCHERS.append(watcher)
