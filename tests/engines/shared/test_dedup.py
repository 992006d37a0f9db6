"""Deduplication: which row of a key remains, and that its time grows with the rows and not with their square."""

import math
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.support.call_counts import count_calls

from lakebed.engines.shared.dedup import deduplicated
from lakebed.kernels.keys import KeyIndex

NAN = float("nan")


def left(table: pa.Table, *order_by: str) -> list[int]:
    rows: list[int] = deduplicated(table, KeyIndex([table["id"]]), order_by).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("ids", "values", "expected"),
    [
        ([], [], []),
        ([1, 2, 3], ["a", "b", "c"], [0, 1, 2]),
        ([1, 1, 2, 1], ["a", "a", "b", "a"], [0, 2]),
        ([2, 1, 2, 1], ["a", "b", "a", "b"], [0, 1]),
        ([1, 2, 1], ["a", "b", None], [0, 1, 2]),
        ([1, 1, 1], [None, None, None], [0]),
        ([1, 1, 1], ["a", "b", "a"], [0, 1]),
    ],
)
def test_equal_rows_count_once_and_others_remain(ids: list[int], values: list[str | None], expected: list[int]) -> None:
    assert left(pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array(values, pa.string())})) == expected


@pytest.mark.parametrize(
    "values",
    [
        pa.array([NAN, NAN]),
        pa.array([-0.0, 0.0]),
        pa.array([None, None], pa.null()),
        pa.array([Decimal("1.10"), Decimal("1.1")], pa.decimal128(10, 2)),
        pa.array([{"a": 1}, {"a": 1}]),
        pa.array([[1, None], [1, None]]),
        pa.array([[("k", "v")], [("k", "v")]], pa.map_(pa.string(), pa.string())),
        pa.array([b"x", b"x"], pa.binary(1)),
        pa.array([True, True]),
    ],
    ids=lambda values: str(values.type),
)
def test_what_is_equal(values: pa.Array) -> None:
    assert left(pa.table({"id": [1, 1], "v": values})) == [0]


@pytest.mark.parametrize("values", [[NAN, 1.0], [None, NAN], [{"a": 1}, {"a": None}], [[1], [2]]], ids=str)
def test_what_is_not_equal(values: list[object]) -> None:
    assert left(pa.table({"id": [1, 1], "v": pa.array(values)})) == [0, 1]


def test_the_highest_of_each_key_remains() -> None:
    table = pa.table({"id": [7, 3, 7, 3, 3, 9], "at": [1, 5, 2, None, 5, None], "v": ["a", "b", "c", "d", "b", "e"]})
    assert left(table, "at") == [1, 2, 5]


def test_rows_that_tie_and_differ_remain() -> None:
    table = pa.table({"id": [1, 1, 1], "at": [2, 2, 1], "v": ["a", "b", "c"]})
    assert left(table, "at") == [0, 1]


def test_nan_is_above_every_number_and_null_below() -> None:
    table = pa.table({"id": [1, 1, 1, 2, 2], "at": [math.inf, NAN, None, None, -math.inf]})
    assert left(table, "at") == [1, 4]


def test_several_columns_order_one_after_the_other() -> None:
    table = pa.table({"id": [1, 1, 1], "day": [1, 2, 2], "at": [9, 1, 3]})
    assert left(table, "day", "at") == [2]


def test_chunks_make_no_difference() -> None:
    draw = random.Random(5)
    ids = [draw.randrange(40) for _ in range(200)]
    whole = pa.table({"id": ids, "at": [draw.randrange(3) for _ in ids], "v": [str(number % 4) for number in ids]})
    cut = pa.concat_tables([whole.slice(0, 7), whole.slice(7, 100), whole.slice(107)])
    assert left(cut, "at") == left(whole, "at")
    assert left(cut) == left(whole)


@pytest.mark.parametrize("order_by", [(), ("at",)])
def test_calls_do_not_grow_with_the_rows(order_by: tuple[str, ...]) -> None:
    def calls(keys: int) -> int:
        ids = list(range(keys)) * 2
        table = pa.table({"id": ids, "at": [1] * len(ids), "v": ["x"] * len(ids)})
        with count_calls() as counted:
            assert deduplicated(table, KeyIndex([table["id"]]), order_by).to_pylist() == list(range(keys))
        return counted.calls

    assert calls(2000) == calls(20)
