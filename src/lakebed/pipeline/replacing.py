"""Replaces a slice of a table in one commit: its old rows go, the new files come, everything else stays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakebed.engines.protocols.load import Engine
from lakebed.kernels.convert import quarantine_schema
from lakebed.model import PERIOD, RESERVED_COLUMNS, DataFile, Slice, Staging, WrittenFile
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.targets.base import Change, Commit, TableState, Target


@dataclass(frozen=True)
class Replacement:
    """What a slice is to hold, and what the commit says about itself."""

    evolution: EvolutionPlan
    slice: Slice
    files: tuple[WrittenFile, ...]
    properties: Mapping[str, str] = field(default_factory=dict)


def replace_slice(
    target: Target, engine: Engine, state: TableState, staging: Staging, replacement: Replacement
) -> Commit:
    """Commits the new files in place of the slice's old rows.

    Files that hold other rows too, and files that hold a widened column in its old type, are written anew.
    """
    affected = target.affected(state, replacement.slice)
    whole = {file.uri for file in affected.whole}
    narrow = [file for file in target.files_to_widen(state, replacement.evolution) if file.uri not in whole]
    anew = tuple({file.uri: file for file in (*affected.mixed, *narrow)}.values())
    rewritten = engine.rewrite(anew, staging, without=replacement.slice) if anew else ()
    change = Change(
        evolution=replacement.evolution,
        add=(*replacement.files, *rewritten),
        remove=(*affected.whole, *anew),
        remove_slice=replacement.slice,
        properties=replacement.properties,
    )
    return target.commit(state, staging, change)


def set_aside(
    quarantine: Target,
    engine: Engine,
    slice_: Slice,
    columns: Sequence[str],
    rejected: Sequence[DataFile],
    properties: Mapping[str, str],
) -> None:
    """Makes the quarantine hold just these rows for the slice. A quarantine that is not needed is not created."""
    state = quarantine.state()
    if not rejected and not state.exists:
        return
    current = state.schema if state.exists else None
    incoming = from_arrow_schema(quarantine_schema((*RESERVED_COLUMNS, *columns))) if rejected else state.schema
    evolution = plan_evolution(current, incoming, Policy(rules=quarantine.capabilities.rules))
    staging = quarantine.stage(state, evolution, partition_by=(PERIOD,))
    try:
        partition = {PERIOD: slice_.period} if PERIOD in staging.partition_by else {}
        placed = [replace(file, partition=partition) for file in rejected]
        files = engine.rewrite(placed, staging) if placed else ()
        replace_slice(quarantine, engine, state, staging, Replacement(evolution, slice_, files, properties))
    except BaseException:
        quarantine.abandon(staging)
        raise
