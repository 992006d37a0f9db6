"""Runs what recurses deeply on a stack of its own, so that it neither fails nor overflows the caller's."""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")

# Addresses, not memory: only what is used of a stack takes any.
STACK_BYTES = 256 * 1024 * 1024
RECURSION_LIMIT = 20_000

# the limit of recursion and the size of stacks belong to the process
_ONE_AT_A_TIME = threading.Lock()


def on_deep_stack(work: Callable[[], _Result]) -> _Result:
    """What `work` returns or raises, run in a thread with a large stack; RecursionError where there can be none."""
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            errors.append(error)

    with _ONE_AT_A_TIME:
        limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="lakebed-lineage", daemon=True)
            sys.setrecursionlimit(max(limit, RECURSION_LIMIT))
            try:
                thread.start()
            except RuntimeError as error:
                raise RecursionError("there is no room for a larger stack") from error
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
