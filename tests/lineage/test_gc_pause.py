"""Full garbage collections wait for the end of an analysis; the settings of the process are restored."""

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import lakebed
from lakebed.errors import LineageError
from lakebed.lineage.gc_pause import defer_full_collections

SCRIPT = "".join(f"CREATE TABLE t{i} AS SELECT a, b + c AS b, c FROM t{i // 2} WHERE a;\n" for i in range(1, 3000))


@pytest.fixture
def collected() -> Iterator[list[int]]:
    """The generations that were collected."""
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            generations.append(info["generation"])

    # A full collection waits until there are many objects beside those that stayed: what other tests left is set aside.
    gc.collect()
    gc.freeze()
    gc.collect()
    gc.callbacks.append(note)
    yield generations
    gc.callbacks.remove(note)
    gc.unfreeze()


def test_no_full_collection_runs_in_the_middle_of_a_script(collected: list[int]) -> None:
    result = lakebed.analyze(SCRIPT)
    assert 0 in collected
    assert 1 in collected
    assert 2 not in collected
    assert len(result.statements) == 2999


def test_as_many_objects_without_the_guard_bring_a_full_collection(collected: list[int]) -> None:
    """So the test above can fail."""
    kept = [[number] for number in range(200_000)]
    assert 2 in collected
    assert len(kept) == 200_000


def test_the_thresholds_are_as_they_were() -> None:
    before = gc.get_threshold()
    lakebed.analyze("SELECT 1").to_dict()
    assert gc.get_threshold() == before


def test_the_thresholds_are_as_they_were_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(LineageError):
        lakebed.analyze("SELECT * FROM t", schema={"tables": [{"name": "t", "columns": [1]}]})
    assert gc.get_threshold() == before


def test_analyses_at_once_restore_when_the_last_one_ends() -> None:
    before = gc.get_threshold()
    first, second = ExitStack(), ExitStack()
    with second:
        with first:
            first.enter_context(defer_full_collections())
            second.enter_context(defer_full_collections())
        assert gc.get_threshold()[2] > before[2]
    assert gc.get_threshold() == before
