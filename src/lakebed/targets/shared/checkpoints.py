"""Names the steps of a commit as they are passed: tests end a process at each of them."""

from collections.abc import Callable
from typing import TypeAlias

Checkpoint: TypeAlias = Callable[[str], None]


def no_checkpoint(name: str) -> None:
    """What a commit calls between its steps when nothing watches."""
