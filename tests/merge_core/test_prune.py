"""Which files can hold a key: by what footers and paths say of them."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.support.steps import count_steps

from lakebed.merge_core.prune import prune, worth_repacking
from lakebed.model import Bounds, DataFile


def file(uri: str, low: object, high: object, nulls: int | None = 0) -> DataFile:
    return DataFile(uri, 10, 100, {}, {"id": Bounds(low, high, nulls)})


@pytest.mark.parametrize(
    ("keys", "files", "candidates"),
    [
        (pa.array([5, 25]), [file("a", 0, 9), file("b", 10, 19), file("c", 20, 29)], ["a", "c"]),
        (pa.array(["m"]), [file("a", "a", "l"), file("b", "m", "m"), file("c", "n", "z")], ["b"]),
        (pa.array([Decimal("1.5")]), [file("a", Decimal("1"), Decimal("2")), file("b", Decimal("3"), Decimal("4"))],
         ["a"]),
        (pa.array([5]), [file("a", 10, 19, None), DataFile("b", 10, 100)], ["a", "b"]),
        (pa.array([float("nan")]), [file("a", 0.0, 1.0)], ["a"]),
        (pa.array([5]), [DataFile("a", 10, 100, {"id": "x"}, {})], ["a"]),
        (pa.array(["x"]), [DataFile("a", 10, 100, {"id": "x"}), DataFile("b", 10, 100, {"id": "y"})], ["a"]),
        (pa.array([], pa.int64()), [file("a", 0, 9)], []),
        # A footer of strangers may hold anything: it makes its own file a candidate, and no other.
        (pa.array([5]), [file("a", "no", "number"), file("b", 10, 19), file("c", 0, 9)], ["a", "c"]),
        (pa.array([5.0]), [file("a", float("nan"), "x"), file("b", 10.0, 19.0), file("c", float("nan"), 9.0)],
         ["a", "c"]),
    ],
)  # fmt: skip
def test_files_are_cleared_by_what_they_say_of_themselves(
    keys: pa.Array, files: list[DataFile], candidates: list[str]
) -> None:
    assert [one.uri for one in prune(files, pa.table({"id": keys})).candidates] == candidates


def test_a_range_of_keys_clears_only_what_lies_outside() -> None:
    files = [file("a", 0, 9), file("b", 10, 19), file("c", 20, 29), file("d", 30, 39)]
    found = prune(files, pa.table({"id": [12, 25]}), only_extremes=True)
    assert [one.uri for one in found.candidates] == ["b", "c"]
    between = prune(files, pa.table({"id": [5, 35]}), only_extremes=True)
    assert [one.uri for one in between.candidates] == ["a", "b", "c", "d"]


def test_no_keys_clear_every_file() -> None:
    nothing = pa.table({"id": pa.array([], pa.int64())})
    for only_extremes in (False, True):
        found = prune([file("a", 0, 9)], nothing, only_extremes=only_extremes)
        assert (found.candidates, [one.uri for one in found.cleared]) == ((), ["a"])


def test_null_keys_of_footers_are_counted() -> None:
    assert prune([file("a", 0, 9, 2), file("b", 0, 9, 1)], pa.table({"id": [1]})).nulls == {"id": 3}


def test_pruning_looks_at_each_file_once_and_searches_the_keys() -> None:
    files = [file(str(number), number * 10, number * 10 + 9) for number in range(10_000)]
    keys = pa.table({"id": range(0, 100_000, 1000)})
    assert len(prune(files, keys).candidates) == 100
    steps = count_steps(lambda: prune(files, keys))
    assert steps < 11 * count_steps(lambda: prune(files[:1000], keys))
    # A hundred times as many keys are seven more steps of a binary search for each file.
    assert count_steps(lambda: prune(files, pa.table({"id": range(0, 100_000, 10)}))) < 3 * steps


def test_few_files_are_not_repacked() -> None:
    assert worth_repacking(19, 20)
    assert not worth_repacking(10, 20)
    assert not worth_repacking(2, 2)
    assert (worth_repacking(3, 3), worth_repacking(4, 4)) == (False, True)
    assert (worth_repacking(4, 5), worth_repacking(4, 6)) == (True, False)
