"""Schema changes that a table has and its history lacks: their writer died between its commit and the ledger.

Every commit says in the table itself what it changed, and which ledger is to know. The next command with that ledger
writes into its history what is not there yet.
"""

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lakebed.model import Slice
from lakebed.schema.evolve import EvolutionPlan
from lakebed.state.records import SCHEMA_CHANGE_KINDS, SchemaChange, SchemaChangeRecord, schema_changes
from lakebed.targets.base import PastCommit, TableState, Target

if TYPE_CHECKING:
    # The database's packages take longer to import than most merges, which have nothing to record.
    from lakebed.state.ledger import Ledger

log = logging.getLogger(__name__)

# The property of a commit that has the changes. Columns of a new table are not repeated: the table has them.
CHANGES = "lakebed.schema-changes"
CREATED = "created"
# The property that tells the ledger: a fingerprint of its place, which may have a password in it.
LEDGER = "lakebed.ledger"


def change_properties(evolution: EvolutionPlan, ledger_place: str | Path | None) -> dict[str, str]:
    """What a commit says of its schema changes; nothing where there are none, or no ledger is to know."""
    if not evolution.changes_schema or ledger_place is None:
        return {}
    if evolution.creates:
        return {LEDGER: _fingerprint(ledger_place), CHANGES: CREATED}
    return told_properties(schema_changes(evolution), ledger_place)


def told_properties(changes: Iterable[SchemaChange], ledger_place: str | Path) -> dict[str, str]:
    """What a commit says of these changes."""
    facts = [{name: value for name, value in asdict(one).items() if value} for one in changes]
    return {LEDGER: _fingerprint(ledger_place), CHANGES: json.dumps(facts, ensure_ascii=False)}


def may_be_unrecorded(commit: PastCommit | None, ledger_place: str | Path) -> bool:
    """Whether this ledger must be asked: most commits change no column."""
    return (
        commit is not None
        and CHANGES in commit.properties
        and commit.properties.get(LEDGER) == _fingerprint(ledger_place)
    )


def _fingerprint(ledger_place: str | Path) -> str:
    return hashlib.sha256(str(ledger_place).encode()).hexdigest()[:16]


def unrecorded_changes(
    target: Target, state: TableState, ledger: "Ledger", ledger_place: str | Path
) -> tuple[SchemaChangeRecord, ...]:
    """The changes of the table's last commit, where the ledger is to know them and does not."""
    commit = target.last_commit()
    if commit is None or not state.exists or not may_be_unrecorded(commit, ledger_place):
        return ()
    # The ledger is told after the commit, so that what it knows of an earlier table of this name does not count.
    known = {record.change for record in ledger.schema_history(target.address) if record.at >= commit.at}
    return tuple(
        SchemaChangeRecord(
            change=change,
            table=target.address,
            slice=_slice(commit.properties),
            delivery=commit.properties.get("lakebed.delivery"),
            version=state.version,
            at=commit.at,
        )
        for change in _changes(commit, state, target.address)
        if change not in known
    )


def record_unrecorded(target: Target, state: TableState, ledger: "Ledger", ledger_place: str | Path) -> None:
    """Writes what the history lacks of the table's last commit."""
    if found := unrecorded_changes(target, state, ledger, ledger_place):
        ledger.record_history(found)
        log.info("%s: %d changes of its columns were missing from the history", target.address, len(found))


def _changes(commit: PastCommit, state: TableState, table: str) -> tuple[SchemaChange, ...]:
    said = commit.properties[CHANGES]
    if said == CREATED:
        return tuple(
            SchemaChange("created", column.name, str(column.type), original=column.original) for column in state.schema
        )
    try:
        changes = tuple(SchemaChange(**one) for one in json.loads(said))
        if all(one.kind in SCHEMA_CHANGE_KINDS for one in changes):
            return changes
    except (ValueError, TypeError):
        pass
    log.warning("%s: what its last commit says of its columns is not what Lakebed writes, and is left out", table)
    return ()


def _slice(properties: Mapping[str, str]) -> Slice | None:
    found = [properties.get(f"lakebed.{part}") for part in ("payer", "report", "period")]
    payer, report, period = found
    if payer is None or report is None or period is None:
        return None
    return Slice(payer, report, period)
