"""Finds keys among the keys of a merge's source, by value, in vectorised Arrow compute and nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

# Looking keys up hashes the source's keys each time, so keys of several small files are looked up together.
KEYS_AT_ONCE = 1_048_576
# But no more bytes than these, unless the source has as many keys.
BYTES_AT_ONCE = 32 << 20


class KeyLookup(Protocol):
    """The keys of a source, to be looked up."""

    rows: int
    distinct: int

    @property
    def repeats(self) -> bool: ...

    def find_each(self, files: Iterable[Sequence[pa.ChunkedArray]]) -> Iterator[pa.Array]:
        """For each file, given by its key columns, and each of its rows a number of its key, or NULL.

        Where no key repeats, the number is the position of the source row.
        """
        ...

    def count(self, files: Iterable[Sequence[pa.ChunkedArray]]) -> int:
        """How many rows of these files have a key of the source."""
        ...


class KeyIndex:
    """The distinct keys of a source, numbered in the order of their first row.

    Each component is looked up on its own and the numbers are combined, so composite keys are compared component by
    component and never by a concatenation that two different keys could share. NaN equals NaN, and -0.0 equals 0.0.
    Where no key repeats, the number of a key is the position of its row.
    """

    def __init__(self, columns: Sequence[pa.ChunkedArray | pa.Array], *, distinct: bool = False) -> None:
        """`distinct` says that it is known of these keys that none repeats."""
        self.rows = len(columns[0])
        self._values: list[pa.Array] = []
        self._pairs: list[pa.Array] = []
        numbers: pa.Array | None = None
        if distinct and len(columns) == 1:
            self._values.append(_flat(canonical(columns[0])))
            numbers = counting(self.rows).cast(pa.int32())
            columns = ()
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

    def find_each(self, files: Iterable[Sequence[pa.ChunkedArray]]) -> Iterator[pa.Array]:
        """The same for each of several files."""
        waiting: list[Sequence[pa.ChunkedArray]] = []
        rows = size = 0
        for columns in files:
            waiting.append(columns)
            rows += len(columns[0])
            size += sum(column.nbytes for column in columns)
            if rows >= self.rows and (rows >= KEYS_AT_ONCE or size >= BYTES_AT_ONCE):
                yield from self._find_together(waiting)
                waiting, rows, size = [], 0, 0
        yield from self._find_together(waiting)

    def count(self, files: Iterable[Sequence[pa.ChunkedArray]]) -> int:
        """How many rows of these files have a key of the source."""
        return sum(len(numbers) - numbers.null_count for numbers in self.find_each(files))

    def _find_together(self, files: Sequence[Sequence[pa.ChunkedArray]]) -> Iterator[pa.Array]:
        if not files:
            return
        together = [
            pa.chunked_array([chunk for columns in files for chunk in columns[place].chunks], type=column.type)
            for place, column in enumerate(files[0])
        ]
        numbers = self.find(together)
        start = 0
        for columns in files:
            yield numbers.slice(start, len(columns[0]))
            start += len(columns[0])


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


def in_their_places(values: pa.Array, places: pa.Array, length: int) -> pa.Array:
    """An array of this length that has each value at its place, and NULL elsewhere."""
    if hasattr(pc, "ScatterOptions"):
        return pc.scatter(values, places, max_index=length - 1)
    order = pc.sort_indices(places)
    held = chosen_rows(length, [places])
    return pc.replace_with_mask(pa.nulls(length, values.type), held, values.take(order))


def chosen_rows(length: int, places: Iterable[pa.Array]) -> pa.Array:
    """Which of so many rows are at one of these places, each of which may be named more than once."""
    chosen = pa.repeat(pa.scalar(False), length)
    kind = pa.int32() if length < 2**31 else pa.int64()
    waiting: list[pa.Array] = []
    count = 0
    for some in places:
        waiting.append(some.cast(kind))
        count += len(some)
        # Each look takes time for all rows: not for every few places.
        if count * 4 >= length:
            chosen = pc.or_(chosen, _at(length, pa.concat_arrays(waiting)))
            waiting, count = [], 0
    return pc.or_(chosen, _at(length, pa.concat_arrays(waiting))) if count else chosen


def _at(length: int, places: pa.Array) -> pa.Array:
    if hasattr(pc, "InversePermutationOptions"):
        return pc.inverse_permutation(places, max_index=length - 1).is_valid()
    return pc.is_in(counting(length), value_set=places.cast(pa.int64()))
