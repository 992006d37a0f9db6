"""New files in place of a slice's old rows, in one commit: what a load and a write end in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.engines.protocols.load import Engine
from lakebed.model import AnySlice, Staging, WrittenFile
from lakebed.schema.evolve import EvolutionPlan
from lakebed.targets.base import Affected, Change, Commit, TableState, Target, Txn
from lakebed.targets.load_log import LoadStep


@dataclass(frozen=True)
class Replacement:
    """What a slice is to hold, and what the commit says about itself; without a slice the files are added."""

    evolution: EvolutionPlan
    slice: AnySlice | None
    files: tuple[WrittenFile, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    txn: Txn | None = None
    follows_nobody: bool = False  # as of a Change
    loads: LoadStep | None = None  # as of a Change


@dataclass(frozen=True, slots=True)
class Replaced:
    """The commit, and how many rows it removed."""

    commit: Commit
    rows_removed: int
    files_rewritten: int


def replace_slice(
    target: Target, engine: Engine, state: TableState, staging: Staging, replacement: Replacement
) -> Replaced:
    """Commits the new files in place of the slice's old rows; everything else stays.

    Files that hold other rows too, and files that hold a widened column in its old type, are rewritten.
    """
    affected = Affected() if replacement.slice is None else target.affected(state, replacement.slice)
    whole = {file.uri for file in affected.whole}
    narrow = [file for file in target.files_to_widen(state, replacement.evolution) if file.uri not in whole]
    outdated = tuple({file.uri: file for file in (*affected.mixed, *narrow)}.values())
    rewritten = engine.rewrite(outdated, staging, without=replacement.slice) if outdated else ()
    change = Change(
        evolution=replacement.evolution,
        add=(*replacement.files, *rewritten),
        remove=(*affected.whole, *outdated),
        remove_slice=replacement.slice,
        properties=replacement.properties,
        txn=replacement.txn,
        follows_nobody=replacement.follows_nobody,
        loads=replacement.loads,
    )
    commit = target.commit(state, staging, change)
    if target.capabilities.made_of_files:
        removed = sum(file.rows for file in change.remove) - sum(file.rows for file in rewritten)
    else:
        removed = state.rows + sum(file.rows for file in replacement.files) - commit.rows
    return Replaced(commit, removed, len(outdated))
