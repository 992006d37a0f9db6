"""What the commit of a delivery says in the log of loads, and which of the rows that it replaces are kept."""

from lakebed.model import Converted, Delivery, Slice
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.decide import current_delivery
from lakebed.state.ledger import Ledger
from lakebed.table.as_of import found_id, remembered_loads
from lakebed.table.retention import outdated_loads, retention_of
from lakebed.targets.base import TableState, Target
from lakebed.targets.load_log import LoadStep, LoggedLoad


def load_step(
    context: RunContext, target: Target, state: TableState, delivery: Delivery, converted: Converted, id_: str
) -> LoadStep:
    """The delivery's line of the log, and those that the ledger remembers of a table that has none yet."""
    now = context.now
    chosen = context.settings.retain_of(delivery.slice.report)
    rule = retention_of(state.log, chosen)
    rows = sum(file.rows for file in converted.files)
    return LoadStep(
        loads=(LoggedLoad(id_, delivery.slice, delivery.id, now, rows),),
        known=known_loads(target, state, context.ledger, delivery.slice) if state.exists else (),
        keep=rule is not None and rule.keeps,
        forget=tuple(load.id for load in outdated_loads(state.log, rule, now)),
        retain=chosen,
    )


def known_loads(target: Target, state: TableState, ledger: Ledger, slice_: Slice) -> tuple[LoggedLoad, ...]:
    """The loads that a ledger remembers of slices that the table's own log does not know.

    Of a slice that nobody remembers, the rows say which delivery they are, and nothing says since when.
    """
    known = remembered_loads(target, state, ledger)
    if slice_ in state.log.current or any(load.slice == slice_ for load in known):
        return known
    current = current_delivery(target, state, slice_, ledger)
    if current is None:
        return known
    rows = target.totals(slice_, ()).rows
    return (*known, LoggedLoad(found_id(slice_, current.id), slice_, current.id, None, rows))
