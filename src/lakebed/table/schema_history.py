"""Writes what a commit did to a table's schema into the ledger, which is made for it where there is none."""

import logging
from pathlib import Path

from lakebed.checkpoints import pass_checkpoint
from lakebed.errors import StateError
from lakebed.schema.evolve import EvolutionPlan
from lakebed.state.records import schema_changes

log = logging.getLogger(__name__)


def record_schema_change(ledger_place: str | Path | None, table: str, evolution: EvolutionPlan, version: str) -> None:
    """Records the change, unless there is none or, as for a target that the caller opened itself, no ledger."""
    if ledger_place is None or not evolution.changes_schema:
        return
    # SQLAlchemy is imported when there is something to record: most merges have nothing.
    from lakebed.state.ledger import Ledger

    try:
        with Ledger.open(ledger_place) as ledger:
            ledger.record_schema_changes(table, schema_changes(evolution), version=version)
        pass_checkpoint("history written")
    except (StateError, OSError) as error:
        # The rows are committed: a caller that were told of a failure would write them again.
        log.warning("%s: its new columns are missing from the history: %s", table, error)
