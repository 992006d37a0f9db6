"""The rows of a merge's source by their positions: of a large one only what is asked for is in memory."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.mapped import let_go

# Of a large source so many rows are fetched together: each fetch walks through the whole of it.
FETCHED_ROWS = 262_144
# Fetched bytes after which the memory of what was read on the way is given back.
LET_GO_BYTES = 32 << 20


class SourceRows:
    """Rows that are taken by position.

    A large source has to lie in batches of equal length, as `rechunked` makes them: each is asked on its own, and what
    was read of it is let go of.
    """

    def __init__(self, table: pa.Table, *, large: bool = False) -> None:
        self._table = table
        self.schema = table.schema
        self.column_names: list[str] = table.column_names
        self.num_rows = table.num_rows
        self._batches = table.to_batches() if large else []

    @property
    def is_large(self) -> bool:
        return bool(self._batches)

    def slice(self, start: int, rows: int) -> pa.Table:
        if self.is_large:
            let_go()
        return self._table.slice(start, rows)

    def take(self, positions: pa.Array, columns: Sequence[str] | None = None, *, any_order: bool = False) -> pa.Table:
        """The rows at these positions, in their order unless any will do, or some of their columns."""
        names = self.column_names if columns is None else list(columns)
        if not self.is_large or not len(positions):
            return self._table.select(names).take(positions)
        each = self._batches[0].num_rows
        places = pc.divide(positions, each)
        in_order = len(places) < 2 or pc.all(pc.less_equal(places.slice(0, len(places) - 1), places.slice(1))).as_py()
        order = None if in_order else pc.sort_indices(places)
        if order is not None:
            positions, places = positions.take(order), places.take(order)
        counted = pc.value_counts(places)
        parts = []
        start = waiting = 0
        for number, count in zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True):
            here = pc.subtract(positions.slice(start, count), number * each)
            start += count
            parts.append(self._batches[number].select(names).take(here))
            waiting += self._batches[number].nbytes
            if waiting >= LET_GO_BYTES:
                let_go()
                waiting = 0
        let_go()
        found = pa.Table.from_batches(parts)
        return found if order is None or any_order else found.combine_chunks().take(pc.sort_indices(order))

    def arriving(self, positions: Sequence[pa.Array]) -> "Arriving":
        """The rows at all these positions, one after the other."""
        return Arriving(self, positions)

    def portions(self, positions: Sequence[pa.Array], rows: int) -> Iterator[pa.Table]:
        """The same in portions of at most so many rows; those that are fetched together come in any order."""
        arriving = Arriving(self, positions)
        while len(coming := arriving.coming(FETCHED_ROWS)):
            fetched = self.take(coming, any_order=True)
            for start in range(0, fetched.num_rows, rows):
                yield fetched.slice(start, rows).combine_chunks()


class Arriving:
    """Source rows in the order in which a rewrite needs them."""

    def __init__(self, rows: SourceRows, positions: Iterable[pa.Array]) -> None:
        self._rows = rows
        self._positions = [one for one in positions if len(one)]
        self._ends = list(accumulate(map(len, self._positions)))
        self._next = 0
        self._fetched: pa.Table | None = None
        self._used = 0

    def take(self, positions: pa.Array) -> pa.Table:
        """The next rows, which are at these positions."""
        if not self._rows.is_large:
            return self._rows.take(positions)
        count = len(positions)
        if self._fetched is not None and self._used + count > self._fetched.num_rows:
            # What is left of it is fetched once more, with what follows.
            self._next -= self._fetched.num_rows - self._used
            self._fetched = None
        if self._fetched is None:
            self._fetched = self._rows.take(self.coming(max(count, FETCHED_ROWS))).combine_chunks()
            self._used = 0
        rows = self._fetched.slice(self._used, count)
        self._used += count
        return rows

    def coming(self, count: int) -> pa.Array:
        """The next positions, at most so many of them."""
        parts = [pa.array([], pa.int64())]
        for array, end in zip(self._positions, self._ends, strict=True):
            if self._next < end and count:
                part = array.slice(self._next - (end - len(array)), count).cast(pa.int64())
                parts.append(part)
                self._next += len(part)
                count -= len(part)
        return pa.concat_arrays(parts)
