"""What a slice of a table holds now. The table is the truth; the ledger is its memory."""

from lakebed.model import Delivery
from lakebed.pipeline.decide import Held
from lakebed.source.deliveries import moment
from lakebed.state.ledger import Ledger
from lakebed.state.rebuild import describe_table
from lakebed.targets.base import TableState, Target


def held(target: Target, state: TableState, ledger: Ledger, delivery: Delivery) -> Held | None:
    """The delivery whose rows the slice holds, or None where it holds none.

    A ledger that says `loaded` is believed while the table has rows there: a table that was removed is loaded again.
    Of a table that the ledger has never seen, the table itself is asked.
    """
    if not state.exists:
        return None
    record = ledger.current_load(target.address, delivery.slice)
    if record is not None:
        changed = record.rows > 0 and not _as_we_left_it(state, target, ledger)
        if changed and target.totals(delivery.slice, ()).rows == 0:
            return None
        seen = ledger.delivery(delivery.slice, record.delivery)
        created = seen.created_at if seen is not None else moment(record.delivery)
        return Held(record.delivery, record.rows, record.complete, created)
    if ledger.loads(target.address):
        return None
    for load in describe_table(target, state).loads:
        if load.slice == delivery.slice:
            return Held(load.delivery, load.rows, complete=True, created_at=moment(load.delivery))
    return None


def _as_we_left_it(state: TableState, target: Target, ledger: Ledger) -> bool:
    """Nobody has changed the table since its last load, so that the slices need not be counted one by one."""
    finished = [load for load in ledger.loads(target.address) if load.state == "loaded" and load.finished_at]
    last = max(finished, key=lambda load: load.finished_at or load.started_at, default=None)
    return last is not None and last.version == state.version
