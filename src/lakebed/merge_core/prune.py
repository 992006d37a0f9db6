"""Which files of the target can hold a key of the source: from what footers and paths say, once for all engines.

An approximation may clear a file here; no row is decided by it. A file that says nothing of its keys is looked into.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.model import Bounds, DataFile
from lakebed.schema.types import fold

# Files to rewrite, as a share of all of them, from which rewriting them into new ones together is the faster way.
REPACK_SHARE = 0.8
REPACK_FILES = 4


@dataclass(frozen=True)
class Pruned:
    """The files that may hold a source key, those that cannot, and the NULL keys that the footers already admit."""

    candidates: tuple[DataFile, ...]
    cleared: tuple[DataFile, ...]
    nulls: Mapping[str, int]


def prune(files: Sequence[DataFile], keys: pa.Table, *, only_extremes: bool = False) -> Pruned:
    """Sorts the files by the source's keys. `keys` has the key columns, named and typed as in the table.

    Where the source is too large to hand over its keys, `only_extremes` says that these are the smallest and the
    largest of each column, of one part of the source after the other: then a file is cleared only if it lies wholly
    outside of all of them. A file whose NULL keys are not counted in its footer is a candidate.
    """
    hits = [True] * len(files)
    nulls: dict[str, int] = {}
    for name in keys.column_names:
        values = keys.column(name)
        stated = [_Stated.of(file, name) for file in files]
        if found := sum(each.nulls or 0 for each in stated):
            nulls[name] = found
        may_hold = _may_hold(values, stated, only_extremes=only_extremes)
        hits = [hit and may for hit, may in zip(hits, may_hold, strict=True)]
        # A file of which it is unknown whether it has NULL keys must be looked into, whatever its bounds.
        hits = [hit or each.nulls is None for hit, each in zip(hits, stated, strict=True)]
    chosen = tuple(file for file, hit in zip(files, hits, strict=True) if hit)
    cleared = tuple(file for file, hit in zip(files, hits, strict=True) if not hit)
    return Pruned(chosen, cleared, nulls)


def worth_repacking(rewritten: int, files: int) -> bool:
    """Whether so many files are rewritten that all of them should be, together."""
    return rewritten >= REPACK_FILES and rewritten >= REPACK_SHARE * files


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a file says of one key column; `text` is its value in the path."""

    text: str | None
    in_path: bool
    bounds: Bounds | None
    nulls: int | None

    @classmethod
    def of(cls, file: DataFile, column: str) -> "_Stated":
        folded = fold(column)
        for name, value in file.partition.items():
            if fold(name) == folded:
                return cls(value, True, None, file.rows if value is None else 0)
        bounds = file.bounds.get(column) or next(
            (bounds for name, bounds in file.bounds.items() if fold(name) == folded), None
        )
        if not file.rows:
            return cls(None, False, bounds, 0)
        return cls(None, False, bounds, None if bounds is None else bounds.nulls)


def _may_hold(values: pa.ChunkedArray, stated: Sequence[_Stated], *, only_extremes: bool) -> Iterator[bool]:
    kind = values.type
    texts = None
    if any(each.in_path for each in stated) and pa.types.is_string(kind) and not only_extremes:
        texts = set(pc.unique(values).to_pylist())
    probe = _Ranges.of(values) if only_extremes else _Probe.of(values)
    minima = _comparable([each.bounds.minimum if each.bounds else None for each in stated], kind)
    maxima = _comparable([each.bounds.maximum if each.bounds else None for each in stated], kind)
    for each, low, high in zip(stated, minima, maxima, strict=True):
        if each.in_path:
            yield texts is None or each.text in texts
        elif probe is None or low is None or high is None:
            yield True
        else:
            yield probe.between(low, high)


class _Probe:
    """The source's keys in order, read in place: asking is a binary search."""

    def __init__(self, ordered: pa.Array) -> None:
        self._ordered = ordered

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> "_Probe | None":
        """None where order says nothing: NaN stands outside of every footer's bounds."""
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            return None
        distinct = _as_numbers(pc.unique(values).drop_null())
        if distinct is None:
            return None
        return cls(distinct.take(pc.sort_indices(distinct)))

    def __len__(self) -> int:
        return len(self._ordered)

    def __getitem__(self, place: int) -> Any:
        return self._ordered[place].as_py()

    def between(self, low: Any, high: Any) -> bool:
        """Whether a key lies within these bounds."""
        place = bisect_left(self, low)
        return place < len(self) and bool(self[place] <= high)


class _Ranges:
    """Ranges that hold the source's keys, in order, those that overlap made into one."""

    def __init__(self, ranges: Iterable[tuple[Any, Any]]) -> None:
        self._lows: list[Any] = []
        self._highs: list[Any] = []
        for low, high in sorted(ranges):
            if self._highs and low <= self._highs[-1]:
                self._highs[-1] = max(self._highs[-1], high)
            else:
                self._lows.append(low)
                self._highs.append(high)

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> "_Ranges | None":
        """From the smallest and the largest of each, by turns. None where order says nothing."""
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            return None
        ordered = _as_numbers(values.combine_chunks())
        if ordered is None or ordered.null_count:
            return None
        each = ordered.to_pylist()
        return cls(zip(each[::2], each[1::2], strict=True))

    def between(self, low: Any, high: Any) -> bool:
        """Whether a key may lie within these bounds."""
        place = bisect_left(self._highs, low)
        return place < len(self._highs) and bool(self._lows[place] <= high)


def _comparable(values: list[object | None], kind: pa.DataType) -> list[object | None]:
    """Bounds as the probe's values; None where a bound is not a value of the column's type."""
    try:
        array = _as_numbers(pa.array(values, kind))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return [_one(value, kind) for value in values]
    return [None] * len(values) if array is None else _without_nan(array.to_pylist())


def _one(value: object | None, kind: pa.DataType) -> object | None:
    try:
        array = _as_numbers(pa.array([value], kind))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None
    return None if array is None else _without_nan(array.to_pylist())[0]


def _without_nan(values: list[object | None]) -> list[object | None]:
    return [None if value != value else value for value in values]


def _as_numbers(values: pa.Array) -> pa.Array | None:
    """Moments as integers, so that neither zones nor nanoseconds get in the way; None for types without an order."""
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_date64(kind):
        return values.cast(pa.int64())
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return values.cast(pa.int32())
    return None if pa.types.is_nested(kind) or pa.types.is_null(kind) else values
