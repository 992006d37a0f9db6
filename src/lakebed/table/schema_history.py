"""What a commit does to a table's schema, for the ledger, in which the history lies; it is made where there is none."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.checkpoints import pass_checkpoint
from lakebed.errors import StateError
from lakebed.schema.evolve import EvolutionPlan
from lakebed.state.records import SchemaChange, schema_changes
from lakebed.state.unrecorded import change_properties, may_be_unrecorded, record_unrecorded
from lakebed.targets.base import TableState, Target

if TYPE_CHECKING:
    from lakebed.state.ledger import Ledger

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SchemaHistory:
    """The history of one table. `ledger_place` is None where the caller opened the target itself: nothing is kept."""

    target: Target
    ledger_place: str | Path | None

    def properties(self, evolution: EvolutionPlan) -> dict[str, str]:
        """What the commit says of the change in the table itself, for a writer that dies before it tells the ledger."""
        return change_properties(evolution, self.ledger_place)

    def record(self, evolution: EvolutionPlan, version: str) -> None:
        """Writes the change of a commit down."""
        if evolution.changes_schema:
            self.record_changes(schema_changes(evolution), version)

    def record_changes(self, changes: Iterable[SchemaChange], version: str) -> None:
        """Writes these changes of a commit down."""
        if self.ledger_place is None:
            return
        with self._ledger(self.ledger_place) as ledger:
            ledger.record_schema_changes(self.target.address, changes, version=version)
            pass_checkpoint("history written")

    def complete(self, state: TableState) -> None:
        """Writes what the history lacks of the last commit, whose writer may have died before it told the ledger."""
        if self.ledger_place is None or not may_be_unrecorded(self.target.last_commit(), self.ledger_place):
            return
        with self._ledger(self.ledger_place) as ledger:
            record_unrecorded(self.target, state, ledger, self.ledger_place)

    @contextmanager
    def _ledger(self, place: str | Path) -> Iterator["Ledger"]:
        """The ledger. What cannot be written there now the next command finds in the table."""
        # SQLAlchemy is imported when there is something to record: most merges have nothing.
        from lakebed.state.ledger import Ledger

        try:
            with Ledger.open(place) as ledger:
                yield ledger
        except (StateError, OSError) as error:
            # The rows are committed, or will be: a command that raised here would be run again.
            log.warning("%s: its new columns are missing from the history: %s", self.target.address, error)
