"""Reads back out of a table what a lost ledger knew: identities from originals, loads from the lakebed_* columns."""

from collections import Counter

import pyarrow as pa
import pyarrow.dataset as pads

from lakebed.model import RESERVED_COLUMNS, Slice
from lakebed.schema.identity import Identities
from lakebed.schema.types import Schema
from lakebed.state.records import RebuiltLoad, RebuiltTable
from lakebed.targets.base import TableState, Target


def describe_table(target: Target, state: TableState) -> RebuiltTable:
    """What a table says about itself, from which a lost ledger can be rebuilt."""
    has_ours = all(name in state.schema for name in RESERVED_COLUMNS)
    data = target.read(RESERVED_COLUMNS if has_ours else state.schema.names[:1])
    return describe_rows(target.address, schema=state.schema, version=state.version, data=data)


def describe_rows(table: str, *, schema: Schema, version: str, data: pads.Dataset | pa.Table) -> RebuiltTable:
    """What these rows say of their table. Streams four columns; memory is bounded by one batch."""
    identities = dict(Identities.from_schema(schema).by_original)
    if not all(name in schema for name in RESERVED_COLUMNS):
        return RebuiltTable(table, version, identities, loads=())
    counted: Counter[tuple[str, str, str, str]] = Counter()
    names = [schema[name].name for name in RESERVED_COLUMNS]
    batches = data.to_batches() if isinstance(data, pa.Table) else data.to_batches(columns=names)
    for batch in batches:
        grouped = pa.Table.from_batches([batch]).select(names).group_by(names).aggregate([([], "count_all")])
        columns = [grouped.column(name).to_pylist() for name in (*names, "count_all")]
        for payer, report, period, delivery, count in zip(*columns, strict=True):
            counted[payer, report, period, delivery] += count
    loads = tuple(
        RebuiltLoad(Slice(payer, report, period), delivery, count)
        for (payer, report, period, delivery), count in sorted(counted.items())
    )
    return RebuiltTable(table, version, identities, loads)
