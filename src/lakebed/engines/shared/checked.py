"""A source whose keys have been checked, as an Arrow table: what the Arrow and the Spark engine look keys up in."""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engines.shared.dedup import deduplicated
from lakebed.kernels.conform import as_type
from lakebed.kernels.keys import KeyIndex, counting, repeated
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.schema.arrow import to_arrow_field


@dataclass(frozen=True)
class Checked:
    """The source's rows under the table's names and types, and its keys."""

    spec: MergeSpec
    table: pa.Table

    @cached_property
    def index(self) -> KeyIndex:
        return KeyIndex([self.table.column(name) for name in self.spec.keys])

    @property
    def keys(self) -> pa.Table:
        return self.table.select(list(self.spec.keys))

    @property
    def key_schema(self) -> pa.Schema:
        return pa.schema([self.table.schema.field(name) for name in self.spec.keys])


def check(table: pa.Table, unified: Unified) -> Checked:
    """Renames, casts, deduplicates where asked, and refuses NULL and repeated keys."""
    spec = unified.spec
    table = renamed(table, unified)
    for name in spec.keys:
        if count := table.column(name).null_count:
            raise refusals.null_key(spec, side="source", column=name, count=count)
    if spec.strategy == "deduplicate":
        rows = deduplicated(table, spec.keys, spec.dedup_order_by)
        if len(rows) < table.num_rows:
            table = table.take(rows)
    checked = Checked(spec, table)
    if not spec.keys_may_repeat and checked.index.repeats:
        found = repeated(checked.index)
        keys = [tuple(column[row].as_py() for column in checked.keys.columns) for row in found.first_rows]
        raise refusals.duplicate_keys(spec, count=found.count, keys=keys)
    return checked


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
    every = counting(rows)
    if not matched:
        return every
    return every.filter(pc.invert(pc.is_in(every, value_set=pa.concat_arrays(matched).cast(pa.int64()))))
