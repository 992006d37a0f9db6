"""Keys in shares on disk say what one index in memory says, of every type, however the source is cut."""

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest

from lakebed.kernels import key_shares, keys
from lakebed.kernels.key_shares import KeyShares, share_of
from lakebed.kernels.keys import KeyIndex, chosen_rows, first_rows, in_their_places, repeated

NAN = float("nan")
# Few values of each type, so that keys repeat and are found; with those that are equal though their bits differ.
VALUES: list[tuple[pa.DataType, Callable[[Random], object]]] = [
    (pa.int64(), lambda rng: rng.randrange(-20, 20)),
    (pa.int8(), lambda rng: rng.randrange(-128, 128)),
    (pa.uint64(), lambda rng: rng.choice([0, 2**63 + 5, 2**64 - 1, 3])),
    (pa.float64(), lambda rng: rng.choice([0.0, -0.0, NAN, -NAN, 1.5, 2.0, 1e300])),
    (pa.float32(), lambda rng: rng.choice([0.0, -0.0, NAN, 1.5, 2.0])),
    (pa.string(), lambda rng: rng.choice(["", "a", "ä" * 5, "x" * rng.randrange(90), f"arn:aws:{rng.randrange(30)}"])),
    (pa.binary(), lambda rng: bytes([rng.randrange(3)] * rng.randrange(12))),
    (pa.binary(4), lambda rng: bytes([rng.randrange(3)] * 4)),
    (pa.decimal128(38, 4), lambda rng: Decimal(5 * 10**30 + rng.randrange(20)).scaleb(-4)),
    (pa.bool_(), lambda rng: rng.random() < 0.5),
    (pa.date32(), lambda rng: dt.date(2026, 1, 1 + rng.randrange(20))),
    (pa.timestamp("us", "UTC"), lambda rng: dt.datetime(2026, 1, 1 + rng.randrange(20), tzinfo=dt.UTC)),
    (pa.timestamp("ns"), lambda rng: dt.datetime(2026, 1, 1 + rng.randrange(20))),
    (pa.time64("us"), lambda rng: dt.time(rng.randrange(20))),
    (pa.time32("ms"), lambda rng: dt.time(rng.randrange(20))),
]


def columns(
    rng: Random, kinds: Sequence[tuple[pa.DataType, Callable[[Random], object]]], rows: int
) -> list[pa.ChunkedArray]:
    """Random keys, in two pieces that are cut elsewhere in each column."""
    made = []
    for kind, draw in kinds:
        values = pa.array([draw(rng) for _ in range(rows)], kind)
        cut = rng.randrange(rows + 1)
        made.append(pa.chunked_array([values.slice(0, cut), values.slice(cut)], type=kind))
    return made


@pytest.mark.parametrize("seed", range(120))
def test_shares_say_what_one_index_says(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    kinds = rng.sample(VALUES, rng.choice([1, 1, 2, 3]))
    source = columns(rng, kinds, rng.randrange(1, 40))
    files = [columns(rng, kinds, rng.randrange(20)) for _ in range(rng.randrange(4))]
    whole = KeyIndex(source)
    with patch.object(key_shares, "BLOCK_ROWS", rng.choice([1, 7, 1000])):
        shares = KeyShares(source, str(tmp_path), share_rows=rng.choice([1, 3, 100]))
        found = [numbers.to_pylist() for numbers in shares.find_each(files)]
    assert (shares.rows, shares.distinct, shares.repeats) == (whole.rows, whole.distinct, whole.repeats)
    if whole.repeats:
        assert shares.repeated() == repeated(whole)
    firsts = first_rows(whole.numbers).to_pylist()
    assert found == [
        [None if number is None else firsts[number] for number in numbers.to_pylist()]
        for numbers in whole.find_each(files)
    ]
    assert not list(tmp_path.iterdir()), "a mapped file needs no name, and leaves none"


def test_no_result_rests_on_the_mix(tmp_path: Path) -> None:
    """Were all keys of the world in one share, equal and different ones would be told apart all the same."""
    source = [pa.chunked_array([pa.array(["a", "b", "c", "b"])])]
    with patch.object(key_shares, "share_of", lambda given, bits: pa.repeat(pa.scalar(1, pa.uint8()), len(given[0]))):
        shares = KeyShares(source, str(tmp_path), share_rows=1)
        assert [one.to_pylist() for one in shares.find_each([[pa.chunked_array([["c", "d", "b"]])]])] == [[2, None, 1]]
    assert shares.repeated().first_rows == [1]


def test_texts_that_agree_at_both_ends_are_in_many_shares() -> None:
    paths = pa.array([f"arn:aws:ec2:eu-west-1:{number:012d}:instance/usage.parquet" for number in range(4096)])
    counted = share_of([paths], 4).value_counts()
    assert len(counted) == 16
    assert max(counted.field("counts").to_pylist()) < 512


def test_ascending_keys_are_not_hashed_to_be_told_apart(tmp_path: Path) -> None:
    with patch.object(KeyShares, "_count", side_effect=AssertionError("hashed")):
        assert not KeyShares([pa.chunked_array([[1, 2], [], [3, 9]])], str(tmp_path)).repeats
        for repeating in ([[1, 2], [2, 3]], [[1, 1]], [[2, 1]]):
            with pytest.raises(AssertionError, match="hashed"):
                KeyShares([pa.chunked_array(repeating)], str(tmp_path))


@pytest.mark.parametrize("old", [False, True], ids=["this pyarrow", "an older pyarrow"])
def test_values_come_to_their_places(old: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if old:
        monkeypatch.delattr(keys.pc, "ScatterOptions", raising=False)
        monkeypatch.delattr(keys.pc, "InversePermutationOptions", raising=False)
    places = pa.array([3, 0], pa.int32())
    assert in_their_places(pa.array([7, 8], pa.int32()), places, 5).to_pylist() == [8, None, None, 7, None]
    assert chosen_rows(5, [pa.array([3, 0, 3], pa.int64()), pa.array([3], pa.int32())]).to_pylist() == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert chosen_rows(0, [pa.array([], pa.int64())]).to_pylist() == []
