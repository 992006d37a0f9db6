"""Rows by the partitions that they belong to."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.kernels.keys import KeyIndex
from lakebed.kernels.source_rows import SourceRows


def positions_by_partition(
    rows: SourceRows, chosen: pa.Array, partition_by: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], pa.Array]]:
    """The chosen positions, partition by partition, with the partition's values as text."""
    if not len(chosen):
        return
    if not partition_by:
        yield {}, chosen
        return
    delivered = set(rows.column_names)
    taken = rows.take(chosen, [name for name in partition_by if name in delivered])
    texts = [
        as_text(taken.column(name)) if name in delivered else pa.nulls(len(chosen), pa.string())
        for name in partition_by
    ]
    # NULL is a partition too; `KeyIndex` numbers it like any other value.
    numbers = KeyIndex(texts).numbers
    order = pc.sort_indices(numbers)
    start = 0
    for count in pc.value_counts(numbers.take(order)).field("counts").to_pylist():
        mine = order.slice(start, count)
        first = mine[0].as_py()
        yield {name: text[first].as_py() for name, text in zip(partition_by, texts, strict=True)}, chosen.take(mine)
        start += count


def as_text(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A partition value as it stands in a path."""
    return values if values.type == pa.string() else values.cast(pa.string())
