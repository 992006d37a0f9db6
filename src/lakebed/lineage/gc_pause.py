"""Pauses full garbage collections during an analysis; the young generations are collected, but less often.

An analysis only adds results, which hold no cycles, and syntax trees, which do and die young. A full collection in the
middle walks all that was found so far and frees next to nothing, and their number grows with the script: a fifth of
the time of ten thousand statements was spent there, and longer scripts spent more per statement. A statement makes
thousands of objects, and most live as long as it does: looking at them after every 700 takes a twelfth of its time.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Collections of the middle generation before a full one; no script reaches it.
_PAUSED = 1_000_000
# New objects before a collection of the young ones: a few statements' worth.
_YOUNG = 10_000

_lock = threading.Lock()
_analyses = 0
_before = (0, 0, 0)


@contextmanager
def defer_full_collections() -> Iterator[None]:
    """Puts off full collections until the last of the analyses that run at once has ended."""
    global _analyses, _before
    with _lock:
        _analyses += 1
        if _analyses == 1:
            _before = gc.get_threshold()
            # a process that has turned collections off keeps them off
            young = max(_before[0], _YOUNG) if _before[0] else 0
            gc.set_threshold(young, _before[1], _PAUSED)
    try:
        yield
    finally:
        with _lock:
            _analyses -= 1
            if _analyses == 0:
                gc.set_threshold(*_before)
