"""What a merge did, in counts that must balance."""

from dataclasses import dataclass, field
from html import escape

from lakebed.errors import DatasetMergeError
from lakebed.merge_core.plan import MergePlan
from lakebed.merge_core.refusals import NOTHING_COMMITTED
from lakebed.merge_core.spec import MergeStrategy
from lakebed.schema.evolve import EvolutionPlan


@dataclass(frozen=True, slots=True)
class MergedFile:
    """A file that a merge wrote."""

    path: str
    rows: int
    size_bytes: int

    def to_dict(self) -> dict[str, object]:
        return {"path": self.path, "rows": self.rows, "size_bytes": self.size_bytes}


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did. Always `total = before + inserted - deleted`, which is what lies on disk.

    Of a dry run it is what the merge would do; `plan` says how. `source_rows` are those that were merged, after
    deduplication where that was asked for; `files` are the new ones of a target that is made of files. `retries` is how
    often it was tried again because another writer had committed first.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    total: int = 0
    before: int = 0
    added_columns: tuple[str, ...] = ()
    waiting_columns: tuple[str, ...] = ()  # hold nothing in the source: created with their first real type
    files_rewritten: int = 0
    files_kept: int = 0
    dry_run: bool = False
    strategy: MergeStrategy = "upsert"
    source_rows: int = 0
    files: tuple[MergedFile, ...] = ()
    plan: MergePlan | None = field(default=None, compare=False, repr=False)
    retries: int = 0

    def __post_init__(self) -> None:
        check_balance(before=self.before, after=self.total, inserted=self.inserted, deleted=self.deleted)

    def to_dict(self) -> dict[str, object]:
        result: dict[str, object] = {
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
            "total": self.total,
            "before": self.before,
            "added_columns": list(self.added_columns),
            "waiting_columns": list(self.waiting_columns),
            "files_rewritten": self.files_rewritten,
            "files_kept": self.files_kept,
            "dry_run": self.dry_run,
            "strategy": self.strategy,
            "source_rows": self.source_rows,
            "files": [file.to_dict() for file in self.files],
            "retries": self.retries,
        }
        return result if self.plan is None else {**result, "plan": self.plan.to_dict()}

    def _repr_html_(self) -> str:
        """The counts as a small table, which notebooks show."""
        counts = {
            "source": self.source_rows,
            "before": self.before,
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
            "total": self.total,
        }
        would = " (dry run: nothing was changed)" if self.dry_run else ""
        heads = "".join(f"<th style='text-align:right'>{name}</th>" for name in counts)
        cells = "".join(f"<td style='text-align:right'>{count:,}</td>" for count in counts.values())
        new = escape(", ".join(self.added_columns))
        columns = f"<div>new columns: {new}</div>" if new else ""
        size = sum(file.size_bytes for file in self.files)
        files = (
            f"{self.files_rewritten:,} files replaced, {self.files_kept:,} kept, {len(self.files):,} written "
            f"({size:,} bytes)"
        )
        return (
            f"<div><b>{self.strategy}</b>{would}</div><table><thead><tr>{heads}</tr></thead>"
            f"<tbody><tr>{cells}</tr></tbody></table>{columns}<div>{files}</div>"
        )


def waiting_columns(evolution: EvolutionPlan) -> tuple[str, ...]:
    """The columns and fields of the source that wait for a type, by their dotted names."""
    return tuple(".".join(path) for path in evolution.waiting)


def planned_result(plan: MergePlan, *, dry_run: bool) -> MergeResult:
    """What a merge does that goes as it was planned."""
    expected = plan.expected
    return MergeResult(
        inserted=expected.inserted,
        updated=expected.updated,
        deleted=expected.deleted,
        total=plan.total,
        before=plan.before,
        added_columns=plan.added_columns,
        waiting_columns=waiting_columns(plan.evolution),
        files_rewritten=len(plan.rewrite) + len(plan.drop),
        files_kept=len(plan.keep),
        dry_run=dry_run,
        strategy=plan.spec.strategy,
        source_rows=plan.source_rows,
        plan=plan if dry_run else None,
    )


def merge_properties(plan: MergePlan) -> dict[str, str]:
    """What a target that keeps a history writes beside the commit."""
    return {
        "lakebed.merge.strategy": plan.spec.strategy,
        "lakebed.merge.keys": ",".join(plan.spec.keys),
        "lakebed.merge.inserted": str(plan.expected.inserted),
        "lakebed.merge.updated": str(plan.expected.updated),
        "lakebed.merge.deleted": str(plan.expected.deleted),
    }


class MergeStats(dict[str, int]):
    """The counts as the specification has them: a dictionary whose entries are attributes too."""

    def __init__(self, *, inserted: int, updated: int, deleted: int, total: int) -> None:
        super().__init__(inserted=inserted, updated=updated, deleted=deleted, total=total)

    @property
    def inserted(self) -> int:
        return self["inserted"]

    @property
    def updated(self) -> int:
        return self["updated"]

    @property
    def deleted(self) -> int:
        return self["deleted"]

    @property
    def total(self) -> int:
        return self["total"]


def compute_merge_stats(
    *,
    strategy: MergeStrategy,
    target_before: int,
    target_after: int,
    inserted_rows: int,
    updated_rows: int,
    deleted_rows: int,
) -> MergeStats:
    """The stats of actual row counts; raises where they do not balance, since then rows were lost or invented."""
    check_balance(
        before=target_before, after=target_after, inserted=inserted_rows, deleted=deleted_rows, strategy=strategy
    )
    return MergeStats(inserted=inserted_rows, updated=updated_rows, deleted=deleted_rows, total=target_after)


def check_balance(*, before: int, after: int, inserted: int, deleted: int, strategy: str | None = None) -> None:
    if min(before, after, inserted, deleted) < 0 or after != before + inserted - deleted:
        raise DatasetMergeError(
            f"the counts of a merge do not balance: {before} rows before + {inserted} inserted - {deleted} deleted "
            f"is not {after}",
            kind="ENGINE_FAILED",
            remedy=NOTHING_COMMITTED,
            strategy=strategy,
        )
