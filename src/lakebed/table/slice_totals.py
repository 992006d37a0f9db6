"""Rows and exact sums of a slice of the committed table: counted by an engine's workers where it is large."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from lakebed.engines.protocols.load import CountJob, Engine
from lakebed.errors import TargetError
from lakebed.model import AnySlice, Totals
from lakebed.schema.types import fold
from lakebed.storage import local_name
from lakebed.table.read import plan_scan, select_columns
from lakebed.targets.base import Target

log = logging.getLogger(__name__)

# Below this a job takes longer than reading the files here.
WORKERS_FROM_BYTES = 64 << 20


def slice_totals(
    target: Target, slice_: AnySlice, columns: Sequence[str], *, currency: str | None, engine: Engine
) -> Totals:
    """What `target.totals` says, from wherever it is counted faster."""
    return _counted_by_workers(target, slice_, columns, currency, engine) or target.totals(
        slice_, columns, currency=currency
    )


def totals_of_rows(
    target: Target, slice_: AnySlice, columns: Sequence[str], *, currency: str | None, engine: Engine
) -> Totals:
    """The same of a table that may lack columns which came later: nothing is summed up there."""
    schema = target.state().schema
    present = [name for name in columns if name in schema]
    known = currency if currency is not None and currency in schema else None
    counted = slice_totals(target, slice_, present, currency=known, engine=engine)
    nothing = {name: Decimal(0) for name in columns if name not in present}
    if currency is None or not counted.rows:
        return replace(counted, sums={**counted.sums, **nothing})
    codes = counted.by_currency if known is not None else {"": counted.sums}
    return Totals(
        counted.rows, {**counted.sums, **nothing}, {code: {**sums, **nothing} for code, sums in codes.items()}
    )


def _counted_by_workers(
    target: Target, slice_: AnySlice, columns: Sequence[str], currency: str | None, engine: Engine
) -> Totals | None:
    if not target.capabilities.made_of_files:
        return None
    state = target.state()
    wanted = list({fold(one): one for one in (*columns, *slice_.values, *([currency] if currency else []))}.values())
    if not state.exists or any(name not in state.schema for name in wanted):
        return None
    touched = target.affected(state, slice_)
    files = {local_name(file.uri): file for file in (*touched.whole, *touched.mixed)}
    if sum(file.size_bytes for file in files.values()) < WORKERS_FROM_BYTES:
        return None
    try:
        plan = plan_scan(target)
    except TargetError as unreadable:
        log.debug("%s is counted in this process: %s", target.address, unreadable.message)
        return None
    chosen = tuple(file for file in plan.files if local_name(file.uri) in files)
    if len(chosen) != len(files) or any(name not in plan.schema.names for name in wanted):
        # Another writer has committed in between: what is counted must be one state of the table.
        return None
    physical = select_columns(plan, wanted).physical
    return engine.count(CountJob(chosen, physical, tuple(columns), currency, slice_.values))
