"""A source whose keys have been checked, as an Arrow table: what the Arrow and the Spark engine look keys up in."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engines.shared.dedup import deduplicated, deduplicated_batches
from lakebed.engines.shared.large import Spill, is_even
from lakebed.kernels.conform import as_type
from lakebed.kernels.key_shares import KeyShares
from lakebed.kernels.keys import KeyIndex, Repeated, chosen_rows, repeated
from lakebed.kernels.mapped import let_go
from lakebed.kernels.merge_files import at_once
from lakebed.kernels.source_rows import SourceRows
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.schema.arrow import to_arrow_field


@dataclass(frozen=True)
class Checked:
    """The source's rows under the table's names and types, and its keys; of a large one they lie in `spill`."""

    spec: MergeSpec
    table: pa.Table
    spill: Spill | None = None

    @property
    def is_large(self) -> bool:
        return self.spill is not None and self.table.num_rows > self.spill.large_rows

    @cached_property
    def index(self) -> KeyIndex | KeyShares:
        columns = [self.table.column(name) for name in self.spec.keys]
        return KeyShares(columns, self.spill.folder) if self.spill is not None and self.is_large else KeyIndex(columns)

    @cached_property
    def rows(self) -> SourceRows:
        return SourceRows(self.table, large=self.is_large)

    @property
    def keys(self) -> pa.Table:
        """All keys; of a large source the smallest and the largest of each column, batch by batch."""
        keys = self.table.select(list(self.spec.keys))
        return _extremes(keys) if self.is_large else keys

    @property
    def key_schema(self) -> pa.Schema:
        return pa.schema([self.table.schema.field(name) for name in self.spec.keys])

    def find_repeated(self) -> Repeated:
        index = self.index
        return index.repeated() if isinstance(index, KeyShares) else repeated(index)


def check(table: pa.Table, unified: Unified, spill: Spill | None = None) -> Checked:
    """Renames, casts, deduplicates where asked, and refuses NULL and repeated keys."""
    spec = unified.spec
    if spill is not None and table.num_rows > spill.large_rows:
        table = _put_down(table, unified, spill)
    else:
        table = renamed(table, unified)
    for name in spec.keys:
        if count := table.column(name).null_count:
            raise refusals.null_key(spec, side="source", column=name, count=count)
    if spec.strategy == "deduplicate":
        table = _without_repeated(Checked(spec, table, spill))
    checked = Checked(spec, table, spill)
    if not spec.keys_may_repeat and checked.index.repeats:
        found = checked.find_repeated()
        keys = [tuple(table.column(name)[row].as_py() for name in spec.keys) for row in found.first_rows]
        raise refusals.duplicate_keys(spec, count=found.count, keys=keys)
    return checked


def _without_repeated(checked: Checked) -> pa.Table:
    """One row of each key, and those that tie with it and differ."""
    spec, table, index = checked.spec, checked.table, checked.index
    if not index.repeats:
        return table
    if isinstance(index, KeyIndex):
        return table.take(deduplicated(table, index, spec.dedup_order_by))
    assert checked.spill is not None, "only what may spill has its keys in shares"
    batches = deduplicated_batches(
        checked.rows, index, spec.keys, spec.dedup_order_by, rows_at_once=at_once(table.schema)
    )
    return checked.spill.put_down(table.schema, batches)


def _put_down(table: pa.Table, unified: Unified, spill: Spill) -> pa.Table:
    """A large source in the table's names and types: as it lies, or on disk where its columns have to be converted."""
    as_given = renamed(table.slice(0, 0), unified)
    same = all(table.schema.field(unified.delivered[field.name]).type == field.type for field in as_given.schema)
    if same and is_even(table):
        return renamed(table, unified)

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches(max_chunksize=131_072):
            yield from renamed(pa.Table.from_batches([batch]), unified).to_batches()
            let_go()

    return spill.put_down(as_given.schema, converted())


def _extremes(keys: pa.Table) -> pa.Table:
    parts = []
    for batch in keys.to_batches():
        columns = []
        for column in batch.columns:
            found = pc.min_max(column)
            low, high = found["min"], found["max"]
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
                # Whoever compares must see that there is one.
                high = pa.scalar(float("nan"), column.type)
            columns.append(pa.concat_arrays([pa.repeat(low, 1), pa.repeat(high, 1)]))
        parts.append(pa.RecordBatch.from_arrays(columns, schema=keys.schema))
        let_go()
    return pa.Table.from_batches(parts, schema=keys.schema)


def renamed(table: pa.Table, unified: Unified) -> pa.Table:
    """The source's columns under the table's names and in the table's types."""
    final = unified.evolution.final
    fields, columns = [], []
    for name, incoming in unified.delivered.items():
        field = to_arrow_field(final[name]).with_nullable(True)
        try:
            columns.append(as_type(table.column(incoming), field.type))
        except pa.ArrowInvalid as error:
            raise refusals.incompatible(
                unified.spec, f"column {name}: a value does not fit {final[name].type}: {error}", column=name
            ) from error
        fields.append(field)
    return pa.table(columns, schema=pa.schema(fields))


def unmatched(rows: int, matched: list[pa.Array]) -> pa.Array:
    """The positions of the source rows that no target row matched."""
    return pc.indices_nonzero(pc.invert(chosen_rows(rows, matched))).cast(pa.int64())
