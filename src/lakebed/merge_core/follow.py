"""A merge whose files are written when another writer commits first: what of its plan still holds on the new table.

Keys decide: where none of the files that arrived holds a key of the source, the same new files mean the same merge.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakebed.merge_core.plan import MergePlan
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile


@dataclass(frozen=True)
class Arrivals:
    """The files that other commits brought since a merge was planned, and all files that the table has now."""

    new: tuple[DataFile, ...]
    every: tuple[DataFile, ...]


def find_arrivals(plan: MergePlan, files: Sequence[DataFile]) -> Arrivals | None:
    """What arrived; None where the plan cannot hold, whatever the new files contain.

    That is where a file that the plan replaces is gone or changed, where one is gone in which keys matched, and where
    every row of the table that the source lacks is deleted.
    """
    if plan.spec.effects.delete_unmatched:
        return None
    now = {file.uri: file for file in files}
    seen = {file.uri: file for file in (*plan.rewrite, *plan.drop, *plan.keep)}
    gone = {uri for uri, file in seen.items() if uri not in now or not _is_same(file, now[uri])}
    if any(file.uri in gone for file in (*plan.rewrite, *plan.drop)) or any(plan.matched.get(uri) for uri in gone):
        return None
    return Arrivals(tuple(file for uri, file in now.items() if uri not in seen or uri in gone), tuple(files))


def same_schema_change(plan: MergePlan, unified: Unified) -> bool:
    """Whether the columns that the plan's files were written in are what the source needs in the table of today."""
    before, now = plan.evolution, unified.evolution
    if before.changes_schema or now.changes_schema:
        return (before.current, before.final) == (now.current, now.final)
    return all(before.final.get(column.name) in (None, column) for column in now.final)


def follow(plan: MergePlan, unified: Unified, arrivals: Arrivals) -> MergePlan:
    """The plan on the table as it is now, where no file that arrived holds a key of the source."""
    leaving = {file.uri for file in (*plan.rewrite, *plan.drop)}
    return replace(
        plan,
        evolution=unified.evolution,
        before=sum(file.rows for file in arrivals.every),
        keep=tuple(file for file in arrivals.every if file.uri not in leaving),
    )


def _is_same(before: DataFile, now: DataFile) -> bool:
    return (before.fingerprint, before.size_bytes, before.rows) == (now.fingerprint, now.size_bytes, now.rows)
