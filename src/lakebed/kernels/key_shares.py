"""The keys of a source that is too large for one index, in shares on disk: equal keys are always in the same share.

A mix of a key's bits says which share it is in, and nothing else: inside a share keys are compared by value, as in any
index. So only one share at a time is in memory, and no result rests on the mix.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.keys import KeyIndex, Repeated, canonical, first_rows, in_their_places, repeated
from lakebed.kernels.mapped import free_memory, let_go, map_batches, rechunked, write_batches

# A share of so many keys has an index of a few megabytes, which a processor's cache holds.
SHARE_ROWS = 131_072
MOST_SHARES = 256
BLOCK_ROWS = 524_288
# Of texts so many bytes are mixed: the first ones, and the last eight.
MIXED_BYTES = 64
_ODD = pa.scalar(0x9E3779B97F4A7C15, pa.uint64())
_ALSO_ODD = pa.scalar(0xD6E8FEB86659FD93, pa.uint64())
_HALF = pa.scalar(32, pa.uint64())
# Bytes of shares after which the memory of those that were read is given back.
LET_GO_BYTES = 4 << 20
ROW = "row"


class KeyShares:
    """The keys of a source, numbered by the first row of each; for sources whose `KeyIndex` would be too large.

    The shares lie in a temporary file below `folder`, which is the caller's to remove.
    """

    def __init__(self, columns: Sequence[pa.ChunkedArray], folder: str, *, share_rows: int = SHARE_ROWS) -> None:
        self.rows = len(columns[0])
        self._folder = folder
        self._bits = _bits(self.rows, share_rows)
        self._spill = _Spill(folder, columns, self._bits)
        self._spill.add(columns)
        self.numbers = pa.int32() if self.rows < 2**31 else pa.int64()
        self._repeated: Repeated | None = None
        self.distinct = self.rows
        if not (len(columns) == 1 and _ascends(columns[0])):
            self._count()

    @property
    def repeats(self) -> bool:
        return self.distinct < self.rows

    def repeated(self, *, shown: int = 5) -> Repeated:
        """Keys that occur more than once, and the first rows of those that come first."""
        assert self._repeated is not None, "no key repeats"
        return Repeated(self._repeated.count, sorted(self._repeated.first_rows)[:shown])

    def find_each(self, files: Iterable[Sequence[pa.ChunkedArray]]) -> Iterator[pa.Array]:
        """For each of these files and each of its rows the first source row of its key, NULL where there is none."""
        together = max(self.rows, 4 * BLOCK_ROWS)
        lengths: list[int] = []
        spill: _Spill | None = None
        for columns in files:
            spill = spill or _Spill(self._folder, columns, self._bits)
            spill.add(columns)
            lengths.append(len(columns[0]))
            if spill.rows >= together:
                yield from _cut(self._find(spill), lengths, self.numbers)
                lengths, spill = [], None
        if spill is not None:
            yield from _cut(self._find(spill), lengths, self.numbers)

    def count(self, files: Iterable[Sequence[pa.ChunkedArray]]) -> int:
        """How many rows of these files have a key of the source."""
        together = max(self.rows, 4 * BLOCK_ROWS)
        counted = 0
        spill: _Spill | None = None
        for columns in files:
            spill = spill or _Spill(self._folder, columns, self._bits)
            spill.add(columns)
            if spill.rows >= together:
                counted += self._count_found(spill)
                spill = None
        return counted + (self._count_found(spill) if spill is not None else 0)

    def positions(self) -> Iterator[pa.Array]:
        """The rows of each share, ascending."""
        for share in self._spill.shares():
            if share.count:
                yield share.rows

    def _count(self) -> None:
        count, firsts = 0, []
        for share in self._spill.shares():
            if not share.count:
                continue
            index = KeyIndex(share.columns)
            if index.repeats:
                self.distinct -= index.rows - index.distinct
                found = repeated(index)
                count += found.count
                rows = share.rows
                firsts += [rows[row].as_py() for row in found.first_rows]
        self._repeated = Repeated(count, firsts) if count else None
        free_memory()

    def _count_found(self, spill: "_Spill") -> int:
        counted = 0
        for mine, other in zip(self._spill.shares(), spill.shares(), strict=True):
            if mine.count and other.count:
                numbers = KeyIndex(mine.columns, distinct=not self.repeats).find(other.columns)
                counted += len(numbers) - numbers.null_count
        free_memory()
        return counted

    def _find(self, spill: "_Spill") -> Iterator[pa.Array]:
        """The numbers of all rows of a spill, block by block."""
        spill.finish()
        found: list[list[tuple[pa.Array, pa.Array]]] = [[] for _ in spill.lengths]
        for mine, other in zip(self._spill.shares(), spill.shares(), strict=True):
            if not mine.count or not other.count:
                continue
            index = KeyIndex(mine.columns, distinct=not self.repeats)
            sources = mine.rows
            if self.repeats:
                sources = sources.take(first_rows(index.numbers))
            numbers = index.find(other.columns)
            start = 0
            for block, rows in other.by_block:
                numbered = numbers.slice(start, len(rows))
                start += len(rows)
                if numbered.null_count < len(numbered):
                    here = rows if not numbered.null_count else rows.filter(numbered.is_valid())
                    found[block].append((here, sources.take(numbered.drop_null()).cast(self.numbers)))
        free_memory()
        for block, length in enumerate(spill.lengths):
            pairs, found[block] = found[block], []
            if not pairs:
                yield pa.nulls(length, self.numbers)
                continue
            rows = pa.concat_arrays([rows for rows, _ in pairs])
            yield in_their_places(pa.concat_arrays([numbers for _, numbers in pairs]), rows, length)


@dataclass(frozen=True)
class _Share:
    """What of a spill is in one share: from each block a run of rows."""

    runs: list[tuple[int, pa.RecordBatch]]

    @property
    def count(self) -> int:
        return sum(run.num_rows for _, run in self.runs)

    @property
    def columns(self) -> list[pa.ChunkedArray]:
        first = self.runs[0][1]
        return [pa.chunked_array([run.column(place) for _, run in self.runs]) for place in range(first.num_columns - 1)]

    @property
    def rows(self) -> pa.Array:
        """Where these keys stand, from the beginning of everything that was spilled: ascending."""
        return pa.concat_arrays(
            [pc.add(run.column(ROW).cast(pa.int64()), block * BLOCK_ROWS) for block, run in self.runs]
        )

    @property
    def by_block(self) -> Iterator[tuple[int, pa.Array]]:
        """The same for each block, from its beginning."""
        for block, run in self.runs:
            yield block, run.column(ROW)


class _Spill:
    """Keys in a temporary file: in blocks, and inside of each block ordered by share."""

    def __init__(self, folder: str, like: Sequence[pa.ChunkedArray], bits: int) -> None:
        self._folder = folder
        self._bits = bits
        fields = [pa.field(str(place), column.type) for place, column in enumerate(like)]
        self._schema = pa.schema([*fields, pa.field(ROW, pa.int32())])
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._blocks: list[pa.RecordBatch] = []
        self._starts: list[list[int]] = []
        self.rows = 0

    @property
    def lengths(self) -> list[int]:
        """The rows of each block."""
        return [block.num_rows for block in self._blocks]

    def add(self, columns: Sequence[pa.ChunkedArray]) -> None:
        """Adds keys. They are written as soon as there is a block of them."""
        keys = pa.table(list(columns), names=self._schema.names[:-1])
        self.rows += keys.num_rows
        for batch in keys.to_batches(max_chunksize=BLOCK_ROWS):
            self._waiting.append(batch)
            self._waiting_rows += batch.num_rows
            if self._waiting_rows >= BLOCK_ROWS:
                self._write(last=False)

    def finish(self) -> None:
        """Writes what is less than a block."""
        self._write(last=True)

    def shares(self) -> Iterator[_Share]:
        """Each share in turn."""
        self.finish()
        waiting = 0
        for share in range(1 << self._bits):
            runs = []
            for number, (block, starts) in enumerate(zip(self._blocks, self._starts, strict=True)):
                if count := starts[share + 1] - starts[share]:
                    runs.append((number, block.slice(starts[share], count)))
            yield _Share(runs)
            waiting += sum(run.nbytes for _, run in runs)
            if waiting >= LET_GO_BYTES:
                let_go()
                waiting = 0

    def _write(self, *, last: bool) -> None:
        blocks = list(rechunked(self._waiting, BLOCK_ROWS))
        full = last or not blocks or blocks[-1].num_rows == BLOCK_ROWS
        self._waiting = [] if full else [blocks.pop()]
        self._waiting_rows = sum(batch.num_rows for batch in self._waiting)
        if not blocks:
            return
        file, path = tempfile.mkstemp(dir=self._folder, suffix=".arrow")
        os.close(file)
        write_batches(path, self._schema, (self._ordered(block) for block in blocks))
        self._blocks += map_batches(path)
        # What is mapped stays readable, and no name of it is left.
        os.unlink(path)
        let_go()

    def _ordered(self, block: pa.RecordBatch) -> pa.RecordBatch:
        shares = share_of(block.columns, self._bits)
        order = pc.sort_indices(shares)
        counts = [0] * (1 << self._bits)
        for one in pc.value_counts(shares):
            counts[one["values"].as_py()] = one["counts"].as_py()
        self._starts.append([0, *accumulate(counts)])
        rows = order.cast(pa.int32())
        return pa.RecordBatch.from_arrays([*block.take(order).columns, rows], schema=self._schema)


def share_of(columns: Sequence[pa.Array], bits: int) -> pa.Array:
    """The share (uint8) of each key. Keys that are equal by value, NaN and the two zeros among them, agree in it."""
    if not bits:
        return pa.repeat(pa.scalar(0, pa.uint8()), len(columns[0]))
    mixed: pa.Array | None = None
    for column in columns:
        bits_of = _bits_of(column)
        mixed = _mix(bits_of if mixed is None else pc.bit_wise_xor(pc.multiply(mixed, _ODD), bits_of))
    return pc.shift_right(pc.multiply(mixed, _ODD), pa.scalar(64 - bits, pa.uint64())).cast(pa.uint8())


def _mix(bits: pa.Array) -> pa.Array:
    bits = pc.multiply(bits, _ALSO_ODD)
    return pc.bit_wise_xor(bits, pc.shift_right(bits, _HALF))


def _bits_of(column: pa.Array) -> pa.Array:
    """Values as unsigned integers of 64 bits, equal ones as equal ones; NULL as zero."""
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_fixed_size_binary(kind):
        return _bits_of_texts(pc.fill_null(column.cast(pa.binary()), b""))
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        # Nearly the value, and equal values become equal floats: a mix needs no more.
        column = canonical(column.cast(pa.float64(), safe=False))
        return pc.fill_null(column, 0.0).view(pa.uint64())
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    signed = pa.types.is_signed_integer(column.type)
    return pc.fill_null(column, 0).cast(pa.int64() if signed else pa.uint64()).view(pa.uint64())


def _bits_of_texts(column: pa.Array) -> pa.Array:
    """The last eight bytes and the first ones of each, eight at a time; what lies behind its end adds nothing."""
    lengths = pc.binary_length(column)
    zeros, nothing = pa.scalar(bytes(8), pa.binary()), pa.scalar(b"", pa.binary())
    last = _eight(pc.binary_slice(pc.binary_join_element_wise(zeros, column, nothing), -8, 2**31 - 1))
    bits = pc.add(_mix(last), lengths.cast(pa.uint64()))
    padded = pc.binary_join_element_wise(column, pa.scalar(bytes(MIXED_BYTES), pa.binary()), nothing)
    for start in range(0, min(pc.max(lengths).as_py() or 0, MIXED_BYTES), 8):
        factor = pa.scalar((start + 8) * 0xA24BAED4963EE407 % 2**64 | 1, pa.uint64())
        bits = pc.add(bits, pc.multiply(_mix(_eight(pc.binary_slice(padded, start, start + 8))), factor))
    return bits


def _eight(values: pa.Array) -> pa.Array:
    """Binaries of eight bytes each, as integers."""
    fresh = pa.concat_arrays([values])
    return pa.Array.from_buffers(pa.uint64(), len(fresh), [None, fresh.buffers()[2]])


def _bits(rows: int, share_rows: int) -> int:
    bits = 0
    while rows > share_rows << bits and 1 << bits < MOST_SHARES:
        bits += 1
    return bits


def _ascends(column: pa.ChunkedArray) -> bool:
    """Whether each value is greater than the one before it: then none repeats."""
    before: pa.Scalar | None = None
    for chunk in column.chunks:
        if not len(chunk):
            continue
        if before is not None and not pc.less(before, chunk[0]).as_py():
            return False
        if len(chunk) > 1 and not pc.all(pc.less(chunk.slice(0, len(chunk) - 1), chunk.slice(1))).as_py():
            return False
        before = chunk[len(chunk) - 1]
    let_go()
    return True


def _cut(numbers: Iterable[pa.Array], lengths: Sequence[int], kind: pa.DataType) -> Iterator[pa.Array]:
    """Arrays one after the other, cut again into these lengths."""
    coming = iter(numbers)
    rest = pa.array([], kind)
    for length in lengths:
        parts = []
        while length:
            if not len(rest):
                rest = next(coming)
            part = rest.slice(0, length)
            parts.append(part)
            length -= len(part)
            rest = rest.slice(len(part))
        yield pa.concat_arrays(parts) if parts else pa.array([], kind)
