"""Finds keys among the keys of a merge's source, by value, in vectorised Arrow compute and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


class KeyIndex:
    """The distinct keys of a source, numbered in the order of their first row.

    Each component is looked up on its own and the numbers are combined, so composite keys are compared component by
    component and never by a concatenation that two different keys could share. NaN equals NaN, and -0.0 equals 0.0.
    Where no key repeats, the number of a key is the position of its row.
    """

    def __init__(self, columns: Sequence[pa.ChunkedArray | pa.Array]) -> None:
        self.rows = len(columns[0])
        self._values: list[pa.Array] = []
        self._pairs: list[pa.Array] = []
        numbers: pa.Array | None = None
        for column in columns:
            values, found = _encoded(canonical(column))
            self._values.append(values)
            if numbers is None:
                numbers = found
                continue
            distinct, numbers = _encoded(_pair(numbers, found, len(values)))
            self._pairs.append(distinct)
        assert numbers is not None, "a merge has at least one key column"
        self.numbers: pa.Array = numbers
        self.distinct = len(self._pairs[-1]) if self._pairs else len(self._values[0])

    @property
    def repeats(self) -> bool:
        return self.distinct < self.rows

    def find(self, columns: Sequence[pa.ChunkedArray | pa.Array]) -> pa.Array:
        """For each row the number of its key (int32), NULL where the source does not have it."""
        numbers: pa.Array | None = None
        for place, column in enumerate(columns):
            found = _flat(pc.index_in(canonical(column), value_set=self._values[place]))
            if numbers is None:
                numbers = found
                continue
            pairs = _pair(numbers, found, len(self._values[place]))
            numbers = _flat(pc.index_in(pairs, value_set=self._pairs[place - 1]))
        return numbers


@dataclass(frozen=True)
class Repeated:
    """Keys that occur more than once: how many, and a row of each of the first five."""

    count: int
    first_rows: list[int]


def first_rows(numbers: pa.Array) -> pa.Array:
    """The first row of each number, of numbers that were given in the order of their first rows, as `KeyIndex` does."""
    if not len(numbers):
        return pa.array([], pa.int64())
    highest = pc.cumulative_max(numbers)
    rises = pc.not_equal(highest.slice(1), highest.slice(0, len(highest) - 1))
    return pc.indices_nonzero(pa.concat_arrays([pa.array([True]), rises])).cast(pa.int64())


def repeated(index: KeyIndex, *, shown: int = 5) -> Repeated:
    counts = pc.value_counts(index.numbers)
    several = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    first = [pc.index(index.numbers, value=number).as_py() for number in several.slice(0, shown)]
    return Repeated(len(several), first)


def canonical(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Floats with one NaN and one zero, everything else as it is."""
    if not pa.types.is_floating(column.type):
        return column
    zero, nan = pa.scalar(0.0, column.type), pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _pair(left: pa.Array, right: pa.Array, width: int) -> pa.Array:
    # Both are numbers below 2^31, so the pair fits 64 bits and no two pairs share a value.
    return pc.add(pc.multiply(left.cast(pa.int64()), width), right.cast(pa.int64()))


def _encoded(column: pa.ChunkedArray | pa.Array) -> tuple[pa.Array, pa.Array]:
    """The distinct values in the order of their first rows, and for each row the number (int32) of its own."""
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    if isinstance(encoded, pa.DictionaryArray):
        return encoded.dictionary, encoded.indices
    if not encoded.num_chunks:
        return pa.array([], column.type), pa.array([], pa.int32())
    # the chunks of one column share their dictionary
    return encoded.chunk(0).dictionary, pa.concat_arrays([chunk.indices for chunk in encoded.chunks])


def _flat(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def counting(length: int) -> pa.Array:
    """0, 1, 2, ... as int64."""
    if hasattr(pa, "arange"):
        return pa.arange(0, length)
    return pa.array(range(length), pa.int64())
